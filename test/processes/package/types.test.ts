import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from '@jest/globals'
import {
  entries,
  FRAMEWORKS,
  installed,
  installInto,
  node,
  packInto,
  temporaryFolder,
} from './packed-package'

const folder = temporaryFolder()
const app = join(folder, 'app')

beforeAll(() => {
  installInto(app, packInto(folder))
}, 120_000)

const CONSUMER = `
import { LockingTaskExecutor, LockError, type LockProvider, type TaskResult } from 'shedlock-orm'
import { typeOrmLockProvider } from 'shedlock-orm/typeorm'

export function executor(dataSource: Parameters<typeof typeOrmLockProvider>[0]): LockingTaskExecutor {
  const provider: LockProvider = typeOrmLockProvider(dataSource, { tableName: 'locks' })
  return new LockingTaskExecutor(provider, { defaultLockAtMostFor: '10m' })
}
export async function run(dataSource: Parameters<typeof typeOrmLockProvider>[0]): Promise<number | undefined> {
  const result: TaskResult<number> = await executor(dataSource).executeWithLock({ name: 'job' }, () => 42)
  return result.executed ? result.value : undefined
}
export const isLost = (error: unknown): boolean => error instanceof LockError && error.code === 'LOCK_LOST'
`
const EVERYTHING = entries
  .filter((entry) => !(entry in FRAMEWORKS))
  .map((entry, index) => `export * as entry${String(index)} from '${entry}'`)
  .join('\n')

describe('a TypeScript project without any peer', () => {
  test.each([
    { project: 'CommonJS', type: 'commonjs', module: 'nodenext', moduleResolution: 'nodenext' },
    { project: 'ES modules', type: 'module', module: 'nodenext', moduleResolution: 'nodenext' },
    { project: 'a bundler', type: 'module', module: 'esnext', moduleResolution: 'bundler' },
    { project: 'node10 resolution', type: 'commonjs', module: 'commonjs', moduleResolution: 'node10' },
  ])('compiles with $project, library types checked too', ({ type, module, moduleResolution }) => {
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type }))
    writeFileSync(join(app, 'consumer.ts'), CONSUMER)
    writeFileSync(join(app, 'everything.ts'), EVERYTHING)
    const compilerOptions = {
      ...{ module, moduleResolution, target: 'es2022', ignoreDeprecations: '6.0' },
      ...{ strict: true, skipLibCheck: false, noEmit: true },
      ...{ types: ['node'], typeRoots: [installed('@types')] },
    }
    const files = ['consumer.ts', 'everything.ts']
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    node(app, installed('typescript/bin/tsc'), '-p', 'tsconfig.json')
  })
})

describe('the types of both module formats', () => {
  test('are one: what CommonJS made fits where an ES module wants it', () => {
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    writeFileSync(join(app, 'common.cts'), "export { LockingTaskExecutor as Common } from 'shedlock-orm'\n")
    const both =
      "import { LockingTaskExecutor } from 'shedlock-orm'\nimport type { Common } from './common.cjs'\n" +
      'export const same = (executor: Common): LockingTaskExecutor => executor\n'
    writeFileSync(join(app, 'both.ts'), both)
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', strict: true, skipLibCheck: false, noEmit: true },
      ...{ types: ['node'], typeRoots: [installed('@types')] },
    }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['both.ts'] }))
    node(app, installed('typescript/bin/tsc'), '-p', 'tsconfig.json')
  })
})
