import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DataSource } from 'typeorm'
import { createShedLockMigration } from '../../../src/typeorm/internal'
import { availableBackends, type TestDatabase } from '../../backends'

const root = join(__dirname, '../../..')
/** What the root's package.json does not have. */
export const own = join(__dirname, 'node_modules')

/** The `ts scheduler` blocks of a page, each a file: its name without `.ts`, and its text. */
export function schedulerPrograms(page: string): Map<string, string> {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = text.matchAll(/^```ts scheduler\n\/\/ (\S+)\.ts\n(.*?)^```$/gms)
  return new Map([...blocks].map(([, file = '', program = '']) => [file, program]))
}

/** A project of a user, who installed the package and the schedulers, and compiles as strictly as TypeScript can. */
export class SchedulerProject {
  // Inside of the project, so that what it has installed is found.
  readonly #folder = mkdtempSync(join(root, '.programs-'))

  constructor(programs: ReadonlyMap<string, string>) {
    const folder = this.#folder
    cpSync(join(__dirname, 'schedulers'), folder, { recursive: true })
    for (const [file, text] of programs) {
      const path = join(folder, `${file}.ts`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
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
        [
          ...[
            'node-schedule',
            '@types/node-schedule',
            'bree',
            '@sentry/nestjs',
            '@sentry/node',
            'nestjs-cls',
          ],
          ...[
            '@nestjs-cls/transactional',
            '@nestjs-cls/transactional-adapter-prisma',
            '@nestjs-cls/transactional-adapter-typeorm',
            'typeorm-transactional',
          ],
        ].map((name) => [name, join(own, name)]),
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

  /** Starts an app of these files. */
  start(files: readonly string[], environment: NodeJS.ProcessEnv): Instance {
    return new Instance(this.#folder, files, environment)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** An instance of an app with a clock of its own, and what it said. */
export class Instance {
  readonly #child
  readonly #lines: string[] = []
  #errors = ''

  constructor(folder: string, files: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, ['main.js', ...files.map((file) => `./${file}.js`)], {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    createInterface(this.#child.stdout).on('line', (line) => this.#lines.push(line))
    this.#child.stderr.on('data', (data: Buffer) => (this.#errors += data.toString()))
  }

  /** All that it printed. */
  get lines(): readonly string[] {
    if (this.#child.exitCode !== null) throw new Error(`It has ended: ${this.#errors}`)
    return this.#lines
  }

  /** The slots of the fires of which it said that. */
  slots(said: 'ran' | 'skipped' | 'failed', lock: string): string[] {
    const begin = `${said} ${lock} `
    return this.lines.flatMap((line) => (line.startsWith(begin) ? [line.slice(begin.length)] : []))
  }

  /** What became of all its fires. */
  said(lock: string): string[] {
    return this.#lines.filter((line) => line.includes(` ${lock} `))
  }

  /** Lets its job end, if that waits for it. */
  endJob(): void {
    this.#child.stdin.write('end\n')
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

/** A database of PostgreSQL with the lock table. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const postgres = availableBackends().find((backend) => backend.name === 'postgres')
  if (!postgres) throw new Error('The schedulers run on PostgreSQL, which was not found')
  const database = await postgres.create()
  const migrations = [createShedLockMigration()]
  const dataSource = await new DataSource({ ...database.typeOrm, migrations }).initialize()
  await dataSource.runMigrations()
  await dataSource.destroy()
  return database
}
