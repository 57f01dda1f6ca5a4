import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import type { AcquireStep } from '../../src/sql/acquire'
import { dialects } from '../../src/sql/dialects'
import type { Dialect } from '../../src/sql/dialect'
import { tableSql } from '../../src/sql/names'
import { render, type Sql } from '../../src/sql/sql'
import { lockStatements, type LockStatements } from '../../src/sql/statements'
import { tableFindings } from '../../src/sql/table/check'
import { tableDefinition } from '../../src/sql/table/definition'

/** When each statement is sent. Unless it says otherwise, it takes one round trip and commits by itself. */
const SENT: Readonly<Record<keyof LockStatements, string>> = {
  acquire: 'Acquires a lock without a slot.',
  acquireSlot: 'Acquires a lock with a slot.',
  acquireAgain: 'With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.',
  extend: 'Extends a lock that is held: `extend`, and `keepAlive` again and again.',
  release: 'Releases a lock without a slot, at the end of a run.',
  releaseSlot: 'Releases a lock with a slot, at the end of a run.',
  releaseUnused: 'Releases a lock with a slot if nothing ran, so that the slot can be acquired again.',
  releaseSeen: "Releases another holder's lock: `table.release`, and `table.resume` for a pause.",
  pause: 'Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.',
  fencingToken: 'Reads the fencing token of a lock that is held.',
  rowIfUnlocked:
    'After an update that changed nothing: returns a row unless another session has locked the row.',
  pin: "Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.",
  pinOwn:
    'After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.',
  list: 'Reads all locks: `table.list`, the page and the command line.',
  find: 'Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.',
  now: 'Reads the clock, for the message that a slot is too far ahead.',
}

const MEANING: Readonly<Record<AcquireStep['answer'], string>> = {
  refusal: 'reads whether something refuses the lock: if so, there is no further step',
  acquired: 'if it changes a row, the lock is acquired',
  outcome: 'returns the outcome',
  'outcome of a row': 'returns the outcome, unless there is no row',
}

/** Says how many round trips an attempt takes. */
function roundTrips(steps: readonly AcquireStep[]): string {
  const firstWrite = steps.findIndex(({ answer }) => answer !== 'refusal')
  return `Round trips: 1 if it is refused, ${firstWrite + 1} if its row is free, ${steps.length} if it has no row yet.`
}

const CLAUSE =
  /(?<!\bdo) (?:select|from|where|insert into|update|set|values|on conflict|returning|begin|end;|if)\b/iy
const PART = /(?:, |(?= (?:when|else|and)\b) )/y

/** Begins a new line before each clause, and within it after each comma; but not in short parentheses and those of functions. */
function laidOut(statement: string): string {
  const text = statement.replace(/\s+/g, ' ').replace(/\( /g, '(')
  const startsHere = (pattern: RegExp): boolean => {
    pattern.lastIndex = position
    return pattern.test(text)
  }
  let result = ''
  let position = 0
  // The indent in each pair of parentheses that is open; empty if there are no new lines in it.
  const indents = ['  ']
  for (; position < text.length; position++) {
    const character = text.charAt(position)
    const indent = indents.at(-1) ?? ''
    if (indent !== '' && startsHere(CLAUSE)) result += `\n${indent}`
    else if (indent !== '' && startsHere(PART)) {
      result += `${character.trim()}\n${indent}  `
      if (character === ',') position++
    } else result += character
    if (character === '(') {
      const isLong = result.endsWith(' (') && lengthOfParentheses(text.slice(position)) > 100
      indents.push(isLong && indent !== '' ? `${indent}  ` : '')
    }
    if (character === ')') indents.pop()
  }
  return result
}

function lengthOfParentheses(text: string): number {
  let depth = 0
  return text.split('').findIndex((character) => {
    depth += character === '(' ? 1 : character === ')' ? -1 : 0
    return depth === 0
  })
}

const textOf = (statement: Sql): string =>
  render(statement, (position) => `:${String(statement.parameters[position])}`)

/** The statements in the order of a lock's life, each value under its name; then those that create the table. */
function sections(dialect: Dialect): string[] {
  const { acquire, acquireSlot, pin, ...rest } = lockStatements(dialect, tableSql(dialect))
  // The other steps to a pause are those to a slot.
  const others = { ...rest, pause: rest.pause[0].statement }
  const section = (name: keyof LockStatements, ...texts: string[]): string =>
    [`---- ${name}`, `-- ${SENT[name]}`, ...texts].join('\n')
  const steps = (name: 'acquire' | 'acquireSlot', all: readonly AcquireStep[]): string =>
    section(
      name,
      `-- ${roundTrips(all)}`,
      ...all.map(
        ({ answer, statement }, index) =>
          `-- Step ${index + 1} of ${all.length}: ${MEANING[answer]}\n${laidOut(textOf(statement))};`,
      ),
    )
  const definition = tableDefinition(dialect)
  const [missing] = tableFindings(dialect, tableSql(dialect, { schema: 'app' }), [])
  const script = (title: string, texts: readonly string[]): string =>
    [`---- ${title}`, ...texts.map((text) => `${text};`)].join('\n')
  return [
    steps('acquire', acquire),
    steps('acquireSlot', acquireSlot),
    ...(Object.entries(others) as [keyof typeof others, Sql][]).map(([name, statement]) =>
      section(name, `${laidOut(textOf(statement))};`),
    ),
    section('pin', `${laidOut(textOf(pin.statement))};`),
    script('The table: create', definition.up),
    script('The table: drop', definition.down),
    script('The table in a schema: create, as the check advises where it is missing', missing?.fix ?? []),
  ]
}

it.each(Object.values(dialects))('the SQL of $name is as before: npm run generate changes it', (dialect) => {
  // The SQL of MariaDB is that of MySQL.
  const name = dialect.name === 'mariadb' ? 'mysql' : dialect.name
  const file = join(__dirname, 'golden', `${name}.sql`)
  const settled = ['select …', 'update … for update nowait …'].map((text) => dialect.driver.settled?.(text))
  const sql = [
    `-- The SQL of the dialect ${name}. Values are bound; here each has its name after a colon.`,
    ...(settled[0]
      ? [
          '-- The driver adds settings that hold for the statement alone:',
          ...settled.map((text) => `--   ${text}`),
        ]
      : []),
    ...sections(dialect),
  ].join('\n\n')
  if (process.env['UPDATE_GOLDEN']) writeFileSync(file, `${sql}\n`)
  expect(`${sql}\n`).toBe(readFileSync(file, 'utf8'))
})
