import { createServer, type Server, type Socket } from 'node:net'

/** What the fake server says to one request. */
export interface TdsAnswer {
  /** One for each statement of the batch; `undefined` for one that counts no rows, such as IF. */
  readonly counts?: readonly (number | undefined)[]
  readonly rows?: readonly Readonly<Record<string, string>>[]
  readonly error?: { readonly number: number; readonly message: string; readonly severity?: number }
  /** Closes the connection instead of answering. */
  readonly hangUp?: true
}

export interface TdsRequest {
  readonly text: string
  /** How sp_executesql was told the parameters: `@0 nvarchar(3),@1 int`. */
  readonly parameters: string
}

/** Who asks to be let in. */
export interface TdsLogin {
  readonly user: string
  readonly password: string
  readonly database: string
  readonly encrypted: boolean
}

/**
 * Not SQL Server: it knows no SQL, and answers as the test says, in the token stream that the specification of the
 * Tabular Data Stream gives to such an answer ([MS-TDS] 2.2.7, DONE and ERROR tokens). So the real `mssql` and `tedious`
 * can be seen to read it.
 */
export async function tdsServer(
  answer: (request: TdsRequest) => TdsAnswer,
  onLogin: (login: TdsLogin) => void = () => undefined,
) {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    let buffered = Buffer.alloc(0)
    let message = Buffer.alloc(0)
    let encrypted = false
    socket.on('data', (data) => {
      buffered = Buffer.concat([buffered, data])
      while (buffered.length >= HEADER && buffered.length >= buffered.readUInt16BE(2)) {
        const length = buffered.readUInt16BE(2)
        message = Buffer.concat([message, buffered.subarray(HEADER, length)])
        const [type, status] = buffered
        buffered = buffered.subarray(length)
        if (status === undefined || (status & END_OF_MESSAGE) === 0) continue
        if (type === REQUEST.preLogin) encrypted = wantsEncryption(message)
        if (type === REQUEST.login) onLogin({ ...readLogin(message), encrypted })
        const body = reply(type ?? 0, message, answer)
        if (body) socket.write(packet(body))
        else socket.destroy()
        message = Buffer.alloc(0)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

const HEADER = 8
const END_OF_MESSAGE = 1
const REQUEST = { batch: 0x01, rpc: 0x03, login: 0x10, preLogin: 0x12 }
const TOKEN = {
  columns: 0x81,
  error: 0xaa,
  loginAck: 0xad,
  row: 0xd1,
  done: 0xfd,
  doneProc: 0xfe,
  doneInProc: 0xff,
}
const DONE = { more: 0x01, error: 0x02, count: 0x10 }
const COLLATION = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34])
const NVARCHAR = 0xe7

function reply(
  type: number,
  message: Buffer,
  answer: (request: TdsRequest) => TdsAnswer,
): Buffer | undefined {
  if (type === REQUEST.preLogin) return preLogin()
  if (type === REQUEST.login) return Buffer.concat([loginAck(), done(TOKEN.done, 0)])
  // What tedious sets for each new connection.
  if (type === REQUEST.batch) return done(TOKEN.done, 0)
  const answered = answer(executeSql(message))
  return answered.hangUp ? undefined : answerTokens(answered)
}

/** Version, and encryption "not supported". */
function preLogin(): Buffer {
  const options = Buffer.from([0x00, 0, 11, 0, 6, 0x01, 0, 17, 0, 1, 0xff])
  return Buffer.concat([options, Buffer.from([16, 0, 0x10, 0, 0, 0]), Buffer.from([0x02])])
}

/** [MS-TDS] 2.2.6.5: each option is a token, where its value is, and how long that is. */
function wantsEncryption(message: Buffer): boolean {
  const [encryption, end] = [0x01, 0xff]
  let at = 0
  while (message.readUInt8(at) !== encryption && message.readUInt8(at) !== end) at += 5
  return message.readUInt8(message.readUInt16BE(at + 1)) === 0x01
}

/** [MS-TDS] 2.2.6.4; the bytes of the password are turned, and mixed with A5. */
function readLogin(message: Buffer): Omit<TdsLogin, 'encrypted'> {
  const part = (at: number): Buffer => {
    const start = message.readUInt16LE(at)
    return message.subarray(start, start + 2 * message.readUInt16LE(at + 2))
  }
  const password = part(44).map((byte) => {
    const turned = byte ^ 0xa5
    return ((turned & 0x0f) << 4) | (turned >> 4)
  })
  return {
    user: part(40).toString('utf16le'),
    password: Buffer.from(password).toString('utf16le'),
    database: part(68).toString('utf16le'),
  }
}

function loginAck(): Buffer {
  const name = short('Not SQL Server')
  const body = Buffer.concat([Buffer.from([1, 0x74, 0, 0, 4]), name, Buffer.from([16, 0, 0x10, 0])])
  return Buffer.concat([Buffer.from([TOKEN.loginAck]), uint16(body.length), body])
}

function answerTokens({ counts = [], rows, error }: TdsAnswer): Buffer {
  const tokens = counts.map((count) =>
    done(TOKEN.doneInProc, DONE.more | (count === undefined ? 0 : DONE.count), count),
  )
  if (rows) tokens.push(table(rows), done(TOKEN.doneInProc, DONE.more | DONE.count, rows.length))
  if (error) tokens.push(errorToken(error))
  return Buffer.concat([...tokens, done(TOKEN.doneProc, error ? DONE.error : 0)])
}

function done(token: number, status: number, count = 0): Buffer {
  const buffer = Buffer.alloc(13)
  buffer.writeUInt8(token)
  buffer.writeUInt16LE(status, 1)
  buffer.writeBigUInt64LE(BigInt(count), 5)
  return buffer
}

function errorToken({ number, message, severity = 14 }: NonNullable<TdsAnswer['error']>): Buffer {
  const head = Buffer.alloc(6)
  head.writeInt32LE(number)
  head.writeUInt8(1, 4)
  head.writeUInt8(severity, 5)
  const text = Buffer.concat([uint16(message.length), Buffer.from(message, 'utf16le')])
  const body = Buffer.concat([head, text, short('server'), short(''), Buffer.from([1, 0, 0, 0])])
  return Buffer.concat([Buffer.from([TOKEN.error]), uint16(body.length), body])
}

function table(rows: NonNullable<TdsAnswer['rows']>): Buffer {
  const names = Object.keys(rows[0] ?? {})
  const column = (name: string): Buffer =>
    Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, NVARCHAR]), uint16(512), COLLATION, short(name)])
  const row = (values: Readonly<Record<string, string>>): Buffer[] => [
    Buffer.from([TOKEN.row]),
    ...names.flatMap((name) => {
      const value = Buffer.from(values[name] ?? '', 'utf16le')
      return [uint16(value.length), value]
    }),
  ]
  return Buffer.concat([
    Buffer.from([TOKEN.columns]),
    uint16(names.length),
    ...names.map(column),
    ...rows.flatMap(row),
  ])
}

/** Reads the statement and the declaration of its parameters: the first two arguments of sp_executesql. */
function executeSql(message: Buffer): TdsRequest {
  let at = message.readUInt32LE(0) + 6
  const argument = (): string => {
    if (at >= message.length) return ''
    at += 1 + 2 * message.readUInt8(at) + 1
    if (message.readUInt8(at) !== NVARCHAR) return ''
    const long = message.readUInt16LE(at + 1) === 0xffff
    at += 1 + 2 + COLLATION.length
    const length = long ? message.readUInt32LE(at + 8) : message.readUInt16LE(at)
    at += long ? 12 : 2
    const text = message.toString('utf16le', at, at + length)
    at += length + (long ? 4 : 0)
    return text
  }
  return { text: argument(), parameters: argument() }
}

function packet(body: Buffer): Buffer {
  const header = Buffer.from([0x04, END_OF_MESSAGE, 0, 0, 0, 0, 1, 0])
  header.writeUInt16BE(HEADER + body.length, 2)
  return Buffer.concat([header, body])
}

function short(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'utf16le')])
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16LE(value)
  return buffer
}
