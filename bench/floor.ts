import {
  dialects,
  lockStatements,
  lockTable,
  spell,
  tableDefinition,
  type DialectName,
  type Spelled,
  type Statement,
} from '../src/sql'
import type { Operation } from './operation'

/** One autocommit statement through the raw driver. */
export type RunRaw = (text: string, values: (string | number | null)[]) => Promise<unknown>

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
  const take = statements.acquire.find((step) => step.kind === 'take')
  return {
    table: tableDefinition(dialect, { tableName }),
    take: spelled(take?.statement),
    unlock: spelled(statements.unlock),
  }
}

/** The least that a lock could cost: one read by primary key, one write by primary key, and our two statements bare. */
export function floorOperations(
  name: DialectName,
  tableName: string,
  placeholder: (position: number) => string,
  run: RunRaw,
): Operation[] {
  const { take, unlock } = ourStatements(name, tableName, placeholder)
  const one = placeholder(0)
  const two = placeholder(1)
  const values = { name: 'floor', lockedBy: 'floor', lockAtMostFor: 60_000 }
  let count = 0
  return [
    {
      scenario: 'read one row',
      who: 'raw driver',
      run: () => run(`select lock_until from ${tableName} where name = ${one}`, ['held']),
    },
    {
      scenario: 'write one row',
      who: 'raw driver',
      run: () =>
        run(`update ${tableName} set locked_by = ${one} where name = ${two}`, [
          `floor ${String(count++)}`,
          'write',
        ]),
    },
    {
      scenario: 'win + release',
      who: 'raw driver, the same two statements',
      run: async () => {
        await run(take.text, take.bind(values))
        await run(unlock.text, unlock.bind(values))
      },
    },
  ]
}
