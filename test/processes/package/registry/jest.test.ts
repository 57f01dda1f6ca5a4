import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { newProject } from './project'

const folder = temporaryFolder()
const project = join(folder, 'jest')
const typescript = {
  module: 'commonjs',
  target: 'es2022',
  ignoreDeprecations: '6.0',
  strict: true,
  skipLibCheck: true,
}

const JEST = ['jest@30', 'ts-jest@29', '@swc/jest@0.2', 'typeorm@1', '@types/jest@30', '@types/node@20']
const NATIVE_OR_LARGE = ['better-sqlite3', '@swc/core', 'typescript']

beforeAll(() => {
  newProject(project, [tarball, ...JEST, 'typescript@6', '@swc/core@1'], NATIVE_OR_LARGE)
  for (const sources of ['typescript', 'javascript']) mkdirSync(join(project, sources))
  const compilerOptions = {
    ...typescript,
    types: ['jest', 'node'],
    outDir: 'javascript',
    rootDir: 'typescript',
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['typescript'] }))
  for (const [from, to] of [
    ['jest-test.ts', 'report.test.ts'],
    ['run-once.ts', 'run-once.ts'],
  ] as const)
    copyFileSync(join(__dirname, 'fixtures', from), join(project, 'typescript', to))
  node(project, installed('typescript/bin/tsc'), '-p', 'tsconfig.json')
})

describe('a project with Jest 30', () => {
  test.each([
    { kind: 'CommonJS, transformed by Babel as Jest does', sources: 'javascript', config: {} },
    {
      ...{ kind: 'TypeScript by ts-jest', sources: 'typescript' },
      config: { transform: { '\\.ts$': ['ts-jest', { tsconfig: 'tsconfig.json' }] } },
    },
    {
      ...{ kind: 'TypeScript by @swc/jest', sources: 'typescript' },
      config: { transform: { '\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' } } }] } },
    },
  ])('passes its tests: $kind', ({ sources, config }) => {
    const jestConfig = JSON.stringify({ ...config, rootDir: project, roots: [join(project, sources)] })
    node(project, 'node_modules/jest/bin/jest.js', '--ci', '--config', jestConfig)
  })
})
