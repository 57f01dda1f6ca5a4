import { execFile } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { installed, node, tarball, temporaryFolder } from '../packed-package'
import { createDatabase } from './database'
import { PLATFORM } from './other-node'
import { newProject } from './project'

/** The candidate that the notes in docs/maintainers/prisma-8.md are about; it wants Node.js 22.18 or later. */
const PRISMA_8 = '8.0.0-rc.13'
const PACKAGES = [`@prisma/orm-postgres@${PRISMA_8}`, 'pg@8', '@types/pg@8', `node-${PLATFORM}@22`]
const TIME_LIMIT = 400_000

const project = join(temporaryFolder(), 'prisma-8')
const fixtures = join(__dirname, 'fixtures', 'prisma8')

async function run(url: string, ...args: string[]): Promise<string> {
  const program = join(project, 'node_modules', `node-${PLATFORM}`, 'bin', 'node')
  const options = { cwd: project, env: { ...process.env, DATABASE_URL: url }, timeout: TIME_LIMIT }
  const { stdout } = await promisify(execFile)(program, args, options)
  return stdout
}

async function writeContract(): Promise<void> {
  const command = ['node_modules/shedlock-orm/dist/cli/shedlock.js', 'init', 'prisma-8']
  const otherNames = ['--schema', 'app', '--table-name', 'Locks', '--column-names', 'lockUntil=until']
  writeFileSync(join(project, 'contract.prisma'), '// use prisma-8\n')
  await run('', ...command)
  await run('', ...command, ...otherNames)
  copyFileSync(join(fixtures, 'emit-contract.mjs'), join(project, 'emit-contract.mjs'))
  await run('', 'emit-contract.mjs')
}

describe(`Prisma ${PRISMA_8} with PostgreSQL`, () => {
  beforeAll(async () => {
    newProject(project, [tarball, ...PACKAGES], [], 'module')
    await writeContract()
  })

  test('its client fits the types, and a transaction of it does not', () => {
    copyFileSync(join(fixtures, 'types.ts'), join(project, 'types.ts'))
    const compilerOptions = {
      ...{ module: 'nodenext', target: 'es2022', lib: ['esnext'], strict: true, noEmit: true },
      ...{ skipLibCheck: true, types: ['node'], typeRoots: [installed('@types')] },
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }))
    node(project, installed('typescript/bin/tsc'), '-p', 'tsconfig.json')
  })

  test('passes the suite on Node.js 22', async () => {
    await build({
      ...{ entryPoints: [join(fixtures, 'suite.ts')], outfile: join(project, 'suite.mjs'), bundle: true },
      ...{ platform: 'node', format: 'esm', target: 'node22', packages: 'external' },
      // Not our own tsconfig.json: it says that shedlock-orm is in src.
      ...{ external: ['./contract.json'], tsconfigRaw: {} },
      // Of modules that install servers, which are not started here. There is none in an ES module.
      define: { __dirname: '"."' },
    })
    await run(await createDatabase(), 'suite.mjs')
    const outcomes = JSON.parse(readFileSync(join(project, 'outcomes.json'), 'utf8')) as { failed?: string }[]
    console.log(`Prisma ${PRISMA_8}: ${outcomes.length} cases were run`)
    expect(outcomes.filter(({ failed }) => failed !== undefined)).toEqual([])
    expect(outcomes.length).toBeGreaterThan(64)
  })
})
