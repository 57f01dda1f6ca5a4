import { startPgBouncer } from '../../test/backends/pgbouncer'
import { APP } from '../servers/database-server'
import { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Cluster, Fault } from './cluster'
import type { PairOptions } from './pair'
import { postgresPair } from './postgres-node'

/** Starts a pair with PgBouncer in front of it, whose own address never changes. */
export async function pgBouncerPair(options?: PairOptions): Promise<Cluster> {
  const pair = await postgresPair(options)
  // As the pages recommend.
  const limits = { server_login_retry: 1, server_connect_timeout: 4 }
  const pooler = await startPgBouncer(`postgres://${APP}@127.0.0.1:${pair.address.port}`, limits)
  const port = Number(new URL(pooler.url).port)
  // PgBouncer knows only one of the pair's addresses, so both of its own are reachable as soon as that one is.
  const behindPooler =
    (fault: Fault): Fault =>
    (reachable) =>
      fault((address) => {
        if (address === undefined || address === pair.address) reachable()
      })
  const faults = Object.entries(pair.faults).map(([name, fault]) => [name, behindPooler(fault)])
  const addresses = [await TcpProxy.listen(port), await TcpProxy.listen(port)]
  return {
    title: `PgBouncer, ${pair.title}`,
    dialect: pair.dialect,
    version: pair.version,
    loses: pair.loses,
    addresses,
    faults: Object.fromEntries(faults) as Cluster['faults'],
    heldBy: () => pair.heldBy(),
    close: async () => {
      await Promise.all(addresses.map((address) => address.close()))
      await pooler.stop()
      await pair.close()
    },
  }
}
