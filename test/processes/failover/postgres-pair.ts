import type { Pair } from './cluster'
import { startPair, type PairOptions } from './pair'
import { PostgresNode } from './postgres-node'

/** Starts a pair with streaming replication. */
export function postgresPair(options?: PairOptions): Promise<Pair> {
  const replication = {
    synchronous: "synchronous_standby_names = '*'",
    asynchronous: 'asynchronous, the standby behind',
  }
  return startPair('postgres', replication, (followed) => PostgresNode.at(followed), options)
}
