import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from './fault'
import { NETWORK_FAULTS } from './network-faults'
import { PHASES, type Phase } from '../app/phases'
import { canFakeTime } from '../fake-time'
import { PATIENCE } from '../app/app-process'

const ASLEEP: readonly Phase[] = [
  'checked',
  'checked-guarded',
  'acquired',
  'working',
  'in-transaction',
  'guarded',
  'asking',
]

const NO_OWN_SERVER = 'it needs a server that the harness started'
const TABLE_IN_PEACE = 'the harness does not change the table there'

function needs(
  method: 'withTableLocked' | 'deleteRows' | 'truncate' | 'dropAndCreate',
): Pick<Fault, 'missing'> {
  return { missing: (database) => (database[method] ? undefined : TABLE_IN_PEACE) }
}

/** A fault that lasts for a while, for which the database has a method. */
function during(
  method: 'withReadOnly' | 'withRecovery' | 'withDiskFull' | 'withTableAltered' | 'withoutPrivileges',
  why: string,
): Pick<Fault, 'missing' | 'inject' | 'blocks'> {
  return {
    blocks: true,
    missing: (database) => (database[method] ? undefined : why),
    inject: async ({ database, random }) => {
      await database[method]?.(() => sleep(random.between(500, 2_500)))
    },
  }
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9',
    inject: async ({ workers, random }) => {
      const worker = workers.any()
      worker.ambush(random.pick(PHASES), 'kill')
      await Promise.race([worker.exited(), sleep(PATIENCE)])
    },
  },
  {
    name: 'pause beyond the lease',
    inject: async ({ workers, random, lockAtMostFor }) => {
      const worker = workers.any()
      worker.ambush(random.pick(ASLEEP), 'stop')
      await worker.wakeAfter(lockAtMostFor * random.between(1.2, 3))
    },
  },
  {
    // Only the guard can detect this.
    name: 'pause before a guarded commit',
    inject: async ({ workers, random, lockAtMostFor }) => {
      const worker = workers.any()
      worker.ambush('checked-guarded', 'stop')
      await worker.wakeAfter(lockAtMostFor * random.between(1.5, 4))
    },
  },
  {
    name: 'event loop blocked',
    inject: async ({ workers, random, lockAtMostFor }) => {
      const milliseconds = lockAtMostFor * random.between(1.1, 2)
      workers.any().ambush(random.pick(ASLEEP), 'block', milliseconds)
      await sleep(milliseconds)
    },
  },
  ...NETWORK_FAULTS,
  {
    name: 'server restarted',
    blocks: true,
    missing: (database) => (database.restart ? undefined : NO_OWN_SERVER),
    inject: async ({ database }) => {
      await database.restart?.()
    },
  },
  { name: 'read-only', ...during('withReadOnly', NO_OWN_SERVER) },
  { name: 'recovery', ...during('withRecovery', 'only a PostgreSQL that the harness started has it') },
  {
    name: 'pool exhausted',
    missing: ({ dialect }) => (dialect === 'sqlite' ? 'an embedded database has no pool' : undefined),
    inject: async ({ workers, random, timeLimit }) => {
      const milliseconds = timeLimit * random.between(0.5, 2)
      workers.any().send({ type: 'exhaust', connections: 5, milliseconds })
      await sleep(milliseconds)
    },
  },
  {
    name: 'disk full',
    ...during(
      'withDiskFull',
      'it needs a server that the harness started, and the right to mount a small disk',
    ),
  },
  {
    name: 'table locked',
    blocks: true,
    ...needs('withTableLocked'),
    inject: async ({ database, random }) => {
      await database.withTableLocked?.(() => sleep(random.between(200, 2_500)))
    },
  },
  {
    name: 'table altered',
    ...during('withTableAltered', "on other databases it would be the same as 'table locked'"),
  },
  {
    name: 'rows deleted',
    destroys: true,
    ...needs('deleteRows'),
    inject: async ({ database }) => database.deleteRows?.(),
  },
  {
    name: 'table truncated',
    destroys: true,
    ...needs('truncate'),
    inject: async ({ database }) => database.truncate?.(),
  },
  {
    name: 'table dropped and created again',
    destroys: true,
    ...needs('dropAndCreate'),
    inject: async ({ database }) => database.dropAndCreate?.(),
  },
  {
    name: 'clocks hours apart',
    missing: ({ dialect }) => {
      if (dialect === 'sqlite') return "an embedded database uses the process's own clock"
      return canFakeTime ? undefined : 'libfaketime is not installed'
    },
    inject: async ({ workers, random }) => {
      await workers.replace({ clock: random.pick(['+3h', '-5h', '+40d']) })
      await sleep(1_500)
    },
  },
  {
    name: 'serializable',
    missing: ({ wishes }) =>
      wishes.includes('serializable') ? undefined : 'its connections cannot be made serializable',
    inject: async ({ workers }) => {
      await workers.replace({ serializable: true })
      await sleep(1_500)
    },
  },
  {
    name: 'PgBouncer in transaction mode',
    missing: ({ wishes }) =>
      wishes.includes('pooler') ? undefined : 'it needs PostgreSQL and PgBouncer on this machine',
    inject: async ({ workers }) => {
      await workers.replace({ pooler: true })
      await sleep(1_500)
    },
  },
  {
    name: 'unlock fails: table locked',
    blocks: true,
    ...needs('withTableLocked'),
    inject: async ({ database, workers, timeLimit }) => {
      const worker = workers.any()
      worker.ambush('unlocking', 'report')
      let locked: Promise<void> = Promise.resolve()
      const lock = (): Promise<void> =>
        new Promise((resolve) => {
          const whileLocked = (): Promise<void> => {
            resolve()
            return sleep(timeLimit * 1.2)
          }
          locked = database.withTableLocked?.(whileLocked) ?? Promise.resolve()
          locked.catch(() => {
            resolve()
          })
        })
      await worker.whenReached(lock)
      await locked
    },
  },
  {
    name: 'unlock fails: no privilege',
    ...during('withoutPrivileges', 'locks have no database role of their own there'),
  },
]
