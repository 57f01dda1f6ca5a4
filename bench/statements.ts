import {
  lockStatements,
  lockTable,
  spell,
  type Dialect,
  type Spelled,
  type Statement,
  type Values,
} from 'shedlock-orm/sql'
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
  const { acquire, unlock } = lockStatements(dialect, lockTable(dialect, { tableName }))
  const firstTake = acquire.findIndex(({ kind }) => kind === 'take')
  const spelled = (statement: Statement): Spelled => spell(statement, placeholder)
  // All that a winner says where the row is there, and all that a loser says.
  const winning = [...acquire.slice(0, firstTake + 1).map(({ statement }) => statement), unlock].map(spelled)
  const losing = winning.slice(0, 1)
  const say = async (statements: readonly Spelled[], values: Values): Promise<void> => {
    for (const { text, bind } of statements) await run(text, bind(values))
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
