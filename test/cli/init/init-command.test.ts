import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { read } from '../../project'
import { project, type Texts } from '../built-cli'
import { init, OLD, packageWith, refused, SCHEMA, TYPEORM, USER, USUAL } from './init-project'

const NEST = { typeorm: '1', '@nestjs/schedule': '6' }
const NAMES_YARN = { 'package.json': packageWith(NEST, { packageManager: 'yarn@4.1.0' }) }
const AT_ROOT = { 'package.json': packageWith(NEST, { workspaces: ['*'] }) }

describe('shedlock-orm init', () => {
  it('asks to be run where the schema is, and names the package with the jobs there', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['packages/*'], devDependencies: { prisma: '7' } }),
      'packages/db/package.json': '{"dependencies":{"@prisma/client":"7","prisma":"7"}}',
      'packages/db/prisma/schema.prisma': SCHEMA,
      'packages/db/prisma/models/user.prisma': USER,
      'packages/client/package.json': packageWith({ '@prisma/client': '7' }),
      'packages/jobs/package.json': '{"dependencies":{"@prisma/client":"7","node-cron":"3.0.3"}}',
      'packages/web/package.json': packageWith({ croner: '10' }),
    })
    const run = (...path: string[]) => init(join(folder, ...path))
    expect(await run()).toEqual(refused('that of a package – run this command in packages/db.'))
    for (const each of ['client', 'jobs'])
      expect(await run('packages', each)).toEqual(
        refused('but ../db/prisma/schema.prisma – run `npx shedlock-orm init prisma` where you run'),
      )
    const { status, stdout, stderr, added } = await run('packages/db')
    expect(status).toBe(0)
    expect(stdout).toContain(
      'Install:\n\n   npm install shedlock-orm\n   (cd ../jobs && npm install shedlock-orm)\n',
    )
    expect(Object.keys(added)).toContain(USUAL)
    expect(stderr).toContain('postgresql in prisma/schema.prisma, node-cron 3.0.3, in ../jobs\n')
    expect(stderr).toContain('there may be jobs in ../web (croner), too\n')
    expect(stdout).toMatch(/is to run, in \.\.\/jobs; .*const \{ schedule \} = require\('node-cron'/s)
  })

  it('says that the package with the jobs needs this one too, if none is known', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['*'] }),
      'db/package.json': packageWith({ '@prisma/client': '7' }),
      'db/prisma/schema.prisma': SCHEMA,
      'web/package.json': '{"dependencies":{"next":"16"}}',
    })
    const says =
      'is to run (see docs/schedulers.md#slots, docs/guides/recipes.md#queues, docs/cli.md#shedlock-orm-exec, docs/guides/failover.md#serverless-functions, docs/guides/recipes.md#nextjs-nuxt-monorepos in the repository); if it is in another package, install shedlock-orm there;'
    expect((await init(join(folder, 'db'))).stdout).toContain(says)
    const alone = project({ 'package.json': packageWith({ '@prisma/client': '7' }), [USUAL]: SCHEMA })
    expect((await init(alone)).stdout).toContain(
      'is to run (see docs/schedulers.md#slots, docs/guides/recipes.md#queues, docs/cli.md#shedlock-orm-exec, docs/guides/failover.md#serverless-functions in the repository); let each',
    )
  })

  it('installs the package where the command runs, if that with the jobs has it', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['*'] }),
      'db/package.json': '{"dependencies":{"typeorm":"1"}}',
      'jobs/package.json': packageWith({ croner: '10' }),
    })
    expect((await init(join(folder, 'db'))).stdout).toContain(
      '1. Install:\n\n   npm install shedlock-orm\n\n2.',
    )
  })

  it('shows the scheduler of the package itself, and names all others', async () => {
    const folder = project({
      'package.json': packageWith({ 'node-cron': '4.0.0' }, { workspaces: ['*'] }),
      'a/package.json': packageWith({ typeorm: '1', cron: '3.5.0', 'toad-scheduler': '4.1.0' }),
      'b/package.json': packageWith({ cron: '2.4.4' }),
      'c/package.json': '{}',
      'c/vercel.json': '{"crons":[{"path":"/x"}]}',
    })
    const { stdout, stderr } = await init(join(folder, 'a'))
    expect(stdout).toContain("require('cron')")
    expect(stderr).toContain('cron 3.5.0 and toad-scheduler 4.1.0, of which the first is shown\n')
    expect(stderr).toContain('jobs in .. (node-cron), ../b (cron), ../c (routes called as jobs), too\n')
  })

  it.each<[string, Texts, string]>([
    ['npm', { 'package-lock.json': '', '../yarn.lock': '' }, 'npm install'],
    ['Yarn', { '../yarn.lock': '', '../package.json': '{"workspaces":["app"]}' }, 'yarn add'],
    ['Bun', { 'bun.lock': '' }, 'bun add'],
    ['Bun, beside what npm left', { 'bun.lockb': '', 'package-lock.json': '' }, 'bun add'],
    ['pnpm', { '../package.json': '{"workspaces":["app"],"packageManager":"pnpm@10.1.0"}' }, 'pnpm add'],
    ['Yarn, beside a workspace', { 'yarn.lock': '', '../pnpm-workspace.yaml': 'packages: [ui]' }, 'yarn add'],
    ['Bun, in a workspace of pnpm', { 'bun.lock': '', 'pnpm-workspace.yaml': '' }, 'bun add'],
    [
      'the one that package.json names, beside the file of another',
      { 'pnpm-lock.yaml': '', '../package.json': '{"workspaces":["app"]}', ...NAMES_YARN },
      'yarn add',
    ],
    ['pnpm, without its lock file', { '../pnpm-workspace.yaml': '' }, 'pnpm add'],
    ['pnpm, at the root', { 'pnpm-lock.yaml': '', 'pnpm-workspace.yaml': '' }, 'pnpm add -w'],
    ['Yarn 1, at the root', { 'yarn.lock': '# yarn lockfile v1', ...AT_ROOT }, 'yarn add -W'],
    ['a later Yarn, at the root', { 'yarn.lock': '__metadata:', ...AT_ROOT }, 'yarn add'],
  ])('installs with the package manager of the project: %s', async (_, files, adds) => {
    const paths = Object.entries(files).map(([file, text]) => [join('app', file), text] as const)
    const folder = project({ 'app/package.json': packageWith(NEST), ...Object.fromEntries<string>(paths) })
    expect((await init(join(folder, 'app'))).stdout).toContain(`1. Install:\n\n   ${adds} cron\n`)
  })

  it.each([
    ['package-lock.json', 'npm'],
    ['yarn.lock', 'yarn'],
  ])('says that there is a %s, too', async (lock, manager) => {
    const files = { 'package.json': TYPEORM, [lock]: '' }
    const says = `there is a ${lock}, too: if your deployments use ${manager}, install with it\n`
    expect((await init(project({ ...files, 'pnpm-lock.yaml': '' }))).stderr).toContain(says)
    expect((await init(project(files))).stderr).not.toContain(says)
  })

  it('knows TypeORM also by the package of Nest', async () => {
    const folder = project({ 'package.json': packageWith({ '@nestjs/typeorm': '11' }) })
    expect((await init(folder)).stdout).toMatch(
      /require\('shedlock-orm\/typeorm'\)[^]*require\('shedlock-orm\/typeorm'\)/,
    )
  })

  it('names a package that is too old', async () => {
    const nest = { '@nestjs/core': '9.4.3', '@nestjs/schedule': '3.0.4' }
    const old = { typeorm: '0.2.45', ...nest, 'node-cron': '4.0.0', typescript: '4.7.3' }
    const installed: Texts = Object.fromEntries(
      Object.entries(old).map(([name, version]) => [
        `node_modules/${name}/package.json`,
        `{"version":"${version}"}`,
      ]),
    )
    // A range alone does not say which version it is.
    const files = { 'package.json': packageWith({ ...old, croner: '^8.0.0' }) }
    const { stderr } = await init(project({ ...files, ...installed }))
    const found = stderr.match(/[^ ]+ [\d.]+ is too old: .*$/gm)
    expect(found?.map((each) => each.replace(' (docs/works-with.md), and run this again', ''))).toEqual([
      '@nestjs/core 9.4.3 is too old: update it to 10.0.0 or later',
      'typeorm 0.2.45 is too old: update it to 0.3.20 or later',
      'typescript 4.7.3 is too old: update it to 5.2 or later',
      '@nestjs/schedule 3.0.4 is too old: update it to 4 or later',
    ])
    // It compiles without a look at our declarations.
    const skips = { 'tsconfig.json': '{ "compilerOptions": { "skipLibCheck": true } }' }
    expect((await init(project({ ...files, ...installed, ...skips }))).stderr).not.toContain('typescript 4')
  })

  it('asks to be run where the migrations are', async () => {
    const folder = project({
      'package.json': JSON.stringify({ workspaces: ['*'] }),
      'jobs/package.json': TYPEORM,
      'web/package.json': packageWith({ croner: '10' }),
      [`db/migrations/${OLD}-A.ts`]: '',
    })
    expect((await init(join(folder, 'web'))).stderr).toContain('an ORM in ../jobs: run the command where')
    expect(await init(join(folder, 'jobs'))).toEqual(
      refused(
        'no migrations here, but in ../db/migrations – run this command in the package that has them, or name them with --migrations.',
      ),
    )
  })

  it.each<[string, Texts, boolean]>([
    ['of Nx', { 'package.json': packageWith({ typeorm: '1' }), 'nx.json': '{}' }, true],
    ['in a folder above that is no workspace', { 'package.json': packageWith({ typeorm: '1.1.1' }) }, false],
  ])('finds the packages that the root names, %s', async (_, files, finds) => {
    const nest = { '@nestjs/core': '11', '@nestjs/schedule': '5' }
    const folder = project({ ...files, 'apps/api/package.json': packageWith(nest) })
    const { status, stdout } = await init(join(folder, 'apps/api'))
    expect(status).toBe(finds ? 0 : 2)
    if (finds) expect(stdout).toMatch(/SchedulerRegistry, see docs\/nestjs\.md .*ShedLockModule/s)
  })

  it('knows the scheduler of the root, if a library of a monorepo has only the schema, and names that', async () => {
    const nest = { '@prisma/client': '6.19.0', '@nestjs/core': '11', '@nestjs/schedule': '6' }
    const folder = project(
      {
        'package.json': packageWith(nest),
        'libs/database/package.json': packageWith({ tslib: '2' }),
        'libs/database/prisma/schema.prisma': SCHEMA,
      },
      '@nestjs/schedule',
    )
    const { stdout } = await init(folder)
    expect(stdout).toContain('ShedLockModule')
    expect(stdout).toMatch(
      /deploy (--schema libs\/database\/prisma\/schema\.prisma) && npx prisma generate \1\n/,
    )
    const { dependencies } = JSON.parse(read('node_modules/@nestjs/schedule/package.json')) as {
      dependencies: Texts
    }
    const installs = `npm install -E cron@${dependencies['cron']}\n`
    expect(stdout).toContain(installs)
    const having = async (cron: string) =>
      init(project({ 'package.json': packageWith({ ...nest, cron }), [USUAL]: SCHEMA }, '@nestjs/schedule'))
    expect((await having('2.2.0')).stdout).toContain(installs)
    expect((await having(dependencies['cron'] ?? '')).stdout).not.toContain('npm install -E')
  })

  it('prints commands for the table of these names', async () => {
    const columns = ['name=job name', 'lockUntil=until'].flatMap((each) => ['--column-names', each])
    const names = ['--schema', 'ops', '--table-name', 'locks', ...columns]
    const { stdout } = await init(project({ 'package.json': TYPEORM }), ...names)
    const flags =
      "--schema ops --table-name locks --column-names 'name=job name' --column-names lockUntil=until"
    expect(stdout).toContain(`shedlock-orm sql <database> ${flags}\``)
    expect(stdout).toContain(`shedlock-orm doctor ${flags}\n`)
  })

  it('prints how to install a driver for the command line, if Prisma has none', async () => {
    const files = { 'package.json': packageWith({ '@prisma/client': '6.9.0' }), [USUAL]: SCHEMA }
    const install =
      /connection, with POSTGRES_URL set .*:\n\n +npm install -D pg\n +npx shedlock-orm doctor\n/
    expect((await init(project(files))).stdout).toMatch(install)
    expect((await init(project(files, 'pg'))).stdout).not.toContain('npm install -D')
    const adapter = { 'package.json': packageWith({ '@prisma/client': '7', '@prisma/adapter-pg': '7' }) }
    expect((await init(project({ ...files, ...adapter }))).stdout).not.toContain('npm install -D')
    // It has that of one of its databases.
    const mysql = { [USUAL]: SCHEMA.replace('postgresql', 'mysql') + USER, 'db/schema.prisma': SCHEMA + USER }
    const both = await init(project({ ...files, ...mysql }, 'pg'))
    expect(both.stdout).not.toContain('npm install -D')
    // The version that is tested: the next one needs another Node.js.
    const file = { ...files, [USUAL]: SCHEMA.replace('postgresql', 'sqlite') }
    expect((await init(project(file))).stdout).toContain(' npm install -D better-sqlite3@12\n')
    // TypeORM's drivers are not all among those of the command line.
    const app = { 'package.json': packageWith({ typeorm: '1.1.1', mysql: '2' }), 'a.ts': "type: 'mysql'" }
    expect((await init(project(app))).stdout).toContain(' npm install -D mysql2\n')
    expect((await init(project(app, 'mysql2'))).stdout).not.toContain('npm install -D')
  })
})
