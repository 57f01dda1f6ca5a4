import { once } from 'node:events'
import { runInThisContext } from 'node:vm'
import { DataSource, EntitySchema, LessThan } from 'typeorm'
import ts from 'typescript'
import { expect, it } from '@jest/globals'
import { InMemoryLockProvider } from '../../src/core/in-memory-lock-provider'
import type { LockingTaskExecutorListener } from '../../src/core/listener'
import { LockingTaskExecutor } from '../../src/core/locking-task-executor'
import { eventually } from '../eventually'
import { read } from '../project'

const page = read('docs/guides/operating.md')
// That of Prisma only has to compile.
const [ofTypeOrm = ''] = /^const history: .*?^\}$/ms.exec(page) ?? []
const [entity = ''] = /new EntitySchema\(.*?^\}\)$/ms.exec(page) ?? []

interface Run {
  readonly id: number
  readonly name: string
  readonly error: string | null
}

/** Runs what stands in the page. */
function run(text: string, names: Readonly<Record<string, unknown>>): unknown {
  const script = ts.transpile(text, { target: ts.ScriptTarget.ES2022 })
  const made = runInThisContext(`(function (${Object.keys(names).join()}) { ${script} })`) as (
    ...values: readonly unknown[]
  ) => unknown
  return made(...Object.values(names))
}

it('the history in the guide has the last runs, and its failure touches no run', async () => {
  const JobRun = run(`return ${entity}`, { EntitySchema, Number, String, Date }) as EntitySchema<Run>
  const dataSource = await new DataSource({
    ...{ type: 'better-sqlite3', database: ':memory:', entities: [JobRun], synchronize: true },
  }).initialize()
  // Of two runs at most.
  const history = run(`${ofTypeOrm.replace('10_000', '1')}; return history`, {
    ...{ dataSource, JobRun, LessThan },
  }) as LockingTaskExecutorListener
  const executor = new LockingTaskExecutor(new InMemoryLockProvider(), { listeners: [history] })
  const execute = (name: string, task: () => unknown): Promise<unknown> =>
    executor.executeWithLock({ name, lockAtMostFor: '1m' }, task)
  const untilRead = (...runs: readonly Partial<Run>[]): Promise<void> =>
    eventually(async () => {
      expect(await dataSource.getRepository(JobRun).find({ order: { id: 'asc' } })).toMatchObject(runs)
    })
  await execute('one', () => 1)
  await untilRead({ name: 'one', error: null })
  const failing = execute('two', () => {
    throw new Error('of the task')
  })
  await expect(failing).rejects.toThrow('of the task')
  await untilRead({ name: 'one' }, { name: 'two', error: 'Error: of the task' })
  await execute('three', () => 1)
  await untilRead({ name: 'two' }, { name: 'three' })
  await executor.executeWithLock({ name: 'long', lockAtMostFor: '20ms' }, ({ signal }) =>
    once(signal, 'abort'),
  )
  await eventually(async () => {
    const errors = (await dataSource.getRepository(JobRun).find()).map(({ error }) => error)
    expect(errors).toContainEqual(expect.stringContaining("Lock 'long' can no longer be trusted"))
  })

  await dataSource.destroy()
  expect(await execute('four', () => 'value')).toEqual({ executed: true, value: 'value' })
})
