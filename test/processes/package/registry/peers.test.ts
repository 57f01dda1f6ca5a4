import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import {
  compile,
  copyFixtures,
  generatePrismaClients,
  MODULE_KINDS,
  NEWEST_TYPESCRIPT,
  newProject,
} from './project'

const nest = (core: string, schedule: string, reflectMetadata = '0.2'): string[] => [
  ...[`@nestjs/common@${core}`, `@nestjs/core@${core}`, `@nestjs/schedule@${schedule}`],
  ...[`reflect-metadata@${reflectMetadata}`, 'rxjs@7'],
]
const prisma = (version: string): string[] => [
  ...['prisma', '@prisma/client', '@prisma/adapter-better-sqlite3'].map((name) => `${name}@${version}`),
  '@types/better-sqlite3@7',
]
const openTelemetry = (api: string, metrics: string): string[] => [
  ...[`@opentelemetry/api@${api}`, `@opentelemetry/sdk-metrics@${metrics}`],
]
const PAGE = [
  ...['typeorm@1', 'sql.js@1', 'hono@4', '@hono/node-server@1', '@nestjs/platform-express@12'],
  ...nest('12', '12'),
]
/** What a project with Jest has beside the newest peers. */
const JEST = [
  ...['jest@30', 'ts-jest@29', '@swc/jest@0.2', '@swc/core@1', 'typescript@6'],
  ...['@types/jest@30', '@types/node@20'],
]

/**
 * Projects with peers that npm installs together, by fixture and version: the exact lowest ones that package.json allows, the newest
 * ones, and some between them.
 */
const PROJECTS: readonly Readonly<Record<string, readonly string[]>>[] = [
  {
    'typeorm, lowest, 0.3.20': ['typeorm@0.3.20'],
    'node-cron, lowest, 4.4': ['node-cron@~4.4.0'],
    'opentelemetry, lowest, 1.9.0': openTelemetry('1.9.0', '2'),
  },
  { 'nestjs, lowest, 10.0.0': nest('10.0.0', '4.0.0', '0.1') },
  { 'typeorm, 0.3': ['typeorm@0.3'], 'prisma, 6': prisma('6'), 'nestjs, 10': nest('10', '5') },
  // Not beside TypeORM 0.3.20, which wants an older better-sqlite3.
  // Lower versions of Prisma would download an engine: `npm run test:earlier-prisma` runs them without.
  { 'prisma, 6.16.0': prisma('6.16.0'), 'nestjs, 11': nest('11', '6') },
  { 'page, in Hono 4 and NestJS 12': PAGE },
  {
    'typeorm, newest, 1': ['typeorm@1'],
    'prisma, newest, 7': prisma('7'),
    'nestjs, newest, 12': nest('12', '12'),
    'node-cron, newest, 4': ['node-cron@4'],
    'opentelemetry, newest, 1': openTelemetry('1', 'latest'),
  },
]
/** Their own declarations do not compile under TypeScript 6. */
const SKIP_LIB_CHECK = /nestjs, lowest|page/

const folder = temporaryFolder()

for (const [index, peers] of PROJECTS.entries()) {
  const project = join(folder, String(index))
  const titles = Object.keys(peers)
  const fixtureOf = (title: string): string => title.replace(/,.*/, '')
  const isNewest = titles.some((title) => title.includes('newest'))
  let isMade = false

  /** Once, for the first of its tests that is run. */
  const make = (): void => {
    if (isMade) return
    const packages = [tarball, ...Object.values(peers).flat(), ...(isNewest ? JEST : [])]
    const large = isNewest ? ['@swc/core', 'typescript'] : []
    newProject(project, packages, ['better-sqlite3', ...large])
    const fixtures = titles.map(fixtureOf)
    // Prisma 7 has the URL in its configuration instead.
    const datasource = isNewest ? '' : 'url = "file:prisma.sqlite"'
    if (fixtures.includes('prisma')) generatePrismaClients(project, 'sqlite', datasource)
    const compiler = isNewest ? NEWEST_TYPESCRIPT : installed('typescript/bin/tsc')
    const skipLibCheck = titles.some((title) => SKIP_LIB_CHECK.test(title))
    compile(project, [...fixtures, 'run-once'], { skipLibCheck }, compiler)
    isMade = true
  }

  describe.each(titles)('%s', (title) => {
    beforeAll(make)

    test.each(MODULE_KINDS)('compiles and runs as %s', (type) => {
      node(project, join(type, `${fixtureOf(title)}.js`))
    })
  })

  if (!isNewest) continue

  describe('a project with Jest 30', () => {
    beforeAll(async () => {
      make()
      const tests = ['jest-test.ts', 'run-once.ts']
      copyFixtures(project, 'typescript', tests)
      const compilerOptions = {
        ...{ module: 'commonjs', target: 'es2022', ignoreDeprecations: '6.0', strict: true },
        ...{ skipLibCheck: true, types: ['jest', 'node'] },
      }
      writeFileSync(join(project, 'typescript/tsconfig.json'), JSON.stringify({ compilerOptions }))
      await build({
        entryPoints: tests.map((file) => join(project, 'typescript', file)),
        ...{ outdir: join(project, 'javascript'), format: 'cjs', logLevel: 'silent' },
      })
    })

    test.each([
      { kind: 'CommonJS, transformed by Babel as Jest does', roots: 'javascript', config: {} },
      {
        ...{ kind: 'TypeScript by ts-jest', roots: 'typescript' },
        config: { transform: { '\\.ts$': ['ts-jest', { tsconfig: 'typescript/tsconfig.json' }] } },
      },
      {
        ...{ kind: 'TypeScript by @swc/jest', roots: 'typescript' },
        config: { transform: { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' } } }] } },
      },
    ])('passes its tests: $kind', ({ roots, config }) => {
      const where = { rootDir: project, roots: [join(project, roots)], testRegex: 'jest-test' }
      const jestConfig = JSON.stringify({ ...config, ...where })
      node(project, 'node_modules/jest/bin/jest.js', '--ci', '--config', jestConfig)
    })
  })
}
