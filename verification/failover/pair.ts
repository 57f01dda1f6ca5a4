import { setTimeout as sleep } from 'node:timers/promises'
import { canFakeTime } from '../../test/processes/fake-time'
import type { DatabaseServer } from '../servers/database-server'
import { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Fault, Pair } from './cluster'
import { faultsOfGroup } from './one-primary'
import { until } from './until'

/** One of two servers: the primary, or the standby that follows it. */
export interface PairNode extends DatabaseServer {
  startAsPrimary(): Promise<void>
  /** Starts as a standby with a copy of the primary's data. @param clock the error of its clock, such as `+2s` */
  startAsCopy(primary: this, clock?: string): Promise<void>
  /** Stops accepting writes, and waits until the standby has everything. */
  stepDown(standby: this): Promise<void>
  promote(): Promise<void>
  /** Starts as a standby with its own data, after it has stepped down. */
  follow(): Promise<void>
  /** Sets whether commits wait for the standby. */
  synchronous(on: boolean): Promise<void>
  isFollowed(): Promise<boolean>
}

export interface PairOptions {
  /** Whether commits do not wait for the standby, which is then behind when the primary fails. */
  readonly asynchronous?: boolean
}

/** Milliseconds. */
const BEHIND = 2_500
const PARTED = 6_000
const CUT_OFF = 6_500
const STOPPED = 4_000

/**
 * @param synchronous how commits wait for the standby, for the report
 * @param make creates a server that as a standby finds the primary at this port; the second one may copy the first one's initial
 * data
 */
export async function startPair<Node extends PairNode>(
  dialect: Pair['dialect'],
  synchronous: string,
  make: (followed: number, first?: Node) => Promise<Node>,
  { asynchronous = false }: PairOptions = {},
): Promise<Pair> {
  const link = await TcpProxy.listen(0)
  let primary = await make(link.port)
  let standby = await make(link.port, primary)
  const nodes = [primary, standby]
  await primary.startAsPrimary()
  link.redirect(primary.port)
  const address = await TcpProxy.listen(primary.port)
  const addresses = [address, await TcpProxy.listen(primary.port)]

  const whole = async (): Promise<void> => {
    await until('the standby follows', () => primary.isFollowed())
    if (!asynchronous) await primary.synchronous(true)
  }
  const replicate = async (on: boolean): Promise<void> => {
    link.blackHole(!on)
    if (on) await whole()
  }
  const behind = async (): Promise<void> => {
    if (!asynchronous) return
    link.blackHole(true)
    await sleep(BEHIND)
  }
  const promote = async (): Promise<void> => {
    await standby.promote()
    ;[primary, standby] = [standby, primary]
  }
  const rejoin = async (clock?: string): Promise<void> => {
    link.redirect(primary.port)
    link.blackHole(false)
    await standby.startAsCopy(primary, clock)
    await whole()
  }
  const failOver = async (): Promise<void> => {
    await primary.kill()
    await promote()
    for (const virtual of addresses) {
      virtual.redirect(primary.port)
      virtual.cutAll()
    }
  }
  await rejoin()

  const faults: Record<string, Fault> = {
    ...faultsOfGroup<Node>({
      ...{ addresses, members: nodes, primary: () => primary, whole },
      beforeFailure: behind,
      changed: promote,
      switchOver: (former) => former.stepDown(standby),
      follow: async (former) => {
        link.redirect(primary.port)
        link.cutAll()
        await former.follow()
      },
      comeBack: () => rejoin(),
    }),
    partition: async (reachable) => {
      link.blackHole(true)
      await promote()
      const [, away] = addresses
      away?.redirect(primary.port)
      away?.cutAll()
      reachable(away)
      await sleep(PARTED)
      await standby.kill()
      address.redirect(primary.port)
      address.cutAll()
      reachable(address)
      await rejoin()
    },
    'standby cut off': async (reachable) => {
      link.blackHole(true)
      await sleep(CUT_OFF)
      await replicate(true)
      reachable()
    },
    'stopped and continued': async (reachable) => {
      primary.freeze()
      await sleep(STOPPED)
      primary.thaw()
      reachable()
    },
    ...(canFakeTime && {
      'one clock ahead': async (reachable: Parameters<Fault>[0]) => {
        await primary.synchronous(false)
        await rejoin('+2s')
        await failOver()
        reachable()
        await rejoin()
      },
    }),
  }

  return {
    title: `${dialect === 'postgres' ? 'PostgreSQL' : 'MariaDB'} pair, ${asynchronous ? 'asynchronous, the standby behind' : synchronous}`,
    dialect,
    version: await primary.version(),
    loses: asynchronous,
    address,
    addresses,
    faults,
    get ports() {
      return { primary: primary.port, standby: standby.port }
    },
    heldBy: () => primary.heldBy(),
    execute: (...statements) => primary.execute(...statements),
    synchronous: (on) => primary.synchronous(on),
    replicate,
    close: async () => {
      await Promise.all([link, ...addresses].map((proxy) => proxy.close()))
      await Promise.all(nodes.map((node) => node.close()))
    },
  }
}
