import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runAs } from '../../test/backends/server-process'

/** A server program of the MySQL family: how to create its data directory and how to start it. */
export interface ServerProgram {
  readonly dialect: 'mariadb' | 'mysql'
  /** The user that runs the server if the harness runs as root. */
  readonly user: string
  readonly command: string
  readonly options: readonly string[]
  readonly initialize: (data: string) => Promise<unknown>
}

/**
 * Options for a data directory inside a folder of its own. The folder is also the server's `tmpdir`, because a MariaDB that starts
 * removes the temporary tables there, also those of other servers.
 */
export const inFolder = (data: string): readonly string[] => [
  `--datadir=${data}`,
  `--tmpdir=${dirname(data)}`,
]

/** Whether MariaDB's server is installed. */
export const hasMariaDb = (process.env['PATH'] ?? '')
  .split(':')
  .some((folder) => existsSync(join(folder, 'mariadbd')))

/** In Debian's package galera-4. */
export const GALERA_LIBRARY = '/usr/lib/galera/libgalera_smm.so'
export const hasGalera = hasMariaDb && existsSync(GALERA_LIBRARY)

export const MARIADB: ServerProgram = {
  dialect: 'mariadb',
  user: 'mysql',
  command: 'mariadbd',
  options: ['--no-defaults', '--innodb-log-file-size=16M'],
  initialize: (data) =>
    runAs('mysql', 'mariadb-install-db', [
      '--no-defaults',
      ...inFolder(data),
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ]),
}

/** MariaDB also installs a `mysqld`, so the one on the path may not be MySQL's. */
const mysqld = process.env['MYSQLD'] ?? 'mysqld'

export const MYSQL: ServerProgram = {
  dialect: 'mysql',
  user: 'nobody',
  command: mysqld,
  options: ['--no-defaults', '--innodb-redo-log-capacity=16M', '--mysqlx=OFF'],
  initialize: async (data) => {
    const version = await runAs('nobody', mysqld, ['--version']).catch(String)
    if (!version.includes('Ver') || version.includes('MariaDB')) {
      throw new Error(
        `${mysqld} is not a MySQL server (${version.trim()}) – set MYSQLD; '.ci/start-mysql DIRECTORY' creates DIRECTORY/mysqld.`,
      )
    }
    await runAs('nobody', mysqld, ['--no-defaults', '--initialize-insecure', ...inFolder(data)])
  },
}
