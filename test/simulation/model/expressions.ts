import type { LockValues } from '../../../src/sql/internal'
import type { LockRow, Table } from './table'
import type { Tokens } from './tokens'

export type Value = string | number | null
export type ResultRow = Readonly<Record<string, Value>>

/** Everything that an expression can read. */
export interface Scope {
  /** The current rows, which writes use. */
  readonly table: Table
  /** The rows as they were when the statement began, which reads use. */
  readonly snapshot: Table
  readonly values: LockValues
  /** The database's clock in milliseconds since 1970, truncated to whole milliseconds. */
  readonly now: number
  readonly isReadOnly: boolean
  /** The row that is evaluated; `undefined` if there is none. */
  row: LockRow | ResultRow | undefined
  /** The rows over which an aggregate is computed. */
  group: readonly (LockRow | ResultRow)[]
  /** The results that `with` has named. */
  readonly named: Map<string, readonly ResultRow[]>
}

export type Expression = (scope: Scope) => Value
export type Condition = (scope: Scope) => boolean
/** Parses a `select` inside a statement. */
export type Subquery = (tokens: Tokens) => (scope: Scope) => readonly ResultRow[]

export function expression(tokens: Tokens, select: Subquery): Expression {
  const first = term(tokens, select)
  if (!tokens.read('-')) return first
  const second = term(tokens, select)
  return (scope) => sum(first(scope), negative(second(scope)))
}

function term(tokens: Tokens, select: Subquery): Expression {
  if (tokens.read('case')) return caseWhen(tokens, select)
  if (tokens.read('now', '(', ')')) return ({ now }) => now
  if (tokens.read('max', '(')) return maximum(tokens, select)
  if (tokens.read('read_only', '(', ')')) return ({ isReadOnly }) => Number(isReadOnly)
  if (tokens.read('(')) return inParentheses(tokens, select)
  const compute = FUNCTIONS[tokens.peek()]
  if (compute && tokens.read(tokens.peek(), '(')) {
    const operands: Expression[] = []
    do operands.push(expression(tokens, select))
    while (tokens.read(','))
    tokens.expect(')')
    return (scope) => compute(operands.map((operand) => operand(scope)))
  }
  if (tokens.read('-')) {
    const positive = Number(tokens.next())
    return () => -positive
  }
  const word = tokens.peek()
  if (/^\d/.test(word)) return constant(Number(tokens.next()))
  if (word.startsWith("'")) return constant(tokens.next().slice(1, -1))
  if (word.startsWith(':')) {
    const parameter = tokens.next().slice(1) as keyof LockValues
    return ({ values }) => values[parameter] ?? null
  }
  const column = tokens.identifier()
  return ({ row }) => {
    const value = (row as ResultRow | undefined)?.[column]
    if (value === undefined && row && Object.keys(row).length > 0)
      throw new Error(`The model has no column '${column}'.`)
    return value ?? null
  }
}

/** Parses an expression, or a `select` that returns a single value, in parentheses. */
function inParentheses(tokens: Tokens, select: Subquery): Expression {
  const isSelect = tokens.peek() === 'select'
  const rows = isSelect ? select(tokens) : undefined
  const inner = rows
    ? (scope: Scope): Value => Object.values(rows(scope)[0] ?? {})[0] ?? null
    : expression(tokens, select)
  tokens.expect(')')
  return inner
}

const FUNCTIONS: Readonly<Record<string, (values: Value[]) => Value>> = {
  abs: ([value = null]) => (value === null ? null : Math.abs(Number(value))),
  coalesce: (values) => values.find((value) => value !== null) ?? null,
  greatest: (values) => Math.max(...values.map(Number)),
  least: (values) => Math.min(...values.map(Number)),
  plus: ([time = null, milliseconds = null]) => sum(time, milliseconds),
}

function constant(value: Value): Expression {
  return () => value
}

function negative(value: Value): Value {
  return value === null ? null : -Number(value)
}

function sum(one: Value, other: Value): Value {
  return one === null || other === null ? null : Number(one) + Number(other)
}

function maximum(tokens: Tokens, select: Subquery): Expression {
  const of = expression(tokens, select)
  tokens.expect(')')
  tokens.aggregates++
  return (scope) => {
    const { row } = scope
    let greatest: Value = null
    for (scope.row of scope.group) {
      const value = of(scope)
      if (greatest === null || (value !== null && value > greatest)) greatest = value
    }
    scope.row = row
    return greatest
  }
}

function caseWhen(tokens: Tokens, select: Subquery): Expression {
  const branches: { when: Condition; then: Expression }[] = []
  while (tokens.read('when')) {
    const when = condition(tokens, select)
    tokens.expect('then')
    branches.push({ when, then: expression(tokens, select) })
  }
  const otherwise = tokens.read('else') ? expression(tokens, select) : constant(null)
  tokens.expect('end')
  return (scope) => (branches.find(({ when }) => when(scope))?.then ?? otherwise)(scope)
}

export function condition(tokens: Tokens, select: Subquery): Condition {
  const left = conjunction(tokens, select)
  if (!tokens.read('or')) return left
  const right = condition(tokens, select)
  return (scope) => left(scope) || right(scope)
}

function conjunction(tokens: Tokens, select: Subquery): Condition {
  const left = comparison(tokens, select)
  if (!tokens.read('and')) return left
  const right = conjunction(tokens, select)
  return (scope) => left(scope) && right(scope)
}

function comparison(tokens: Tokens, select: Subquery): Condition {
  if (tokens.read('not')) {
    const inner = comparison(tokens, select)
    return (scope) => !inner(scope)
  }
  if (tokens.read('exists', '(')) {
    const rows = select(tokens)
    tokens.expect(')')
    return (scope) => rows(scope).length > 0
  }
  if (tokens.read('(')) {
    const inner = condition(tokens, select)
    tokens.expect(')')
    return inner
  }
  const left = expression(tokens, select)
  if (tokens.read('is', 'null')) return (scope) => left(scope) === null
  const compare = COMPARISONS[tokens.next()]
  if (!compare) throw tokens.error('a comparison')
  const right = expression(tokens, select)
  // A comparison with null is unknown, and so not true.
  return (scope) => {
    const one = left(scope)
    const other = right(scope)
    return one !== null && other !== null && compare(one, other)
  }
}

const COMPARISONS: Readonly<Record<string, (one: string | number, other: string | number) => boolean>> = {
  '=': (one, other) => one === other,
  '<': (one, other) => one < other,
  '>': (one, other) => one > other,
  '<=': (one, other) => one <= other,
  '>=': (one, other) => one >= other,
}
