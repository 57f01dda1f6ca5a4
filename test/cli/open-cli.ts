import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import type { TestDatabase } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { runCli, startCli, type Finished, type Started } from './built-cli'

export const LOCK = ['exec', 'job', '--lock-at-most-for', '10m']
export const node = (script: string): string[] => ['--', process.execPath, '-e', script]
/** A command that does not end by itself. */
export const FOREVER = node('setInterval(() => 0, 1e6)')
/** A command that ends when something is written to it. */
export const UNTIL_STOPPED = "process.stdin.on('data', () => process.exit(0)); console.log('up')"

/** The command line on a database of its own with the lock table, and a lock provider that observes it. */
export async function openCli(
  backend: { readonly dialect: string; create(): Promise<TestDatabase> },
  options: object = migrated(),
) {
  const { database, dataSource } = await openDatabase(backend, options)
  const provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
  const { hostname, port, username, password, pathname } = new URL(database.url)
  // The command line wants the URL that Prisma has.
  const sqlServer = `sqlserver://${hostname}:${port};database=${pathname.slice(1)};user=${username};password=${password};encrypt=false`
  const env = { DATABASE_URL: backend.dialect === 'mssql' ? sqlServer : database.url }
  const start = (...args: readonly string[]): Started => {
    const started = startCli(args, env)
    // What it runs ends with its input.
    afterTest(() => started.child.kill('SIGKILL') && started.child.stdin.destroy())
    return started
  }
  return {
    ...{ database, dataSource, provider, env },
    run: (...args: readonly string[]): Promise<Finished> => runCli(args, { env }),
    start,
    /** Starts a command, and waits until its output has its first line. */
    running: async (...args: readonly string[]): Promise<Started> => {
      const started = start(...args)
      await started.up
      return started
    },
    isHeld: async (name = 'job'): Promise<boolean> => (await provider.table.find(name))?.held ?? false,
    /** How long its lease is, from the acquisition, in milliseconds. */
    lease: async (name = 'job'): Promise<number> => {
      const lock = await provider.table.find(name)
      return (lock?.lockUntil.getTime() ?? 0) - (lock?.lockedAt.getTime() ?? 0)
    },
    isPaused: async (name = 'job'): Promise<boolean> => (await provider.table.find(name))?.paused ?? false,
  }
}
