import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { installInto, manifest, node, packInto, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const app = join(folder, 'app')
const dist = join(app, 'node_modules', manifest.name, 'dist')

beforeAll(() => {
  installInto(app, packInto(folder))
}, 120_000)

const read = (path: string): string => readFileSync(path, 'utf8')
const lineOf = (path: string, line: number): string => read(path).split('\n')[line] ?? ''

test.each(['.js', '.mjs', '.d.ts'])('each %s has a map to a source that is installed with it', (ending) => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    // The command line is one file with its argument parser inside.
    (file) => file.endsWith(ending) && !file.startsWith('cli'),
  )
  expect(files).not.toEqual([])
  for (const file of files.map((name) => join(dist, name))) {
    const { sources } = JSON.parse(read(`${file}.map`)) as SourceMapPayload
    expect({ file, sources }).not.toEqual({ file, sources: [] })
    expect(sources.filter((source) => !existsSync(join(dirname(file), source)))).toEqual([])
  }
})

test.each([
  { format: 'CommonJS', type: 'commonjs', load: 'require' },
  { format: 'ES module', type: 'module', load: 'await import' },
])('a stack trace names the line of the source that threw: $format', ({ type, load }) => {
  const script = `try { (${load}('${manifest.name}')).assertLocked() } catch (error) { console.log(error.stack) }`
  const stack = node(app, '--enable-source-maps', `--input-type=${type}`, '-e', script)
  const [, file = '', line] = /\((.*scope\.ts):(\d+):\d+\)/.exec(stack) ?? []
  expect({ stack, file }).not.toEqual({ stack, file: '' })
  expect(lineOf(file, Number(line) - 1)).toContain('throw new LockError')
})

test('"go to definition" leads from the declaration to the source', () => {
  const file = join(dist, 'core/locking-task-executor.d.ts')
  const declared = 'export declare class '
  const line = read(file)
    .split('\n')
    .findIndex((text) => text.startsWith(declared))
  const map = new SourceMap(JSON.parse(read(`${file}.map`)) as SourceMapPayload)
  const { originalSource, originalLine } = map.findEntry(line, declared.length) as {
    originalSource: string
    originalLine: number
  }
  expect(lineOf(join(dirname(file), originalSource), originalLine)).toContain('class LockingTaskExecutor')
})
