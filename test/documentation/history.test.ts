import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { DataSource, EntitySchema, LessThan } from 'typeorm'
import ts from 'typescript'
import { afterEach, expect, it } from '@jest/globals'
import {
  InMemoryLockProvider,
  LockingTaskExecutor,
  type LockingTaskExecutorListener,
} from '../../src/core/internal'
import { afterTest } from '../after-test'
import { availableBackends } from '../backends'
import { eventually } from '../eventually'
import { prismaBackends } from '../prisma/clients'

const page = readFileSync(join(__dirname, '../../docs/guides/operating.md'), 'utf8')
const [ofTypeOrm, ofPrisma] = [...page.matchAll(/^const history: .*?^\}$/gms)].map(([text]) =>
  // Of two runs at most.
  ts.transpile(text.replace('10_000', '1'), { target: ts.ScriptTarget.ES2022 }),
)
const entity = /new EntitySchema\(.*?^\}\)$/ms.exec(page)?.[0] ?? ''

function run(text: string, names: Readonly<Record<string, unknown>>): unknown {
  const made = runInThisContext(`(function (${Object.keys(names).join()}) { ${text} })`) as (
    ...values: readonly unknown[]
  ) => unknown
  return made(...Object.values(names))
}

/** The listener as the page has it. */
function listener(text = '', names: Readonly<Record<string, unknown>>): LockingTaskExecutorListener {
  return run(`${text}; return history`, names) as LockingTaskExecutorListener
}

interface Run {
  readonly name: string
  readonly error: string | null
}

async function expectHistory(
  history: LockingTaskExecutorListener,
  read: () => Promise<Run[]>,
): Promise<void> {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider(), { listeners: [history] })
  const execute = (name: string, task: () => unknown): Promise<unknown> =>
    executor.executeWithLock({ name, lockAtMostFor: '1m' }, task)
  const last = (wanted: object) => () =>
    read().then((runs) => {
      expect(runs.at(-1)).toMatchObject(wanted)
    })
  await execute('one', () => 1)
  await eventually(last({ name: 'one', error: null }))
  const failing = execute('two', () => {
    throw new Error('of the task')
  })
  await expect(failing).rejects.toThrow('of the task')
  await eventually(last({ name: 'two', error: 'Error: of the task' }))
  await execute('three', () => 1)
  await eventually(last({ name: 'three' }))
  await eventually(async () => {
    expect((await read()).map(({ name }) => name)).toEqual(['two', 'three'])
  })
}

/** Its failure is nobody's. */
async function expectNoHarm(history: LockingTaskExecutorListener): Promise<void> {
  const executor = new LockingTaskExecutor(new InMemoryLockProvider(), { listeners: [history] })
  const result = await executor.executeWithLock({ name: 'job', lockAtMostFor: '1m' }, () => 'value')
  expect(result).toEqual({ executed: true, value: 'value' })
}

const rejections: unknown[] = []
process.on('unhandledRejection', (reason) => rejections.push(reason))
afterEach(() => {
  expect(rejections).toEqual([])
})

it('by TypeORM has the last runs, and its failure touches no run', async () => {
  const [backend] = availableBackends().filter(({ name }) => name === 'sqlite')
  const database = await backend?.create()
  if (!database) return
  afterTest(() => database.drop())
  const JobRun = run(`return ${entity}`, { EntitySchema, Number, String, Date }) as EntitySchema<
    Run & { id: number }
  >
  const options = { ...database.typeOrm, entities: [JobRun], synchronize: true }
  const dataSource = await new DataSource(options).initialize()
  const history = listener(ofTypeOrm, { dataSource, JobRun, LessThan })
  await expectHistory(history, () => dataSource.getRepository(JobRun).find({ order: { id: 'asc' } }))
  await dataSource.destroy()
  await expectNoHarm(history)
})

it('by Prisma has the last runs, and its failure touches no run', async () => {
  const [backend] = prismaBackends().filter(({ adapter }) => adapter === 'better-sqlite3')
  const database = await backend?.create()
  if (!database) return
  afterTest(() => database.drop())
  const prisma = (await database.connect()) as unknown as {
    $executeRawUnsafe(sql: string): Promise<number>
    readonly jobRun: { findMany(options: object): Promise<Run[]> }
  }
  const history = listener(ofPrisma, { prisma })
  // There is no table yet.
  await expectNoHarm(history)
  await prisma.$executeRawUnsafe(
    `create table "JobRun" ("id" integer primary key autoincrement, "name" text not null,
      "endedAt" datetime not null default current_timestamp, "duration" integer not null, "error" text)`,
  )
  await expectHistory(history, () => prisma.jobRun.findMany({ orderBy: { id: 'asc' } }))
})
