import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DataSource } from 'typeorm'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createShedLockMigration } from '../../../src/typeorm/internal'
import { availableBackends, type TestDatabase } from '../../backends'
import { eventually } from '../../eventually'
import { canFakeTime, clockOf } from '../fake-time'

const root = join(__dirname, '../../..')
const own = join(__dirname, 'node_modules')
const page = readFileSync(join(root, 'docs/schedulers.md'), 'utf8')
const FIRES = 5
const SECONDS = 2
/**
 * Bree starts a worker for each fire. On a busy machine that took more than five seconds, and a worker that starts later than the next
 * fire is due has the next slot.
 */
const SECONDS_OF_BREE = 10

/** The programs of the page, each a file; a scheduler that the tests have in two versions is in two. */
const programs = new Map(
  [...page.matchAll(/^```ts scheduler\n\/\/ (\S+)\.ts\n(.*?)^```$/gms)].map(([, file = '', text = '']) => [
    file,
    text,
  ]),
)
programs.set('croner-10', programs.get('croner')?.replaceAll("'croner'", "'croner-10'") ?? '')

/**
 * Its row in the table: the scheduler's name and version, and the package that has it. How often it fires `before` the late instance
 * starts, and how many `fires` of that one must be run, where that is not as with the others.
 */
const SCHEDULERS = [
  { name: 'node-schedule', installed: 'node-schedule', lock: 'node-schedule' },
  { name: 'cron', installed: 'cron', lock: 'cron' },
  { name: 'croner', installed: 'croner-11', lock: 'croner' },
  { name: 'croner', installed: 'croner', lock: 'croner-10' },
  { name: 'node-cron', installed: 'node-cron', lock: 'node-cron' },
  { name: "node-cron's coordinator", installed: 'node-cron', lock: 'coordinator' },
  { name: "toad-scheduler's `CronJob`", installed: 'toad-scheduler', lock: 'toad-scheduler' },
  { name: 'Bree', installed: 'bree', lock: 'jobs/report', before: 1, fires: 2 },
  { name: '`@nestjs/schedule`, `@Cron`', installed: '@nestjs/schedule', lock: '@Cron' },
  { name: '`@nestjs/schedule`, dynamic jobs', installed: '@nestjs/schedule', lock: 'SchedulerRegistry' },
]

/** The program with a lock of its own, and due every few seconds. */
function dueSoon(text: string, lock: string): string {
  return text
    .replace(/name: 'report'(?=,\s+(lockAtMostFor|distributed):)/, `name: '${lock}'`)
    .replace("cron: '*/15 * * * *'", `hasSeconds: true, cron: '*/${SECONDS_OF_BREE} * * * * *'`)
    .replace("'*/15 * * * *'", `'*/${SECONDS} * * * * *'`)
}

/** A project of a user, who installed the package and the schedulers, and compiles as strictly as TypeScript can. */
function makeProject(folder: string): void {
  cpSync(join(__dirname, 'schedulers'), folder, { recursive: true })
  for (const [file, text] of programs) {
    const path = join(folder, `${file}.ts`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, dueSoon(text, file))
  }
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', strict: true, skipLibCheck: true, types: ['node'] },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['*.ts', 'jobs/*.ts'] }),
  )
  const packages = {
    ...{ 'shedlock-orm': root, croner: join(own, 'croner-11') },
    ...{ 'croner-10': join(root, 'node_modules/croner') },
    ...Object.fromEntries(
      ['node-schedule', '@types/node-schedule', 'bree'].map((name) => [name, join(own, name)]),
    ),
  }
  for (const [name, target] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(target, link, 'junction')
  }
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(stdout)
}

/** An instance of an app that has them all, with a clock of its own, and what it said. */
class Instance {
  readonly #child
  readonly #lines: string[] = []
  #errors = ''

  constructor(folder: string, url: string, clock?: string) {
    const files = [...programs.keys(), 'nestjs'].filter((file) => !file.startsWith('jobs/'))
    this.#child = spawn(process.execPath, ['main.js', ...files.map((file) => `./${file}.js`)], {
      cwd: folder,
      env: { ...process.env, ...clockOf(clock), DATABASE_URL: url },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    createInterface(this.#child.stdout).on('line', (line) => this.#lines.push(line))
    this.#child.stderr.on('data', (data: Buffer) => (this.#errors += data.toString()))
  }

  /** The slots of the fires of which it said that. */
  slots(said: 'ran' | 'skipped' | 'failed', lock: string): string[] {
    if (this.#child.exitCode !== null) throw new Error(`It has ended: ${this.#errors}`)
    const begin = `${said} ${lock} `
    return this.said(lock).flatMap((line) => (line.startsWith(begin) ? [line.slice(begin.length)] : []))
  }

  /** What became of all its fires. */
  said(lock: string): string[] {
    return this.#lines.filter((line) => line.includes(` ${lock} `))
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}

describe('the table of docs/schedulers.md', () => {
  test('has the schedulers that are tested, with their versions', () => {
    const versionOf = (installed: string): string => {
      const path = [own, join(root, 'node_modules')]
        .map((modules) => join(modules, installed, 'package.json'))
        .find((file) => existsSync(file))
      return (JSON.parse(readFileSync(path ?? '', 'utf8')) as { version: string }).version
    }
    const rows = [...page.matchAll(/^\| (.+?) +\| (\d+\.\d+\.\d+) +\|/gm)].map(([, name, version]) => [
      name,
      version,
    ])
    expect(rows).toEqual(SCHEDULERS.map(({ name, installed }) => [name, versionOf(installed)]))
  })
})

describe(`two instances${canFakeTime ? ', one of which is five seconds behind,' : ''} run each fire once`, () => {
  let folder: string
  let database: TestDatabase | undefined
  let ahead: Instance | undefined
  let behind: Instance | undefined

  beforeAll(async () => {
    // Inside of the project, so that what it has installed is found.
    folder = mkdtempSync(join(root, '.programs-'))
    makeProject(folder)
    const postgres = availableBackends().find((backend) => backend.name === 'postgres')
    if (!postgres) throw new Error('The schedulers run on PostgreSQL, which was not found')
    database = await postgres.create()
    const migrations = [createShedLockMigration()]
    const dataSource = await new DataSource({ ...database.typeOrm, migrations }).initialize()
    await dataSource.runMigrations()
    await dataSource.destroy()
    const first = (ahead = new Instance(folder, database.url))
    // For as long as the other will be behind: no slot of that one is then before the first one here.
    await eventually(
      () => {
        for (const { lock, before = FIRES + 1 } of SCHEDULERS)
          if (first.slots('ran', lock).length < before) throw new Error(lock)
      },
      { timeout: 60_000 },
    )
    behind = new Instance(folder, database.url, canFakeTime ? '-5s' : undefined)
  })

  afterAll(async () => {
    await Promise.all([ahead?.stop(), behind?.stop()])
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  test.each(SCHEDULERS)('$name ($installed)', async ({ lock, fires = FIRES }) => {
    const ran = (): string[] => [ahead, behind].flatMap((each) => each?.slots('ran', lock) ?? [])
    await eventually(
      () => {
        const late = [...(behind?.slots('ran', lock) ?? []), ...(behind?.slots('skipped', lock) ?? [])]
        const lost = late.filter((slot) => !ran().includes(slot))
        const run = late.length - lost.length
        // On a busy machine a timer may be late by a whole interval: then it fires for the next slot, and nobody ran the one before.
        if (run < fires || run <= lost.length)
          throw new Error(JSON.stringify({ lost, said: [ahead?.said(lock), behind?.said(lock)] }))
      },
      { timeout: 60_000 },
    )
    const runs = ran()
    expect(runs).toEqual([...new Set(runs)])
    expect(runs.filter((slot) => !slot.endsWith('.000Z'))).toEqual([])
  })
})
