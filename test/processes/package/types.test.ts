import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from '@jest/globals'
import { entries, FRAMEWORKS, installed, installInto, node, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const app = join(folder, 'app')

beforeAll(() => {
  installInto(app)
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
/** Its declarations must name the types of the package, because they are inferred. */
const INFERRED = `
import { executeOnce, InMemoryLockProvider, leaderElection, loggingListener, LockingTaskExecutor } from 'shedlock-orm'
import { drivers, sqlClient } from 'shedlock-orm/drivers'
import { prismaLockProvider, shedlock } from 'shedlock-orm/prisma'
import { SqlLockProvider, dialects } from 'shedlock-orm/sql'
import { createShedLockMigration, shedLockEntity } from 'shedlock-orm/typeorm'
import { lockPage, nodeHandler } from 'shedlock-orm/web'

export const client = sqlClient(drivers.postgres, async () => ({ rows: [] }))
export const provider = new SqlLockProvider(client, dialects.postgres)
export const { table, acquire } = provider
export const locks = provider.table.list()
export const findings = provider.table.check()
export const lock = provider.lock({ name: 'job', lockAtMostFor: '1m' })
export const listener = loggingListener(console)
export const execute = new LockingTaskExecutor(new InMemoryLockProvider()).executeWithLock
export const once = executeOnce(provider, { name: 'job', lockAtMostFor: '1m' }, () => 1)
export const elect = (onElected: () => void) =>
  leaderElection(provider, { name: 'leader', lockAtMostFor: '1m' }, { onElected })
export const page = nodeHandler(lockPage(provider, { authorize: () => false }))
export const entity = shedLockEntity()
export const Migration = createShedLockMigration()
export const ofPrisma = (prisma: Parameters<typeof prismaLockProvider>[0]) => shedlock()(prisma)
`
const EVERYTHING = entries
  .filter((entry) => !(entry in FRAMEWORKS))
  .map((entry, index) => `export * as entry${String(index)} from '${entry}'`)
  .join('\n')

const BOTH =
  "import { LockingTaskExecutor } from 'shedlock-orm'\nimport type { Common } from './common.cjs'\n" +
  'export const same = (executor: Common): LockingTaskExecutor => executor\n'
const SOURCES = {
  'consumer.ts': CONSUMER,
  'everything.ts': EVERYTHING,
  'common.cts': "export { LockingTaskExecutor as Common } from 'shedlock-orm'\n",
  'both.ts': BOTH,
  'inferred.ts': INFERRED,
}

// That each entry is found by each kind of resolution is in tarball.test.ts.
describe('a TypeScript project without any peer', () => {
  const compile = (
    compiler: string,
    type: string,
    options: object,
    files: readonly (keyof typeof SOURCES)[],
  ): void => {
    writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type }))
    for (const file of files) writeFileSync(join(app, file), SOURCES[file])
    const compilerOptions = {
      ...{
        target: 'es2022',
        strict: true,
        declaration: true,
        outDir: 'out',
        types: ['node'],
        typeRoots: [installed('@types')],
      },
      ...options,
    }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    node(app, installed(`${compiler}/bin/tsc`), '-p', 'tsconfig.json')
  }

  test('compiles with ES modules, library types checked too; what CommonJS made fits where one wants it', () => {
    const files = ['consumer.ts', 'everything.ts', 'common.cts', 'both.ts', 'inferred.ts'] as const
    compile('typescript-7', 'module', { module: 'nodenext', skipLibCheck: false }, files)
  })

  test('compiles with CommonJS and the resolution of node10', () => {
    const options = { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' }
    compile('typescript', 'commonjs', { ...options, skipLibCheck: true }, ['consumer.ts', 'everything.ts'])
  })
})
