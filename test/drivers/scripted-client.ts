import { DataSource, type DataSourceOptions, type TableColumn } from 'typeorm'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { dialects, type DialectName } from '../../src/sql/internal'
import { typeOrmLockProvider } from '../../src/typeorm/internal'
import { eventually } from '../eventually'
import { lockError } from '../lock-error'

/** What a fake client is told to answer: rows of a query, a count of changed rows, or an error of the server. */
export type Answer =
  { rows: Record<string, unknown>[] } | { changed: number } | { code: string | number; message: string }

/** A statement as a fake client was asked for it. */
export interface Request {
  readonly text: string
  readonly values: unknown
  /** Whether it commits by itself, or what it is a part of. */
  readonly by: unknown
}

export const FREE: Answer = { rows: [] }
export const HELD: Answer = { rows: [{ lock_until: 1 }] }
export const TAKEN: Answer = { changed: 1 }
export const NOTHING: Answer = { changed: 0 }

export interface Column {
  readonly column_name: string
  readonly column_type: string
  readonly max_length: number | null
  readonly nullable: number
  readonly unique_keys: number | null
}

export const column = (
  column_name: string,
  column_type: string,
  max_length: number | null,
  unique_keys = 0,
): Column => ({ column_name, column_type, max_length, nullable: 0, unique_keys })

interface Scripted {
  readonly dialect: DialectName
  /** Connects TypeORM with a fake client that is given these answers. */
  readonly options: (answer: (request: Request) => Answer) => DataSourceOptions
  /** What only the statement that describes the table reads. */
  readonly catalog: string
  readonly columns: readonly Column[]
  /** An error of the server that is none of those after which it is tried again. */
  readonly refusal: Answer & { code: string | number }
  /** Errors after which nobody knows whether the statement was run. */
  readonly broken: readonly (string | number)[]
  /** What TypeORM makes from the entity, where it is in the options: the table, and its columns as in the migration. */
  readonly made?: readonly string[]
}

/** The real TypeORM with a fake client, and what every database promises that is answered by one. */
export function scriptedClient({ dialect, options, catalog, columns, refusal, broken, made }: Scripted) {
  const script = {
    asked: [] as Request[],
    answers: [] as Answer[],
    columns,
    dataSource: undefined as unknown as DataSource,
    lock: () =>
      typeOrmLockProvider(script.dataSource, { timeLimit: '10s' }).lock({
        ...{ name: 'job', lockAtMostFor: '60d' },
      }),
  }

  beforeEach(async () => {
    Object.assign(script, { asked: [], answers: [], columns })
    const answer = (request: Request): Answer => {
      if (request.text.includes(catalog)) return { rows: script.columns.map((each) => ({ ...each })) }
      script.asked.push(request)
      const next = script.answers.shift()
      if (!next) throw new Error(`Not expected: ${request.text}`)
      return next
    }
    script.dataSource = await new DataSource(options(answer)).initialize()
  })
  afterEach(() => script.dataSource.destroy())

  if (made)
    it('lets TypeORM create the columns of the migration', () => {
      const { driver } = script.dataSource
      const { columns, tableName } = script.dataSource.getMetadata('ShedLock')
      const types = columns.map(({ databaseName, type, length, precision }) => {
        const column = { type: driver.normalizeType({ type }), length, precision }
        return `${databaseName} ${driver.createFullType(column as TableColumn)}`
      })
      expect([tableName, ...types]).toEqual(made)
    })

  it.each(Object.keys(dialects[dialect].transientErrors))('tries again after error %s', async (code) => {
    script.answers = [{ code, message: 'try again' }, HELD]
    expect(await script.lock()).toBeUndefined()
    expect(script.answers).toEqual([])
  })

  it('fails with any other error of the server', async () => {
    script.answers = [FREE, refusal]
    await expect(script.lock()).rejects.toEqual(lockError('DATABASE_ERROR', `error ${refusal.code}`))
  })

  it.each(broken)('releases the lock after error %s, which leaves the outcome open', async (code) => {
    script.answers = [FREE, { code, message: 'the connection is gone' }, TAKEN]
    await expect(script.lock()).rejects.toMatchObject({ code: 'DATABASE_ERROR' })
    await eventually(() => expect(script.asked.length).toBe(3))
    expect(script.asked[2]?.text).toMatch(/^update /)
  })

  return script
}
