import type { Pair } from './cluster'
import { MariaDbNode } from './mariadb-node'
import { startPair, type PairOptions } from './pair'

/** Starts a pair with replication by GTID. */
export function mariaDbPair(options?: PairOptions): Promise<Pair> {
  const replication = { synchronous: 'semi-synchronous', asynchronous: 'asynchronous, the standby behind' }
  return startPair<MariaDbNode>('mariadb', replication, (...like) => MariaDbNode.at(...like), options)
}
