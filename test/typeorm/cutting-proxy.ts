import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Stands between a client and its server, and can cut the line right after the server was sent a statement. */
export interface CuttingProxy {
  readonly port: number
  /** Delivers the next statement that matches, and drops the client before it hears the answer. `values` are those bound in it. */
  cutAfter(statement: RegExp, values?: RegExp): Promise<void>
  /** Drops all clients, and refuses new ones. */
  close(): void
}

export async function cuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let cut: { statement: RegExp; values: RegExp; done: () => void } | undefined

  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // What is cut makes errors on both sides.
      socket.on('error', () => undefined)
    }
    const prepared = new MySqlPreparedStatements()
    const named = new PostgresNamedStatements()
    client.on('data', (chunk) => {
      upstream.write(chunk)
      const text = prepared.textOf(chunk) ?? named.textOf(chunk) ?? chunk.toString('latin1')
      if (!cut?.statement.test(text) || !cut.values.test(chunk.toString('latin1'))) return
      const { done } = cut
      cut = undefined
      client.destroy()
      done()
    })
    upstream.on('data', (chunk) => {
      prepared.answered(chunk)
      if (!client.destroyed) client.write(chunk)
    })
    upstream.on('close', () => client.destroy())
    client.on('end', () => upstream.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (statement, values = /^/) =>
      new Promise((done) => {
        cut = { statement, values, done }
      }),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/**
 * MySQL is sent a statement's text once, and from then on its number: the text of what is executed.
 * https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase_ps.html
 */
class MySqlPreparedStatements {
  readonly #texts = new Map<number, string>()
  #preparing: string | undefined

  /** @returns `''` for a statement that is only prepared, `undefined` for what is no prepared statement of MySQL */
  textOf(chunk: Buffer): string | undefined {
    if (chunk.length < 9 || chunk.readUIntLE(0, 3) !== chunk.length - 4 || chunk[3] !== 0) return undefined
    if (chunk[4] === 0x16) {
      this.#preparing = chunk.toString('latin1', 5)
      return ''
    }
    return chunk[4] === 0x17 ? this.#texts.get(chunk.readUInt32LE(5)) : undefined
  }

  answered(chunk: Buffer): void {
    if (this.#preparing !== undefined && chunk[4] === 0)
      this.#texts.set(chunk.readUInt32LE(5), this.#preparing)
    this.#preparing = undefined
  }
}

/**
 * PostgreSQL is sent a statement's text with its name once, and from then on its name.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
class PostgresNamedStatements {
  readonly #texts = new Map<string, string>()

  /** @returns `undefined` for what uses no named statement */
  textOf(chunk: Buffer): string | undefined {
    const [, parsed, text = ''] = /^P[^]{4}(shedlock_[^\0]+)\0([^\0]*)/.exec(chunk.toString('latin1')) ?? []
    if (parsed !== undefined) this.#texts.set(parsed, text)
    const [, bound] = /^B[^]{4}\0(shedlock_[^\0]+)/.exec(chunk.toString('latin1')) ?? []
    return bound === undefined ? undefined : this.#texts.get(bound)
  }
}
