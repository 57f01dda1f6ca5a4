import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

interface Program {
  /** The heading under which its blocks stand. */
  readonly heading: string
  readonly file: string
  readonly text: string
  /** Whether it is a program to run: not if it is a file for others to import, or marked `ts no-run`. */
  readonly run: boolean
}

/** The `ts` blocks under one heading are one program; a block that begins with `// name.ts` is a file of that name. */
function programs(document: string): Program[] {
  const markdown = readFileSync(join(root, document), 'utf8')
  return markdown.split(/^(?=## )/m).flatMap((section, index) => {
    const heading = /^## (.*)/.exec(section)?.[1] ?? 'top'
    const blocks = [...section.matchAll(/^```ts( no-run)?\n(.*?)^```$/gms)].map(([, mark, text = '']) => ({
      file: /^\/\/ (\S+\.ts)$/m.exec(text.split('\n', 1)[0] ?? '')?.[1],
      run: mark === undefined,
      text,
    }))
    const files = blocks.flatMap(({ file, text }) => (file ? [{ heading, file, text, run: false }] : []))
    const main = blocks.filter(({ file }) => file === undefined)
    if (main.length === 0) return files
    const text = main.map((block) => block.text).join('\n')
    return [
      ...files,
      {
        ...{ heading: `${document}: ${heading}`, text },
        file: `${basename(document, '.md')}-${index}.mts`,
        run: main.every(({ run }) => run),
      },
    ]
  })
}

const root = dirname(__dirname)
const all = ['README.md', 'docs/tasks.md'].flatMap(programs)
let folder: string

function node(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
}

beforeAll(() => {
  // Inside of the project, so that what the programs import is found.
  folder = mkdtempSync(join(root, '.readme-'))
  for (const { file, text } of all) writeFileSync(join(folder, file), text)
  // What `prisma generate` makes for a user.
  mkdirSync(join(folder, 'generated'))
  symlinkSync(join(root, 'test/prisma/generated/sqlite'), join(folder, 'generated/prisma'))
  const compilerOptions = {
    module: 'esnext',
    moduleResolution: 'bundler',
    experimentalDecorators: true,
    allowImportingTsExtensions: true,
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../tsconfig.json', compilerOptions, files: all.map(({ file }) => file) }),
  )
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

test('the documents have programs, and they compile', () => {
  expect(all.filter(({ run }) => run).length).toBeGreaterThan(1)
  node(join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json')
}, 300_000)

test.each(all.filter(({ run }) => run))('$heading: it runs', ({ file }) => {
  // A scheduler would keep it running; what matters is that it gets to its last line.
  writeFileSync(join(folder, 'run.mts'), `await import('./${file}')\nprocess.exit()\n`)
  node('--import', 'tsx', 'run.mts')
})
