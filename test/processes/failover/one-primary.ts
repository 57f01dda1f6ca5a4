import { setTimeout as sleep } from 'node:timers/promises'
import type { TcpProxy } from '../servers/tcp-proxy'
import type { Fault } from './cluster'

/** Milliseconds. */
const STALE = 2_000
const SILENT = 14_000

interface Member {
  readonly port: number
  kill(): Promise<void>
  freeze(): void
}

/** Several members that elect their primary themselves, behind an address that leads to it. */
interface Group<M extends Member> {
  readonly address: TcpProxy
  readonly members: readonly M[]
  readonly primary: () => M
  /** Resolves when another member than the former primary accepts writes. */
  readonly changed: (former: M) => Promise<void>
  /** Resolves when all members follow the primary. */
  readonly whole: () => Promise<void>
  /** Lets another member become the primary. */
  readonly switchOver: (former: M) => Promise<void>
  /** Starts a member again after a crash. */
  readonly comeBack: (member: M) => Promise<void>
}

export function faultsOfGroup<M extends Member>(group: Group<M>): Readonly<Record<string, Fault>> {
  const { address, members, primary, changed, whole, switchOver, comeBack } = group
  return {
    'kill -9': async (reachable) => {
      const former = primary()
      await former.kill()
      await changed(former)
      address.redirect(primary().port)
      address.cutAll()
      reachable()
      await comeBack(former)
      await whole()
    },
    'planned switch': async (reachable) => {
      const former = primary()
      await switchOver(former)
      await changed(former)
      // Existing connections to the former primary stay open, unless it closes them.
      address.redirect(primary().port)
      reachable()
      await whole()
    },
    'stale address': async (reachable) => {
      address.redirect(members.find((member) => member !== primary())?.port ?? 0)
      address.cutAll()
      await sleep(STALE)
      address.redirect(primary().port)
      reachable()
    },
    'silent machine': async (reachable) => {
      const former = primary()
      former.freeze()
      await changed(former)
      address.redirect(primary().port)
      reachable()
      await sleep(SILENT)
      await former.kill()
      await comeBack(former)
      await whole()
    },
  }
}
