import { setTimeout as sleep } from 'node:timers/promises'
import type { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Fault } from './cluster'

/** Milliseconds. */
const STALE = 2_000
const SILENT = 14_000

interface Member {
  readonly port: number
  kill(): Promise<void>
  freeze(): void
}

/** Several members with one primary, behind addresses that lead to it. */
interface Group<M extends Member> {
  readonly addresses: readonly TcpProxy[]
  readonly members: readonly M[]
  readonly primary: () => M
  /** Prepares a failure of the primary. */
  readonly beforeFailure?: () => Promise<void>
  /** Resolves when another member than the former primary accepts writes. */
  readonly changed: (former: M) => Promise<void>
  /** Resolves when all members follow the primary. */
  readonly whole: () => Promise<void>
  /** Lets the primary step down. */
  readonly switchOver: (former: M) => Promise<void>
  /** Lets a primary that has stepped down follow the new one. */
  readonly follow?: (former: M) => Promise<void>
  /** Starts a member again after a crash. */
  readonly comeBack: (member: M) => Promise<void>
}

/** The faults of every group with one primary. */
export function faultsOfGroup<M extends Member>(group: Group<M>): Readonly<Record<string, Fault>> {
  const { addresses, members, primary, changed, whole } = group
  const redirect = (member = primary()): void => {
    for (const address of addresses) address.redirect(member.port)
  }
  const cutAll = (): void => {
    for (const address of addresses) address.cutAll()
  }
  return {
    'kill -9': async (reachable) => {
      await group.beforeFailure?.()
      const former = primary()
      await former.kill()
      await changed(former)
      redirect()
      cutAll()
      reachable()
      await group.comeBack(former)
      await whole()
    },
    'planned switch': async (reachable) => {
      const former = primary()
      await group.switchOver(former)
      await changed(former)
      // Existing connections to the former primary stay open, unless it closes them.
      redirect()
      reachable()
      await group.follow?.(former)
      await whole()
    },
    'stale address': async (reachable) => {
      redirect(members.find((member) => member !== primary()))
      cutAll()
      await sleep(STALE)
      redirect()
      reachable()
    },
    'silent machine': async (reachable) => {
      await group.beforeFailure?.()
      const former = primary()
      former.freeze()
      await changed(former)
      redirect()
      reachable()
      await sleep(SILENT)
      await former.kill()
      await group.comeBack(former)
      await whole()
    },
  }
}
