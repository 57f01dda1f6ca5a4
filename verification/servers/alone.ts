import { freePort } from '../../test/backends/free-port'
import { MARIADB, MYSQL } from './mysql-programs'
import { MySqlServer } from './mysql-server'
import { PostgresServer } from './postgres-server'

const MEGABYTES = 500

/** The servers that the harness can start, each alone and with a small disk. */
export const ALONE = {
  postgres: (port: number) => new PostgresServer(port, MEGABYTES),
  mariadb: (port: number) => new MySqlServer(MARIADB, port, MEGABYTES, ['--skip-log-bin']),
  mysql: (port: number) => new MySqlServer(MYSQL, port, MEGABYTES, ['--skip-log-bin']),
} as const

export async function startAlone(dialect: keyof typeof ALONE): Promise<PostgresServer | MySqlServer> {
  const server = ALONE[dialect](await freePort())
  await server.create()
  return server
}
