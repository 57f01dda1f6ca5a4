import type { Sql, LockValues } from '../../../src/sql/internal'
import {
  condition,
  expression,
  type Condition,
  type Expression,
  type ResultRow,
  type Scope,
  type Subquery,
  type Value,
} from './expressions'
import type { Change, LockRow, Table } from './table'
import { Tokens } from './tokens'

/** What a statement found and would change. The table itself is not modified. */
export interface Effect {
  readonly rows: readonly ResultRow[]
  readonly changes: readonly Change[]
}

/** A statement that the model can run. */
export type Compiled = (table: Table, values: LockValues, server: Server) => Effect

/** What a statement can read besides the rows. */
export interface Server {
  /** The time of the server's clock, in milliseconds since 1970. */
  readonly now: number
  readonly isReadOnly: boolean
  /** The rows as they were when the statement began, for its reads. Default: the current rows. */
  readonly snapshot: Table | undefined
}

type Part = (scope: Scope) => Effect

/** Thrown if an inserted row already exists. */
export class DuplicateKey extends Error {}

/**
 * Compiles a statement to a function over rows in memory. It supports `select`, `insert`, `update` and `with` as far as the lock uses
 * them. It knows SQL, but nothing about locks.
 */
export function compile(statement: Sql): Compiled {
  const tokens = new Tokens(statement)
  const run = any(tokens)
  tokens.end()
  return (table, values, { now, isReadOnly, snapshot = table }) => {
    const named = new Map<string, readonly ResultRow[]>()
    return run({ table, snapshot, values, now, isReadOnly, row: undefined, group: [], named })
  }
}

function any(tokens: Tokens): Part {
  if (tokens.read('with')) return withNames(tokens)
  if (tokens.read('select')) return select(tokens)
  if (tokens.read('insert', 'into')) return insert(tokens)
  if (tokens.read('update')) return update(tokens)
  throw tokens.error('a statement')
}

function withNames(tokens: Tokens): Part {
  const parts: { name: string; run: Part }[] = []
  do {
    const name = tokens.identifier()
    tokens.expect('as', '(')
    parts.push({ name, run: any(tokens) })
    tokens.expect(')')
  } while (tokens.read(','))
  const last = any(tokens)
  return (scope) => {
    const changes: Change[] = []
    for (const { name, run } of parts) {
      const effect = run(scope)
      changes.push(...effect.changes)
      scope.named.set(name, effect.rows)
    }
    const { rows, changes: more } = last(scope)
    return { rows, changes: [...changes, ...more] }
  }
}

function select(tokens: Tokens): Part {
  const items: { column: string; of: Expression }[] = []
  const { aggregates } = tokens
  do {
    const of = expression(tokens, subquery)
    items.push({ column: tokens.read('as') ? tokens.identifier() : `column ${items.length}`, of })
  } while (tokens.read(','))
  // A select with an aggregate returns one row.
  const isAggregate = tokens.aggregates > aggregates
  const source = from(tokens)
  const where: Condition = tokens.read('where') ? condition(tokens, subquery) : () => true
  const order = tokens.read('order', 'by') ? tokens.identifier() : undefined
  if (!tokens.read('for', 'share')) tokens.read('for', 'update')
  return (scope) => {
    const { row: outerRow, group: outerGroup } = scope
    const found: (LockRow | ResultRow)[] = []
    for (scope.row of source(scope)) if (where(scope)) found.push(scope.row)
    scope.group = found
    const rows: ResultRow[] = []
    for (scope.row of isAggregate ? [{}] : found) {
      const row: Record<string, Value> = {}
      for (const { column, of } of items) row[column] = of(scope)
      rows.push(row)
    }
    scope.row = outerRow
    scope.group = outerGroup
    const key = items[0]?.column
    if (order !== undefined && key !== undefined)
      rows.sort((one, other) => (String(one[key]) < String(other[key]) ? -1 : 1))
    return { rows, changes: [] }
  }
}

type Source = (scope: Scope) => Iterable<LockRow | ResultRow>

const oneRow: Source = () => [{}]

function from(tokens: Tokens): Source {
  if (!tokens.read('from')) return oneRow
  if (tokens.read('(')) return oneRowWith(tokens)
  const name = tokens.identifier()
  return name === 'dual' ? oneRow : ({ snapshot, named }) => named.get(name) ?? snapshot.rows()
}

/** `(select 1 as one) one left join table on condition`: always returns at least one row, even if no row fulfils the condition. */
function oneRowWith(tokens: Tokens): Source {
  tokens.expect('select', '1', 'as')
  tokens.identifier()
  if (tokens.read('from')) tokens.expect('dual')
  tokens.expect(')')
  tokens.identifier()
  tokens.expect('left', 'join')
  tokens.identifier()
  tokens.expect('on')
  const on = condition(tokens, subquery)
  return (scope) => {
    const { row: outerRow } = scope
    const found: LockRow[] = []
    for (const row of scope.snapshot.rows()) {
      scope.row = row
      if (on(scope)) found.push(row)
    }
    scope.row = outerRow
    return found.length > 0 ? found : [{}]
  }
}

const subquery: Subquery = (tokens) => {
  tokens.expect('select')
  const run = select(tokens)
  return (scope) => run(scope).rows
}

type Assignments = (scope: Scope) => Partial<LockRow>

function assignments(tokens: Tokens): Assignments {
  const parts: { column: string; to: Expression }[] = []
  do {
    const column = tokens.identifier()
    tokens.expect('=')
    parts.push({ column, to: expression(tokens, subquery) })
  } while (tokens.read(','))
  return (scope) => {
    const assigned: Record<string, Value> = {}
    for (const { column, to } of parts) assigned[column] = to(scope)
    return assigned
  }
}

function update(tokens: Tokens): Part {
  tokens.identifier()
  tokens.expect('set')
  const assign = assignments(tokens)
  tokens.expect('where')
  const where = condition(tokens, subquery)
  return (scope) => {
    const changes: Change[] = []
    for (const row of scope.table.rows()) {
      scope.row = row
      if (where(scope)) changes.push({ before: row, after: { ...row, ...assign(scope) } })
    }
    scope.row = undefined
    return { rows: [], changes }
  }
}

function list<T>(tokens: Tokens, item: () => T): T[] {
  const items: T[] = []
  tokens.expect('(')
  do items.push(item())
  while (tokens.read(','))
  tokens.expect(')')
  return items
}

function insert(tokens: Tokens): Part {
  tokens.identifier()
  if (tokens.read('as')) tokens.identifier()
  const columns = list(tokens, () => tokens.identifier())
  const proposed = proposals(tokens, columns)
  let onConflict: { assign: Assignments; where: Condition } | undefined
  if (tokens.read('on', 'conflict')) {
    list(tokens, () => tokens.identifier())
    tokens.expect('do', 'update', 'set')
    const assign = assignments(tokens)
    tokens.expect('where')
    onConflict = { assign, where: condition(tokens, subquery) }
  }
  const isReturning = tokens.read('returning')
  if (isReturning) tokens.expect('1')
  return (scope) => {
    const changes: Change[] = []
    for (const after of proposed(scope)) {
      const before = scope.table.row(after.name)
      if (!before) changes.push({ before, after })
      else if (!onConflict) throw new DuplicateKey()
      else {
        scope.row = before
        if (onConflict.where(scope))
          changes.push({ before, after: { ...before, ...onConflict.assign(scope) } })
      }
    }
    scope.row = undefined
    return { rows: isReturning ? changes.map(() => ({ returned: 1 })) : [], changes }
  }
}

function proposals(tokens: Tokens, columns: readonly string[]): (scope: Scope) => LockRow[] {
  const rowOf = (values: readonly unknown[]): LockRow =>
    Object.fromEntries(columns.map((column, index) => [column, values[index]])) as unknown as LockRow
  if (tokens.read('values')) {
    const items = list(tokens, () => expression(tokens, subquery))
    return (scope) => [rowOf(items.map((item) => item(scope)))]
  }
  tokens.expect('select')
  const run = select(tokens)
  return (scope) => run(scope).rows.map((row) => rowOf(Object.values(row)))
}
