import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, freePort, startAs } from './server-process'

export interface Pooler {
  readonly port: number
  stop(): Promise<void>
}

/** PgBouncer in front of a PostgreSQL server, where it is installed; the role has a database of its name. */
export async function startPooler(
  directory: string,
  target: number,
  role: string,
): Promise<Pooler | undefined> {
  const port = await freePort()
  const configuration = join(directory, 'pgbouncer.ini')
  // `any` gives every client one role.
  writeFileSync(
    configuration,
    `[databases]
${role} = host=127.0.0.1 port=${target} dbname=${role} user=${role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
ignore_startup_parameters = extra_float_digits
`,
  )
  const process = startAs('postgres', 'pgbouncer', ['-q', configuration])
  const failed = new Promise<true>((resolve) =>
    process
      .once('exit', () => {
        resolve(true)
      })
      .once('error', () => {
        resolve(true)
      }),
  )
  const gone = await Promise.race([failed, sleep(500, false)])
  return gone ? undefined : { port, stop: () => end(process, 'SIGTERM') }
}
