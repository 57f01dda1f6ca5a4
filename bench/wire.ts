import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** The traffic of one client's connections. */
export interface Traffic {
  /** How many times the client sent something after the server had answered. */
  roundTrips: number
  statements: number
}

export interface Wire {
  /** The URL of the same server through the proxy. */
  readonly url: string
  readonly traffic: Traffic
  close(): Promise<void>
}

/**
 * Starts a TCP proxy that counts traffic. This works because the clients do not encrypt on the loopback interface.
 *
 * @param delay milliseconds by which the client's data is delayed
 */
export async function countingWire(url: string, delay = 0): Promise<Wire> {
  const { protocol, hostname, port } = new URL(url)
  const traffic: Traffic = { roundTrips: 0, statements: 0 }
  const statementsIn = protocol.startsWith('postgres') ? postgresStatements : mysqlStatements
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let answered = true
    client.on('data', (data: Buffer) => {
      if (answered) traffic.roundTrips++
      answered = false
      traffic.statements += statementsIn(data)
      if (delay === 0) upstream.write(data)
      else setTimeout(() => upstream.write(data), delay)
    })
    upstream.on('data', (data) => {
      answered = true
      client.write(data)
    })
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.setNoDelay()
      sockets.add(socket)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const proxied = new URL(url)
  proxied.port = String((server.address() as AddressInfo).port)
  return {
    url: proxied.href,
    traffic,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Counts Execute and Query messages: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function postgresStatements(data: Buffer): number {
  let count = 0
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readUInt32BE(at + 1)) {
    const type = String.fromCharCode(data[at] ?? 0)
    if (type === 'E' || type === 'Q') count++
    // The start-up message has no type, and contains no statement.
    if (data[at] === 0) return count
  }
  return count
}

const COM_QUERY = 0x03
const COM_STMT_EXECUTE = 0x17

/** https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html: a command begins packet 0. */
function mysqlStatements(data: Buffer): number {
  let count = 0
  for (let at = 0; at + 5 <= data.length; at += 4 + data.readUIntLE(at, 3)) {
    const command = data[at + 4]
    if (data[at + 3] === 0 && (command === COM_QUERY || command === COM_STMT_EXECUTE)) count++
  }
  return count
}
