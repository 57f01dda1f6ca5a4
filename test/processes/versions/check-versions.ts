import { checkHistory } from '../chaos/check-history'
import type { LockChange, ProcessEntry, Segment } from '../chaos/history'
import { runsOf } from '../chaos/runs'
import { NAMES, type InstanceEntry } from './entry'

export interface VersionsRun {
  /** One list for each process. */
  readonly processes: readonly { readonly version: string; readonly entries: readonly InstanceEntry[] }[]
  readonly changes: readonly LockChange[]
  readonly segment: Segment
}

export interface VersionsVerdict {
  /** By version, so that it can be seen that both took part. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Acquisitions after one of another version. */
  readonly handovers: number
  /** What each version took the rows of each author for. */
  readonly readings: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

type Of<Type extends InstanceEntry['type']> = Extract<InstanceEntry, { type: Type }>

export function checkVersions({ processes, changes, segment }: VersionsRun): VersionsVerdict {
  const all = processes.flatMap(({ entries }) => entries)
  const of = <Type extends InstanceEntry['type']>(
    type: Type,
    entries: readonly InstanceEntry[] = all,
  ): Of<Type>[] => entries.filter((entry): entry is Of<Type> => entry.type === type)
  const { violations, total } = checkHistory({
    processes: processes.map(({ entries }) => entries.filter(isOfChaos)),
    // A pause acquires the row without a new token.
    changes: changes.filter(({ name }) => !NAMES.paused.includes(name)),
    ...{ commits: [], resources: [], injections: [], segments: [segment], neverFree: [] },
  })
  const runs = processes
    .flatMap(({ version, entries }) => runsOf(entries.filter(isOfChaos)).map((run) => ({ ...run, version })))
    .sort((a, b) => a.from - b.from)
  const lastOf = new Map<string, string>()
  const handovers = runs.filter(({ name, version }) => {
    const before = lastOf.get(name)
    lastOf.set(name, version)
    return before !== undefined && before !== version
  })

  const slots = of('slot')
  const given = new Map<string, string>()
  const twice = slots.flatMap(({ name, slot, run }) => {
    const before = given.get(`${name} ${slot}`)
    given.set(`${name} ${slot}`, run)
    return before === undefined ? [] : [`slot ${slot} of ${name} was given to ${before} and to ${run}`]
  })

  const resuming = of('resuming')
  const resumed = of('resumed')
  const during = of('paused').flatMap(({ name, at, asked, run, until }) => {
    // One that began before the pause was answered may have ended it too.
    const resumes = resumed.filter((one) => one.name === name && one.at > asked).map(({ from }) => from)
    const open = resuming.filter((one) => one.name === name && one.at > at).map((one) => one.at)
    const end = Math.min(until, ...resumes, ...open)
    return runs
      .filter((one) => one.name === name && one.from < end && one.to > at)
      .map((one) => `${one.run} ran on ${name} while it was paused: ${run}`)
  })

  const figures: Record<string, Record<string, number>> = {}
  for (const { version, entries } of processes) {
    const own = (figures[version] ??= {})
    for (const { type } of entries) own[type] = (own[type] ?? 0) + 1
  }
  const readings: Record<string, number> = {}
  for (const { version, entries } of processes)
    for (const { author, as } of of('read', entries)) {
      const what = `${version} read of ${author}: ${as}`
      readings[what] = (readings[what] ?? 0) + 1
    }
  return {
    figures,
    readings,
    handovers: handovers.length,
    violations: [
      ...violations.map(({ promise, what }) => `${promise}: ${what}`),
      ...twice,
      ...during,
      ...of('misread').map(({ what }) => `misread by ${what}`),
      ...(total.acquisitions === 0 || handovers.length === 0
        ? ['no lock went from one version to the other']
        : []),
    ],
  }
}

const OURS: ReadonlySet<InstanceEntry['type']> = new Set([
  ...['slot', 'paused', 'resuming', 'resumed', 'read', 'misread'],
] as InstanceEntry['type'][])

function isOfChaos(entry: InstanceEntry): entry is ProcessEntry {
  return !OURS.has(entry.type)
}
