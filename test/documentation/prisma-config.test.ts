import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { root } from '../project'
import { temporaryFolder } from '../temporary-folder'
import { programs } from './programs'

const config = programs('docs/prisma.md').find(({ text }) => text.includes('externalTables'))
const LOAD = `const { loadConfigFromFile } = require('@prisma/config')
loadConfigFromFile({ configRoot: process.cwd() }).then(({ config, error }) => {
  if (error) throw new Error(JSON.stringify(error))
  console.log(JSON.stringify([config.tables, config.migrations.initShadowDb.includes('shedlock')]))
})`

it('Prisma reads what docs/prisma.md says of an external table, beside the file that `prisma init` writes', () => {
  const folder = temporaryFolder(join(root, '.programs-'))
  // As `prisma init` of 7.10 names it. Without what the page adds, Prisma drops the table.
  writeFileSync(join(folder, 'prisma7.config.ts'), "export default { schema: 'prisma/schema.prisma' }")
  const table = join(folder, 'node_modules/shedlock-orm/migrations/postgres')
  mkdirSync(table, { recursive: true })
  writeFileSync(join(table, 'up.sql'), 'create table shedlock')
  writeFileSync(join(folder, config?.file ?? ''), config?.text ?? '')

  const env = { ...process.env, DATABASE_URL: 'postgres://127.0.0.1/app' }
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', LOAD], { cwd: folder, env, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual([{ external: ['public.shedlock'] }, true])
})
