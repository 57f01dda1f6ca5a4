import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { SchedulerName } from '../../../src/cli/init/usage'
import { read, root } from '../../project'
import { temporaryFolder } from '../../temporary-folder'
import { project, type Texts } from '../built-cli'
import { init, packageWith, SCHEMA, tsc, USER, USUAL } from './init-project'

/** What the printed lines take for granted, and the types of packages that are not installed here. */
const TAKEN_FOR_GRANTED = `import type { DataSource } from 'typeorm'
import type { Cron as CronOfNest } from '@nestjs/schedule'
import type { PrismaClientLike } from 'shedlock-orm/prisma'
import type { Prisma8ClientLike } from 'shedlock-orm/prisma-8'
declare global {
  const dataSource: DataSource
  const prisma: PrismaClientLike & { $disconnect(): Promise<void> }
  const db: Prisma8ClientLike
  const Cron: typeof CronOfNest
  const app: { enableShutdownHooks(): unknown }
}
`
const NODE_SCHEDULE = `declare module 'node-schedule' {
  export function scheduleJob(rule: string, callback: (fireDate: Date) => void): { cancel(): boolean }
}
`
const SCHEDULERS: Readonly<Record<SchedulerName, string>> = {
  'node-cron': '4.6.0',
  croner: '10.0.1',
  'node-schedule': '2.1.1',
  cron: '3.5.0',
  'toad-scheduler': '4.1.0',
  bree: '9.2.9',
  '@nestjs/schedule': '12.0.2',
}
/** What has jobs or signal handlers of its own, or none at all, and schedulers that are too old. */
const OTHERS: Texts = {
  ...{ none: '', next: '16.0.0', nuxt: '4.0.0', '@nestjs/core': '12.0.0' },
  ...{ cron: '2.4.4', croner: '5.0.0' },
}
/** Each ORM with what it needs in a project. */
const ORMS: readonly (readonly [dependencies: Texts, files: Texts])[] = [
  [{ typeorm: '1.1.1' }, {}],
  [{ '@prisma/client': '7.10.0' }, { [USUAL]: SCHEMA }],
  [{ '@prisma/orm-postgres': '8.0.0-rc.13' }, { 'contract.prisma': USER }],
]
const VERCEL = JSON.stringify({ crons: [{ path: '/api/report', schedule: '0 8 * * *' }] })

describe('the lines that shedlock-orm init prints', () => {
  const printed = async (dependencies: Texts, files: Texts): Promise<string> => {
    const folder = project({ 'package.json': packageWith(dependencies), ...files })
    const { stdout } = await init(folder, '--dry-run')
    const [, what = '', code = ''] =
      /\n\d\. ((?:Lock|Import)[^\n]*)\n\n(.*?)\n\n\d\. Check/s.exec(stdout) ?? []
    return `// ${what}\n${code.replace(/^ {3}/gm, '')}`
  }

  it('compile, for each ORM and scheduler, and name them, or a page that exists', async () => {
    const folder = temporaryFolder(join(root, '.programs-'))
    const cases = ORMS.flatMap(([orm, files]) => [
      ...[SCHEDULERS, OTHERS]
        .flatMap((each) => Object.entries(each))
        .map(([scheduler, version]) => ({
          ...{ orm, files, scheduler, version },
        })),
    ])
    const several = {
      ...{ orm: { typeorm: '1.1.1', '@nestjs/typeorm': '12' }, scheduler: '@nestjs/schedule', version: '12' },
      files: { 'a.ts': 'TypeOrmModule.forRoot(), TypeOrmModule.forRoot()' },
    }
    const programs = [...cases, several].map(async ({ orm, files, scheduler, version }, index) => {
      const nest = scheduler === '@nestjs/schedule' ? { '@nestjs/core': '12', cron: '4.4.0' } : {}
      const dependencies = { ...orm, ...nest, ...(version !== '' && { [scheduler]: version }) }
      const code = await printed({ ...dependencies, typescript: '6.0.3' }, files)
      const name = `${index}.mts`
      writeFileSync(join(folder, name), code)
      if (!code.includes('ShedLockModule')) expect(code).toContain('onError')
      const [, page, heading] = /see (docs\/[\w/-]+\.md)(?:#([\w-]+))?/.exec(code) ?? []
      if (page === undefined) expect(code).toMatch(new RegExp(`from '(${scheduler}|cron|croner)'`))
      else {
        const headings = [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => text.toLowerCase())
        const anchors = headings.map((text) => text.replace(/[^\w -]/g, '').replaceAll(' ', '-'))
        if (heading !== undefined) expect(anchors).toContain(heading)
      }
      return name
    })
    const written = await Promise.all(programs)
    writeFileSync(join(folder, 'globals.ts'), TAKEN_FOR_GRANTED)
    writeFileSync(join(folder, 'node-schedule.d.ts'), NODE_SCHEDULE)
    const compilerOptions = { module: 'esnext', moduleResolution: 'bundler', experimentalDecorators: true }
    const files = ['globals.ts', 'node-schedule.d.ts', ...written]
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [], files }),
    )
    expect(tsc(folder)).toBe('')
  })

  it('name the pages about routes that are called, and about what starts its code by itself', async () => {
    const withExpress = { '@prisma/client': '7.10.0', croner: '10.0.1' }
    const dependencies = { ...withExpress, next: '14.2.35' }
    const route = { 'src/app/api/cron/report/route.ts': '', [USUAL]: SCHEMA }
    const below = { 'app/api/posts/cron/report/route.ts': '', [USUAL]: SCHEMA }
    const inCode = {
      'vercel.ts': "export const config = { crons: [{ path: '/api/report' }] }",
      [USUAL]: SCHEMA,
    }
    for (const files of [{ 'vercel.json': VERCEL, [USUAL]: SCHEMA }, route, below, inCode]) {
      const code = await printed(dependencies, files)
      expect(code).toMatch(
        /as docs\/guides\/failover\.md#serverless-functions in the .* \(jobs that the app starts itself: docs\/guides\/recipes\.md#nextjs-nuxt-monorepos, docs\/schedulers\.md#slots\), with this executor;/,
      )
      expect(code).toMatch(/^new LockingTaskExecutor\(prismaLockProvider\(prisma\)\)$/m)
    }
    expect(await printed({ '@prisma/client': '7', next: '16' }, { ...route })).toContain('monorepos), with')
    expect(await printed(withExpress, route)).toContain("from 'croner'")
    // That of another package.
    const inPackage = { 'apps/web/app/api/cron/route.ts': '', [USUAL]: SCHEMA }
    expect(await printed(dependencies, inPackage)).toContain("from 'croner'")
    expect(await printed(withExpress, inCode)).toContain(
      '(jobs that the app starts itself: docs/schedulers.md#slots), with',
    )
    const started = await printed(dependencies, { [USUAL]: SCHEMA })
    expect(started).toContain('(see docs/guides/recipes.md#nextjs-nuxt-monorepos in the')
    expect(read('docs/guides/failover.md')).toContain('\n## Serverless functions\n')
    expect(read('docs/guides/recipes.md')).toContain('\n## Next.js, Nuxt, monorepos\n')
  })

  it('are those of the scheduler that the sources import, and say if they import none', async () => {
    const found = async (more: Texts, files: Texts): Promise<string> => {
      const manifest = packageWith({ typeorm: '1.1.1', ...more })
      const { stdout, stderr } = await init(project({ 'package.json': manifest, ...files }))
      expect(stdout.includes('to run (see docs/schedulers.md#slots, docs/guides/recipes.md#queues')).toBe(
        stderr.includes('no source'),
      )
      return /(?<=found TypeORM 1\.1\.1, ).*/.exec(stderr)?.[0] ?? ''
    }
    const both = { 'node-cron': '4.6.0', croner: '10.0.1' }
    const ofNest = { '@nestjs/schedule': '6.1.0', cron: '4.4.0' }
    expect(await found(ofNest, { 'a.ts': "from '@nestjs/schedule'", 'b.ts': "from 'cron'" })).toBe(
      '@nestjs/schedule 6.1.0',
    )
    expect(await found(both, { 'a.ts': 'import {\n  Cron\n} from "croner"' })).toBe(
      'croner 10.0.1 and node-cron 4.6.0, of which the first is shown',
    )
    expect(await found({ cron: '4.4.0' }, { 'a.ts': "type = 'cron'" })).toBe(
      'cron 4.4.0, which no source imports',
    )
    const called = { next: '16', croner: '10.0.1' }
    expect(await found(called, { 'vercel.json': VERCEL, 'a.js': "require('croner')" })).toBe(
      'routes called as jobs and croner 10.0.1, of which the first is shown',
    )
  })

  it('name the page about Nest, if another scheduler calls its jobs', async () => {
    const dependencies = { '@prisma/client': '7', '@nestjs/core': '12', 'node-cron': '4.6.0' }
    expect(await printed(dependencies, { [USUAL]: SCHEMA })).toContain('(see docs/nestjs.md in the')
  })

  it('are those of Nest also for its timers, and for routes that Vercel calls', async () => {
    const dependencies = { typeorm: '1.1.1', '@nestjs/core': '12', '@nestjs/typeorm': '12' }
    const code = await printed(dependencies, { 'vercel.json': VERCEL })
    expect(code).toMatch(/^ShedLockModule\.forRoot\(\{ lockProvider: typeOrmLockProvider \}\)$/m)
    expect(code).toMatch(/lockAtLeastFor: '14m' \}\)\n +async send.*app\.enableShutdownHooks/s)
    expect(code).not.toMatch(/@Cron\(|CronTime/)
    const withTimers = { ...dependencies, '@nestjs/schedule': '6' }
    const timers = { 'a.ts': '@Interval(1000)', 'b.ts': 'constructor(registry: SchedulerRegistry) {}' }
    for (const [file, text] of Object.entries(timers))
      expect(await printed(withTimers, { [file]: text })).toBe(code)
    expect(await printed(withTimers, { ...timers, 'c.ts': '@Cron(EVERY_HOUR)' })).toContain('CronTime')
  })

  it('leave the adapter of MariaDB to its page', async () => {
    const withAdapter = { '@prisma/client': '7.10.0', '@prisma/adapter-mariadb': '7.10.0' }
    const stdout = async (schema: string, dependencies: Texts = withAdapter) =>
      (await init(project({ 'package.json': packageWith(dependencies), [USUAL]: schema }))).stdout
    const says =
      'an adapter of its own, because that of MariaDB hides its settings (docs/prisma.md#mysql-and-mariadb).'
    const mysql = SCHEMA.replace('postgresql', 'mysql')
    expect(await stdout(mysql)).toContain(says)
    expect(await stdout(SCHEMA)).not.toContain(says)
    expect(await stdout(mysql, { '@prisma/client': '6' })).not.toContain(says)
    expect(read('docs/prisma.md')).toContain('\n## MySQL and MariaDB\n')
  })

  it('inject the client of Nest if there are others', async () => {
    const dependencies = { '@prisma/client': '7', '@nestjs/schedule': '6', typescript: '6' }
    const files = { 'a/a.prisma': SCHEMA, 'b/b.prisma': SCHEMA + USER }
    const folder = project({ 'package.json': packageWith(dependencies), ...files })
    // Two classes for one schema.
    const service = 'export class PrismaService extends PrismaClient {}'
    const two = { 'a.ts': service, 'admin/a.ts': service, 'prisma/schema.prisma': SCHEMA }
    expect(await printed(dependencies, two)).toContain('inject: [PrismaService]')
    expect((await init(folder, '--migrations', 'a/migrations')).stdout).toContain(
      `ShedLockModule.forRootAsync({
     inject: [PrismaService], // the service that is, or has, the client of this table
     useFactory: (client: PrismaService) => ({ lockProvider: prismaLockProvider(client), cronTime: CronTime }),
   })`,
    )
  })

  it('inject the DataSource of Nest by its name if there are several', async () => {
    const dependencies = {
      typeorm: '1.1.1',
      '@nestjs/typeorm': '12',
      '@nestjs/schedule': '6',
      typescript: '6',
    }
    const module = "TypeOrmModule.forRootAsync({ name: 'a' })"
    // Each application of a monorepo may have its own.
    for (const files of [{ 'a.ts': module }, { 'a.ts': module, 'b.ts': module }] as Texts[])
      expect(await printed(dependencies, files)).toContain('ShedLockModule.forRoot({ lockProvider: ty')
    const code = await printed(dependencies, { 'a.ts': module + module })
    expect(code).toContain(`import { getDataSourceToken } from '@nestjs/typeorm'
import type { DataSource } from 'typeorm'
`)
    expect(code).toContain(`ShedLockModule.forRootAsync({
  inject: [getDataSourceToken()], // with the name of the DataSource that has this table, if it has one
  useFactory: (client: DataSource) => ({ lockProvider: typeOrmLockProvider(client), cronTime: CronTime }),
})`)
  })

  it('do not import the DataSource of the command line, beside that of Nest', async () => {
    const files = { 'data-source.ts': 'export const own = new DataSource({})' }
    const code = await printed({ typeorm: '1.1.1', '@nestjs/typeorm': '12', croner: '10.0.1' }, files)
    expect(code).toContain('// and dataSource, your client\n')
    const service = 'export class PrismaService extends PrismaClient {}'
    const nest = { typeorm: '1.1.1', '@nestjs/typeorm': '12', '@nestjs/schedule': '6' }
    expect(await printed(nest, { 'a.ts': service, 'b.ts': `${service} // typeorm` })).toContain('forRoot({')
  })

  it.each<[string, Texts, string, string[]]>([
    ['of the DataSource that Nest knows', { '@nestjs/typeorm': '12' }, 'typeOrmLockProvider,', []],
    [
      'of that with names',
      { '@nestjs/typeorm': '12' },
      "(client) => typeOrmLockProvider(client, { tableName: 'x' }),",
      ['--table-name', 'x'],
    ],
    ['of the one that it does not know', {}, 'typeOrmLockProvider(mySource),', []],
  ])('give the module of Nest the provider %s', async (_, more, provider, args) => {
    const dependencies = { typeorm: '1.1.1', '@nestjs/schedule': '6', ...more }
    const files = { 'data-source.ts': 'export const mySource = new DataSource({})' }
    const folder = project({ 'package.json': packageWith(dependencies), ...files })
    const { stdout } = await init(folder, '--dry-run', ...args)
    expect(stdout).toContain(`lockProvider: ${provider} cronTime`)
    expect(stdout.includes('// and mySource, ')).toBe(provider.includes('mySource'))
  })

  it.each([
    ['node-cron', '3.0.3', /slot: slotOf,/],
    ['croner', '9.1.0', /slot: \(job\) => slotOf\(job\)/],
    ['node-schedule', '2.1.1', /slot: \(due\) => due/],
  ])('are JavaScript in a project without TypeScript: %s %s', async (scheduler, version, lines) => {
    const code = await printed({ typeorm: '1.1.1', [scheduler]: version }, {})
    expect(code).toMatch(lines)
    expect(code).toContain('await executor.shutdown() (docs/shutdown.md)')
    expect(code).toContain("require('shedlock-orm')")
    expect(code).not.toMatch(/^import /m)
    // The compiler only checks it, and reads a configuration.
    const checked = { typeorm: '1.1.1', [scheduler]: version, typescript: '6.0.3' }
    const files = { 'a.js': `require('${scheduler}')`, 'vitest.config.ts': '' }
    expect(await printed(checked, files)).toBe(code)
    const asModule = packageWith({ typeorm: '1.1.1', [scheduler]: version }, { type: 'module' })
    expect((await init(project({ 'package.json': asModule }))).stdout).toContain(
      "from 'shedlock-orm/typeorm'",
    )
    // A script or a config is in another style than most files.
    const imported = { 'a.config.js': "require('x')", 'a.js': "import 'x'", 'b.js': "import 'x'" }
    expect(await printed({ typeorm: '1.1.1' }, imported)).toContain("from 'shedlock-orm'")
  })
})
