import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { copyFixtures, newProject } from './project'

const FORMATS = [
  { format: 'module', esbuild: 'esm', ending: 'mjs' },
  { format: 'commonjs', esbuild: 'cjs', ending: 'cjs' },
] as const

const project = join(temporaryFolder(), 'project')

beforeAll(() => {
  const clients = ['typeorm@1', 'sql.js@1']
  const bundlers = ['webpack@5', 'next@16', 'react@19', 'react-dom@19']
  newProject(project, [tarball, ...clients, ...bundlers], [], 'module')
  const sources = ['bundled.ts', 'next-route.ts', 'run-once.ts']
  copyFixtures(project, '.', [...sources, 'run-webpack.mjs'])
  const compilerOptions = {
    ...{ module: 'esnext', moduleResolution: 'bundler', target: 'es2022', outDir: 'app', rootDir: '.' },
    ...{ strict: true, skipLibCheck: true, types: ['node'], typeRoots: [installed('@types')] },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: sources }))
  node(project, installed('typescript/bin/tsc'))
  rmSync(join(project, 'tsconfig.json'))
})

// TypeORM is left out of each: it loads its drivers by names that no bundler knows.
describe('an app in one file', () => {
  test.each(FORMATS)('by esbuild, as $format', async ({ esbuild, ending }) => {
    const outfile = join(project, 'esbuild', `bundle.${ending}`)
    const { warnings } = await build({
      ...{ entryPoints: [join(project, 'app/bundled.js')], outfile, bundle: true, logLevel: 'silent' },
      ...{ platform: 'node', format: esbuild, external: ['typeorm'] },
    })
    expect(warnings).toEqual([])
    node(project, outfile)
  })

  test.each(FORMATS)('by webpack, as $format', ({ format, ending }) => {
    node(project, 'run-webpack.mjs', 'app/bundled.js', format)
    node(project, `webpack/bundle.${ending}`)
  })
})

test.each([
  { how: 'in the bundle', bundled: true, serverExternalPackages: ['typeorm'] },
  {
    ...{ how: 'left out of it by serverExternalPackages', bundled: false },
    serverExternalPackages: ['typeorm', 'shedlock-orm'],
  },
])('an app of Next keeps locks with the package $how', ({ bundled, serverExternalPackages }) => {
  const next = join(project, 'next')
  rmSync(next, { recursive: true, force: true })
  mkdirSync(join(next, 'app/run'), { recursive: true })
  copyFileSync(join(project, 'app/next-route.js'), join(next, 'app/run/route.js'))
  const configuration = { serverExternalPackages, turbopack: { root: project } }
  writeFileSync(join(next, 'next.config.mjs'), `export default ${JSON.stringify(configuration)}`)
  node(next, '../node_modules/next/dist/bin/next', 'build')
  const answer = readFileSync(join(next, '.next/server/app/run.body'), 'utf8')
  expect(JSON.parse(answer)).toEqual({ executed: true, value: 'ran' })
  const chunks = join(next, '.next/server/chunks')
  const hasOurs = readdirSync(chunks, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .some((file) => readFileSync(join(chunks, file), 'utf8').includes('shedlock-orm:lock-attempt'))
  expect(hasOurs).toBe(bundled)
})
