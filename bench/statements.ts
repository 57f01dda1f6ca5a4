import {
  bind,
  lockStatements,
  lockTable,
  render,
  type Dialect,
  type Statement,
  type Values,
} from '../src/sql'
import type { RunRaw } from './raw-clients'

/** Our own statements as text, to send them through a raw driver. */
export interface RawLock {
  winAndRelease(name: string): Promise<void>
  lose(): Promise<void>
}

/** @param run sends one statement; `held` is a lock that somebody else holds all the time */
export function rawLock(
  dialect: Dialect,
  tableName: string,
  placeholder: (position: number) => string,
  run: RunRaw,
): RawLock {
  const { acquire, release } = lockStatements(dialect, lockTable(dialect, { tableName }))
  const firstTake = acquire.findIndex(({ tells }) => tells !== 'refusal')
  // All that a winner says where the row is there, and all that a loser says.
  const winning = [...acquire.slice(0, firstTake + 1).map(({ statement }) => statement), release]
  const losing = winning.slice(0, 1)
  const say = async (statements: readonly Statement[], values: Values): Promise<void> => {
    for (const statement of statements) await run(render(statement, placeholder), bind(statement, values))
  }
  let count = 0
  const values = (name: string): Values => ({
    name,
    lockedBy: `bench/00000000-0000-0000-0000-${String(count++).padStart(12, '0')}`,
    unlockedBy: 'bench/unlocked',
    lockAtMostFor: 60_000,
  })
  return {
    winAndRelease: (name) => say(winning, values(name)),
    lose: () => say(losing, values('held')),
  }
}
