import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { installInto, manifest, node, packInto, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const app = join(folder, 'app')
const dist = join(app, 'node_modules', manifest.name, 'dist')

beforeAll(() => {
  installInto(app, packInto(folder))
}, 120_000)

const read = (path: string): string => readFileSync(path, 'utf8')
const lineOf = (path: string, line: number): string => read(path).split('\n')[line] ?? ''

test.each(['.js', '.d.ts'])('each %s has a map to a source that is installed with it', (ending) => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    // The command line is one file with its argument parser inside.
    (file) => file.endsWith(ending) && !file.startsWith('cli'),
  )
  expect(files).not.toEqual([])
  for (const file of files.map((name) => join(dist, name))) {
    const { sources } = JSON.parse(read(`${file}.map`)) as SourceMapPayload
    expect(sources, file).not.toEqual([])
    for (const source of sources) expect(existsSync(join(dirname(file), source)), source).toBe(true)
  }
})

test('a stack trace names the line of the source that threw', () => {
  const script = `try { require('${manifest.name}').assertLocked() } catch (error) { console.log(error.stack) }`
  const stack = node(app, '--enable-source-maps', '-e', script)
  const [, file = '', line] = /\((.*active-lock\.ts):(\d+):\d+\)/.exec(stack) ?? []
  expect(file, stack).not.toBe('')
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
