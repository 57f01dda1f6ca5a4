import { lockStatements, render, tableSql, type Dialect, type Sql, type SqlValues } from '../src/sql/internal'
import type { RunRaw } from './server-counters'

/** Our own statements as strings, to be sent through a raw driver. */
export interface RawLock {
  readonly winAndRelease: (name: string) => Promise<void>
  readonly lose: () => Promise<void>
}

/** @param run sends one statement; `held` is a lock that another owner holds all the time */
export function rawLock(
  dialect: Dialect,
  tableName: string,
  placeholder: (position: number) => string,
  run: RunRaw,
): RawLock {
  const { acquire, release } = lockStatements(dialect, tableSql(dialect, { tableName }))
  const firstWrite = acquire.findIndex(({ answer }) => answer !== 'refusal')
  // The statements of an acquisition of an existing row, and those of a refused one.
  const winning = [...acquire.slice(0, firstWrite + 1).map(({ statement }) => statement), release]
  const losing = winning.slice(0, 1)
  const send = async (statements: readonly Sql[], values: SqlValues): Promise<void> => {
    for (const statement of statements) {
      const bound = statement.parameters.map((parameter) => values[parameter] ?? null)
      const text = render(statement, placeholder)
      await run(dialect.driver.settled?.(text) ?? text, bound)
    }
  }
  let count = 0
  const values = (name: string): SqlValues => ({
    name,
    lockedBy: `bench/00000000-0000-0000-0000-${String(count++).padStart(12, '0')}`,
    unlockedBy: 'bench/unlocked',
    lockAtMostFor: 60_000,
    keepFor: 0,
    unexpired: 60_000,
  })
  return {
    winAndRelease: (name) => send(winning, values(name)),
    lose: () => send(losing, values('held')),
  }
}
