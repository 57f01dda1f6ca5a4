import {
  dialects,
  lockStatements,
  lockTable,
  spell,
  tableDefinition,
  type DialectName,
  type Spelled,
  type Statement,
} from 'shedlock-orm/sql'
import type { Operation } from './operation'
import type { BenchDatabase, RunRaw } from './raw-clients'

export const RAW = 'raw driver'
export const OUR_STATEMENTS = 'raw driver, our statements'

/** The text of our statements, to send the same ones through the raw driver. */
export function ourStatements(
  name: DialectName,
  tableName: string,
  placeholder: (position: number) => string,
) {
  const dialect = dialects[name]
  if (!dialect) throw new Error(`no dialect ${name}`)
  const table = lockTable(dialect, { tableName })
  const statements = lockStatements(dialect, table)
  const spelled = (statement: Statement | undefined): Spelled => {
    if (!statement) throw new Error('no such statement')
    return spell(statement, placeholder)
  }
  const firstTake = statements.acquire.findIndex(({ kind }) => kind === 'take')
  return {
    table: tableDefinition(dialect, { tableName }),
    /** All that a loser says. */
    lose: spelled(statements.acquire[0]?.statement),
    /** All that a winner says, where the row is there. */
    take: statements.acquire.slice(0, firstTake + 1).map(({ statement }) => spelled(statement)),
    unlock: spelled(statements.unlock),
  }
}

/** The least that a lock could cost: one read by primary key, one write by primary key, and our statements bare. */
export function floorOperations(
  { dialect, placeholder }: BenchDatabase,
  tableName: string,
  run: RunRaw,
): Operation[] {
  const { lose, take, unlock } = ourStatements(dialect, tableName, placeholder)
  const one = placeholder(0)
  const two = placeholder(1)
  const values = { name: 'floor', lockedBy: 'floor', lockAtMostFor: 60_000 }
  const losing = lose.bind({ ...values, name: 'held' })
  let count = 0
  return [
    {
      scenario: 'read one row',
      who: RAW,
      run: () => run(`select lock_until from ${tableName} where name = ${one}`, ['held']),
    },
    {
      scenario: 'write one row',
      who: RAW,
      run: () =>
        run(`update ${tableName} set locked_by = ${one} where name = ${two}`, [
          `floor ${String(count++)}`,
          'write',
        ]),
    },
    { scenario: 'lose', who: OUR_STATEMENTS, run: () => run(lose.text, losing) },
    {
      scenario: 'win + release',
      who: OUR_STATEMENTS,
      run: async () => {
        for (const { text, bind } of take) await run(text, bind(values))
        await run(unlock.text, unlock.bind(values))
      },
    },
  ]
}
