import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { contention } from './contenders'
import { costs } from './costs'
import { day } from './day'
import { entryPoints, installedBytes } from './entry-points'
import { crowd, growth } from './growth'
import { OUR_STATEMENTS, RAW } from './floor'
import { measure } from './measure'
import { memory } from './memory'
import { network } from './network'
import type { DatabaseResults, Results } from './results'
import { markdown, operationTables } from './tables'
import { openTarget, type WireOptions } from './targets'
import type { Target } from './operation'

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: 'postgres,mariadb,sqlite' },
    rounds: { type: 'string', default: '25' },
    time: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const time = Number(values.time)
/** The floor, with which all others are compared. */
const FLOOR: readonly string[] = [RAW, OUR_STATEMENTS]

async function main(): Promise<void> {
  if (values.only !== undefined) return mainOf(new RegExp(values.only))
  const databases: Record<string, DatabaseResults> = {}
  for (const name of values.db.split(',')) databases[name] = await measureDatabase(name)
  const results: Results = {
    measured: { date: new Date().toISOString().slice(0, 10), commit: commit() },
    machine: {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: String(cpus().length),
      node: process.version,
    },
    databases,
    memory: await memory(),
    day: await day(),
    entryPoints: await entryPoints(),
    installedBytes: installedBytes(),
  }
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : markdown(results))
}

/** Measures only times and costs, of the floor and of the operations whose names match. */
async function mainOf(who: RegExp): Promise<void> {
  for (const name of values.db.split(',')) {
    const tables = operationTables(name, await measureOperations(name, who))
    process.stdout.write(`${tables.join('\n\n')}\n\n`)
  }
}

async function measureOperations(
  name: string,
  who = /^/,
): Promise<Pick<DatabaseResults, 'version' | 'statements' | 'operations' | 'costs'>> {
  const chosen = ({ operations }: Target) =>
    operations.filter((one) => FLOOR.includes(one.who) || who.test(one.who))
  const timed = await on(name, {}, async (target) => ({
    version: target.version,
    statements: target.statements,
    operations: await measure(chosen(target), rounds, time),
  }))
  const paid = await on(name, { counted: true }, (target) => costs({ ...target, operations: chosen(target) }))
  return { ...timed, costs: paid }
}

async function measureDatabase(name: string): Promise<DatabaseResults> {
  return {
    ...(await measureOperations(name)),
    network: await network(name, Math.ceil(rounds / 2), time),
    contention: await contention(name, rounds, time * 20),
    growth: await growth(name, rounds, time),
    crowd: await crowd(name, Math.ceil(rounds / 3)),
  }
}

/** Returns the current commit, followed by a + if files have been changed since. */
function commit(): string {
  const options = { cwd: __dirname, encoding: 'utf8' } as const
  return execFileSync('git', ['describe', '--always', '--dirty=+', '--exclude', '*'], options).trim()
}

async function on<T>(name: string, options: WireOptions, work: (target: Target) => Promise<T>): Promise<T> {
  const target = await openTarget(name, options)
  try {
    return await work(target)
  } finally {
    await target.close()
  }
}

void main()
