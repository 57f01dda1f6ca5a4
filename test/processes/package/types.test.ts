import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, test } from '@jest/globals'
import { entries, FRAMEWORKS, installed, installInto, node, temporaryFolder } from './packed-package'

const app = join(temporaryFolder(), 'app')

beforeAll(() => installInto(app))

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

/** What CommonJS made fits where an ES module wants it. */
const BOTH = `
import { LockingTaskExecutor } from 'shedlock-orm'
import type { Common } from './common.cjs'
export const same = (executor: Common): LockingTaskExecutor => executor
`
const SOURCES = {
  'everything.ts': EVERYTHING,
  'common.cts': "export { LockingTaskExecutor as Common } from 'shedlock-orm'\n",
  'both.ts': BOTH,
  'inferred.ts': INFERRED,
  'core.ts': "export * from 'shedlock-orm'\n",
}

// That each entry is found by each kind of resolution is in tarball.test.ts.
test.each<{ kind: string; compiler: string; type: string; options: object; files: (keyof typeof SOURCES)[] }>(
  [
    {
      ...{ kind: 'ES modules, and checks library types', compiler: 'typescript-7', type: 'module' },
      options: { module: 'nodenext', skipLibCheck: false },
      files: ['everything.ts', 'common.cts', 'both.ts', 'inferred.ts'],
    },
    {
      ...{ kind: 'CommonJS and the resolution of node10', compiler: 'typescript', type: 'commonjs' },
      options: {
        module: 'commonjs',
        moduleResolution: 'node10',
        ignoreDeprecations: '6.0',
        skipLibCheck: true,
      },
      files: ['everything.ts'],
    },
    {
      // As with those of an early Node.js 18, which lack `Symbol.asyncDispose`.
      ...{ kind: 'no types of Node.js', compiler: 'typescript', type: 'module' },
      options: { module: 'nodenext', lib: ['es2022', 'dom'], types: [], skipLibCheck: false },
      files: ['core.ts'],
    },
  ],
)('a project without any peer compiles with $kind', ({ compiler, type, options, files }) => {
  writeFileSync(join(app, 'package.json'), JSON.stringify({ private: true, type }))
  for (const file of files) writeFileSync(join(app, file), SOURCES[file])
  const compilerOptions = {
    ...{ target: 'es2022', strict: true, declaration: true, outDir: 'out' },
    ...{ types: ['node'], typeRoots: [installed('@types')], ...options },
  }
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  node(app, installed(`${compiler}/bin/tsc`), '-p', 'tsconfig.json')
})
