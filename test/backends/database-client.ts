import { spawn, spawnSync } from 'node:child_process'
import type { Backend, TestDatabase } from './index'

interface Client {
  readonly program: string
  /** Stops at the first error. */
  readonly arguments: readonly string[]
}

/** The database's own command line client for a backend, if it has one. */
function client(backend: Backend, { url }: TestDatabase): Client | undefined {
  if (backend.dialect === 'postgres')
    return { program: 'psql', arguments: ['--quiet', '--set=ON_ERROR_STOP=1', url] }
  if (backend.dialect === 'mysql' || backend.dialect === 'mariadb') {
    const { hostname, port, username, password, pathname } = new URL(url)
    return {
      program: 'mysql',
      arguments: [
        '--default-character-set=utf8mb4',
        `--host=${hostname}`,
        `--port=${port || '3306'}`,
        `--user=${username}`,
        `--password=${password}`,
        decodeURIComponent(pathname.slice(1)),
      ],
    }
  }
  if (backend.name === 'sqlite')
    return { program: 'sqlite3', arguments: ['-bail', '-cmd', '.timeout 30000', url.replace(/^file:/, '')] }
  return undefined
}

/** Whether the backend has a client of its own, and it is installed. */
export function hasClient(backend: Backend): boolean {
  const program = client(backend, { url: backend.url } as TestDatabase)?.program
  return program !== undefined && spawnSync(program, ['--version']).status === 0
}

/** Feeds a script to the database's own client. What is no error (PostgreSQL's notices) is left out of `stderr`. */
export async function runScript(
  backend: Backend,
  database: TestDatabase,
  script: string,
): Promise<{ ok: boolean; stderr: string }> {
  const found = client(backend, database)
  if (!found) throw new Error(`${backend.name} has no client of its own`)
  const child = spawn(found.program, found.arguments, { stdio: ['pipe', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.end(script)
  const status = await new Promise((resolve) => child.on('close', resolve))
  return { ok: status === 0, stderr: stderr.replace(/^.*NOTICE: .*\n/gm, '') }
}
