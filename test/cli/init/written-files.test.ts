import { spawnSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../../project'
import { temporaryFolder } from '../../temporary-folder'
import { failed, project, runCli, type Texts } from '../built-cli'
import { init, MIGRATION, MODEL, OLD, PRISMA, SCHEMA, tsc, TYPEORM, USER, USUAL, VALID } from './init-project'

/** Root may read and write everything, unless it gives that up. */
const AS_USER = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []

describe('what shedlock-orm init writes is valid', () => {
  it.each<[string, string, Texts, string[]?]>([
    ['PostgreSQL', USUAL, {}],
    ['without a line end', USUAL, { [USUAL]: (VALID + USER).trimEnd() }],
    ['with line ends of Windows', USUAL, { [USUAL]: VALID.replaceAll('\n', '\r\n') }],
    ['with a comment at the end', USUAL, { [USUAL]: `${VALID}/* ${MODEL}*/ // model ShedLock {` }],
    ['in a folder', 'prisma/schema', { 'prisma/schema/a.prisma': VALID, 'prisma/schema/b.prisma': USER }],
    [
      'in a schema of the database',
      USUAL,
      { [USUAL]: VALID.replace('"postgresql"', '"postgresql"\n  schemas = ["public", "ops"]') },
      ['--schema', 'ops', '--column-names', 'lockUntil=until "it" ends'],
    ],
    ...['mysql', 'sqlite', 'sqlserver', 'cockroachdb'].map((provider): [string, string, Texts] => [
      provider,
      USUAL,
      { [USUAL]: VALID.replace('postgresql', provider) },
    ]),
  ])('to Prisma: %s', async (_, schema, files, args = []) => {
    const folder = project({ 'package.json': PRISMA, [USUAL]: VALID, ...files })
    if (schema === 'prisma/schema') rmSync(join(folder, USUAL))
    expect((await init(folder, ...args)).status).toBe(0)
    const command = [require.resolve('prisma/build/index.js'), 'validate', '--schema', schema]
    // Without an engine, which it does not need for this.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
    const { stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, env, encoding: 'utf8' })
    expect(stdout + stderr).toMatch(/(is|are) valid/)
  })

  it('to the compiler, in the strictest project', async () => {
    const folder = temporaryFolder(join(root, '.programs-'))
    const options = ['--schema', "o'ps", '--table-name', 'a "b" `c`', '--column-names', 'lockUntil=until']
    for (const [index, args] of [[], options].entries()) {
      const written = project({ 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '' })
      const [file = ''] = (await init(written, ...args)).names
      writeFileSync(join(folder, `${index}.ts`), readFileSync(join(written, file)))
    }
    const compilerOptions = { noImplicitOverride: true, noEmit: true }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: ['*.ts'] }),
    )
    expect(tsc(folder)).toBe('')
  })
})

describe('shedlock-orm init on files', () => {
  it.each<[string, Texts, string]>([
    ['TypeORM', { 'package.json': TYPEORM, [`db/${OLD}-A.ts`]: '' }, 'wrote db/'],
    ['Prisma', { 'package.json': PRISMA, [USUAL]: SCHEMA + USER }, 'added the model to prisma/'],
  ])('leaves out what it may not read, with %s', async (_, files, says) => {
    const folder = project({ ...files, 'data/x.prisma': '', 'secret.ts': '' })
    chmodSync(join(folder, 'data'), 0)
    chmodSync(join(folder, 'secret.ts'), 0)
    const { status, stderr } = await runCli(['init'], { cwd: folder, under: AS_USER })
    chmodSync(join(folder, 'data'), 0o755)
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(says) })
  })

  it('can be repeated after a folder was read-only', async () => {
    const folder = project({ 'package.json': PRISMA, [USUAL]: SCHEMA })
    const migrations = join(folder, 'prisma/migrations')
    mkdirSync(migrations)
    chmodSync(migrations, 0o555)
    expect(await runCli(['init'], { cwd: folder, under: AS_USER })).toEqual(
      failed(2, /added the model.*\n.*cannot be written/),
    )
    chmodSync(migrations, 0o755)
    expect(Object.keys((await init(folder)).added)).toContain(`prisma/${MIGRATION}`)
    expect((await init(folder)).added).toEqual({})
  })

  it('follows a link to a schema, and none that leads in a circle', async () => {
    const folder = project({ 'package.json': PRISMA, 'db/schema.prisma': SCHEMA + USER })
    mkdirSync(join(folder, 'app'))
    symlinkSync('..', join(folder, 'app/up'))
    symlinkSync('gone', join(folder, 'app/gone'))
    symlinkSync('self', join(folder, 'app/self'))
    mkdirSync(join(folder, 'prisma'))
    symlinkSync('../db/schema.prisma', join(folder, USUAL))
    const { status, stderr } = await init(folder)
    expect(status).toBe(0)
    expect(stderr).not.toMatch(/app\/|left as it is/)
    expect(readFileSync(join(folder, 'db/schema.prisma'), 'utf8')).toContain(MODEL)
    expect(lstatSync(join(folder, USUAL)).isSymbolicLink()).toBe(true)
    expect((await init(folder)).added).toEqual({})
  })
})
