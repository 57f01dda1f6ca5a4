import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { prismaMigration, prismaModel } from '../../../src/prisma/prisma-model'
import { root } from '../../project'
import { runCli, saying, type Texts } from '../built-cli'

export const TYPEORM = packageWith({ typeorm: '^1.1.1', typescript: '^6.0.0' })
export const PRISMA = packageWith({ '@prisma/client': '^7.10.0' })

export function packageWith(dependencies: Texts, rest: object = {}): string {
  return JSON.stringify({ dependencies: { 'shedlock-orm': '^0.1.0', ...dependencies }, ...rest })
}

function contentsOf(folder: string): Texts {
  // Prisma keeps its config compiled.
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.parentPath.includes('node_modules/.cache'),
  )
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [path.slice(folder.length + 1), readFileSync(path, 'utf8')]
    }),
  )
}

/** Runs the command and returns what it added, by the names of files without their dates. It never changes what was there. */
export async function init(cwd: string, ...args: string[]) {
  const before = contentsOf(cwd)
  const { status, stdout, stderr } = await runCli(['init', ...args], { cwd })
  const after = contentsOf(cwd)
  const undated = (name: string): string => name.replace(/\d{13,14}/g, 'DATE')
  const changed = Object.entries(after).filter(([name, text]) => before[name] !== text)
  for (const [name, text] of Object.entries(before)) expect(after[name]?.startsWith(text)).toBe(true)
  const added = Object.fromEntries(
    changed.map(([name, text]) => [undated(name), undated(text.slice((before[name] ?? '').length))]),
  )
  return { status, stdout, stderr, added, names: changed.map(([name]) => name) }
}

/** Matches a run that wrote nothing, and says why. */
export const refused = (why: RegExp | string): unknown =>
  expect.objectContaining({ status: 2, names: [], stdout: '', stderr: saying(why) })

export function tsc(cwd: string): string {
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc')
  return spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json'], { cwd, encoding: 'utf8' }).stdout
}

/** The date of an old migration of TypeORM. */
export const OLD = '1715028537217'

export const SCHEMA = `generator client {
  provider = "prisma-client"
}

datasource db {
  provider = "postgresql"
  // url = env("OLD_URL")
  url      = env("POSTGRES_URL")
}
`
/** As Prisma 7 wants it. */
export const VALID = SCHEMA.replace(/ *(\/\/ )?url .*\n/g, '').replace(
  'prisma-client"',
  'prisma-client"\n  output = "../client"',
)
export const USER = '\nmodel User {\n  id Int @id\n}\n'
export const MIGRATION = 'migrations/DATE_create_shedlock/migration.sql'
export const USUAL = 'prisma/schema.prisma'
export const LOCK_FILE = 'prisma/migrations/migration_lock.toml'
export const LOCK = 'provider = "postgresql"\n'
export const MODEL = prismaModel('postgresql')
export const SQL = prismaMigration('postgresql')
