import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { PROJECTS } from './peers'
import {
  compile,
  copyFixtures,
  generatePrismaClients,
  MODULE_KINDS,
  NEWEST_TYPESCRIPT,
  newProject,
} from './project'

/** What a project with Jest has beside the newest peers. */
const JEST = [
  ...['jest@30', 'ts-jest@29', '@swc/jest@0.2', '@swc/core@1', 'typescript@6'],
  ...['@types/jest@30', '@types/node@20'],
]
const compilerOptions = {
  ...{ module: 'commonjs', target: 'es2022', ignoreDeprecations: '6.0', strict: true, skipLibCheck: true },
  types: ['jest', 'node'],
}
const NATIVE_OR_LARGE = ['better-sqlite3', '@swc/core', 'typescript']

const folder = temporaryFolder()

for (const [index, { peers, datasource, skipLibCheck = false }] of PROJECTS.entries()) {
  const project = join(folder, String(index))
  const isNewest = peers.some(({ version }) => version.startsWith('newest'))
  let isMade = false

  /** Once, for the first of its tests that is run. */
  const make = (): void => {
    if (isMade) return
    const packages = peers.flatMap((peer) => peer.packages)
    if (isNewest) newProject(project, [tarball, ...packages, ...JEST], NATIVE_OR_LARGE)
    else newProject(project, [tarball, ...packages], ['better-sqlite3'])
    const fixtures = peers.map(({ fixture }) => fixture)
    if (fixtures.includes('prisma')) generatePrismaClients(project, 'sqlite', datasource)
    const compiler = isNewest ? NEWEST_TYPESCRIPT : installed('typescript/bin/tsc')
    compile(project, [...fixtures, 'run-once'], { skipLibCheck }, compiler)
    isMade = true
  }

  describe.each(peers)('$fixture, $version', ({ fixture }) => {
    beforeAll(make)

    test.each(MODULE_KINDS)('compiles and runs as %s', (type) => {
      node(project, join(type, `${fixture}.js`))
    })
  })

  if (!isNewest) continue

  describe('a project with Jest 30', () => {
    beforeAll(async () => {
      make()
      const tests = ['jest-test.ts', 'run-once.ts']
      copyFixtures(project, 'typescript', tests)
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
