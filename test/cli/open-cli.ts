import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { afterTest } from '../after-test'
import type { TestDatabase } from '../backends'
import { migrated, openDatabase } from '../backends/open-database'
import { runCli, startCli, type Finished, type Started } from './built-cli'

/** The command line on a database of its own with the lock table, and a lock provider that observes it. */
export async function openCli(backend: { create(): Promise<TestDatabase> }, options: object = migrated()) {
  const { database, dataSource } = await openDatabase(backend, options)
  const provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
  const env = { DATABASE_URL: database.url }
  return {
    ...{ database, dataSource, provider, env },
    run: (...args: readonly string[]): Promise<Finished> => runCli(args, { env }),
    start: (...args: readonly string[]): Started => {
      const started = startCli(args, env)
      // What it runs ends with its input.
      afterTest(() => started.child.kill('SIGKILL') && started.child.stdin.destroy())
      return started
    },
    isHeld: async (name = 'job'): Promise<boolean> => (await provider.table.find(name))?.held ?? false,
    isPaused: async (name = 'job'): Promise<boolean> => (await provider.table.find(name))?.paused ?? false,
  }
}
