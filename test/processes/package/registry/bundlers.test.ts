import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { newProject } from './project'

const FIXTURES = ['bundled', 'next-route', 'run-once']
const FORMATS = [
  { format: 'module', esbuild: 'esm', ending: 'mjs' },
  { format: 'commonjs', esbuild: 'cjs', ending: 'cjs' },
] as const

const folder = temporaryFolder()
const project = join(folder, 'project')

beforeAll(() => {
  const clients = ['typeorm@1', 'sql.js@1']
  const bundlers = ['webpack@5', 'next@16', 'react@19', 'react-dom@19']
  newProject(project, [tarball, ...clients, ...bundlers], [])
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  for (const name of FIXTURES)
    copyFileSync(join(__dirname, 'fixtures', `${name}.ts`), join(project, `${name}.ts`))
  copyFileSync(join(__dirname, 'fixtures/run-webpack.mjs'), join(project, 'run-webpack.mjs'))
  const compilerOptions = {
    ...{ module: 'esnext', moduleResolution: 'bundler', target: 'es2022', outDir: 'app', rootDir: '.' },
    ...{ strict: true, skipLibCheck: true, types: ['node'], typeRoots: [installed('@types')] },
  }
  const files = FIXTURES.map((name) => `${name}.ts`)
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
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

describe('an app of Next', () => {
  test.each([
    { how: 'in the bundle', bundled: true, serverExternalPackages: ['typeorm'] },
    {
      ...{ how: 'left out of it by serverExternalPackages', bundled: false },
      serverExternalPackages: ['typeorm', 'shedlock-orm'],
    },
  ])('keeps locks with the package $how', ({ bundled, serverExternalPackages }) => {
    const route = join(project, 'next/app/run')
    rmSync(join(project, 'next'), { recursive: true, force: true })
    mkdirSync(route, { recursive: true })
    copyFileSync(join(project, 'app/next-route.js'), join(route, 'route.js'))
    const configuration = { serverExternalPackages, turbopack: { root: project } }
    writeFileSync(join(project, 'next/next.config.mjs'), `export default ${JSON.stringify(configuration)}`)
    node(join(project, 'next'), '../node_modules/next/dist/bin/next', 'build')
    const answer = readFileSync(join(project, 'next/.next/server/app/run.body'), 'utf8')
    expect(JSON.parse(answer)).toEqual({ executed: true, value: 'ran' })
    const chunks = join(project, 'next/.next/server/chunks')
    const ours = readdirSync(chunks, { recursive: true, encoding: 'utf8' }).filter(
      (file) =>
        file.endsWith('.js') &&
        readFileSync(join(chunks, file), 'utf8').includes('shedlock-orm:lock-attempt'),
    )
    expect(ours.length > 0).toBe(bundled)
  })
})
