import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { dialects } from '../../src/sql/dialects'
import { read } from '../project'
import { temporaryFolder } from '../temporary-folder'
import { runCli } from './built-cli'

const folder = temporaryFolder()

describe('shedlock-orm sql', () => {
  it.each(Object.keys(dialects))('prints the migration of %s', async (dialect) => {
    const file = (name: string): string => read(`migrations/${dialect}/${name}`)
    expect(await runCli(['sql', dialect])).toMatchObject({ status: 0, stdout: file('up.sql'), stderr: '' })
    expect((await runCli(['sql', dialect, '--down'])).stdout).toBe(file('down.sql'))
  })

  it.each([
    ['postgresql', 'postgres'],
    ['pg', 'postgres'],
    ['mysql2', 'mysql'],
    ['sqlserver', 'mssql'],
  ])('takes %s for %s', async (alias, name) => {
    const known = await runCli(['sql', name])
    expect(known.status).toBe(0)
    expect(await runCli(['sql', alias])).toEqual(known)
  })

  it('quotes the names that it is given', async () => {
    const columns = ['lockUntil=until', 'lockedBy=who "it" is'].flatMap((name) => ['--column-names', name])
    const names = ['--schema', 'app', '--table-name', 'a`; drop', ...columns]
    const { stdout } = await runCli(['sql', 'mysql', ...names])
    expect(stdout).toContain('`until` ')
    expect(stdout).toContain('create table if not exists `app`.`a``; drop` (')
    expect(stdout).toContain('`who "it" is` varchar(255) not null')
  })

  it('writes to a file, but not over one that is there', async () => {
    const file = join(folder, 'new/V1__shedlock.sql')
    expect(await runCli(['sql', 'sqlite', '--out', file])).toMatchObject({ status: 0, stdout: '' })
    writeFileSync(file, 'mine')
    expect((await runCli(['sql', 'sqlite', '--out', file])).status).toBe(2)
    expect(readFileSync(file, 'utf8')).toBe('mine')
  })
})

it('names are printed that code needs too', async () => {
  const { stderr } = await runCli(['sql', 'mysql', '--table-name', 'job_locks'])
  expect(stderr).toBe(
    "shedlock-orm: use the same names in code: the lock provider ({ tableName: 'job_locks' })\n",
  )
  expect(await runCli(['sql', 'mysql'])).toMatchObject({ status: 0, stderr: '' })
})

it('shedlock-orm --help prints the exit statuses and the version', async () => {
  expect((await runCli(['--help'])).stdout).toMatch(/Exit status:\n {2}0 /)
  const { version } = JSON.parse(read('package.json')) as { version: string }
  expect((await runCli(['--version'])).stdout).toBe(`${version}\n`)
})
