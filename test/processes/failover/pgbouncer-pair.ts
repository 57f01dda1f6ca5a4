import { startPgBouncer } from '../../backends/pgbouncer'
import { TcpProxy } from '../servers/tcp-proxy'
import type { Settings } from './client'
import { APP, type Cluster } from './cluster'
import { postgresPair } from './postgres-pair'

/** Starts a pair with PgBouncer in front of it, whose own address never changes. */
export async function pgBouncerPair(settings: Settings): Promise<Cluster> {
  const pair = await postgresPair()
  const retry = settings === 'default' ? {} : { server_login_retry: 1 }
  const pooler = await startPgBouncer(`postgres://${APP}@127.0.0.1:${pair.address.port}`, retry)
  const port = Number(new URL(pooler.url).port)
  const addresses = [await TcpProxy.listen(port), await TcpProxy.listen(port)]
  return {
    title: `PgBouncer, ${pair.title}`,
    dialect: pair.dialect,
    version: pair.version,
    loses: pair.loses,
    addresses,
    faults: pair.faults,
    heldRows: () => pair.heldRows(),
    close: async () => {
      await Promise.all(addresses.map((address) => address.close()))
      await pooler.stop()
      await pair.close()
    },
  }
}
