import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { contention } from './contenders'
import { costs } from './costs'
import { entryPoints, installedBytes } from './entry-points'
import { crowd, growth } from './growth'
import { measure } from './measure'
import { memory } from './memory'
import { network } from './network'
import type { DatabaseResults, Results } from './results'
import { markdown } from './tables'
import { openTarget, type WireOptions } from './targets'
import type { Target } from './operation'

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: 'postgres,mariadb,sqlite' },
    rounds: { type: 'string', default: '25' },
    time: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const time = Number(values.time)

async function main(): Promise<void> {
  const databases: Record<string, DatabaseResults> = {}
  for (const name of values.db.split(',')) databases[name] = await measureDatabase(name)
  const results: Results = {
    machine: {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: String(cpus().length),
      node: process.version,
    },
    databases,
    memory: await memory(),
    entryPoints: await entryPoints(),
    installedBytes: installedBytes(),
  }
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : markdown(results))
}

async function measureDatabase(name: string): Promise<DatabaseResults> {
  const { version, operations } = await on(name, {}, async ({ version, operations }) => ({
    version,
    operations: await measure(operations, rounds, time),
  }))
  return {
    version,
    operations,
    costs: await on(name, { counted: true }, costs),
    network: await network(name, Math.ceil(rounds / 8), time),
    contention: await contention(name, rounds, time * 6),
    growth: await growth(name, rounds, time),
    crowd: await crowd(name, Math.ceil(rounds / 3)),
  }
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
