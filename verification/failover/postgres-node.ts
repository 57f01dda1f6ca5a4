import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/backends/free-port'
import { PostgresServer, runPostgres } from '../servers/postgres-server'
import type { Pair } from './cluster'
import { startPair, type PairNode, type PairOptions } from './pair'
import { until } from './until'

/** One PostgreSQL server, which is a primary or replicates from one. */
class PostgresNode extends PostgresServer implements PairNode {
  /** @param followed the port at which a standby finds the primary */
  static async at(followed: number): Promise<PostgresNode> {
    return new PostgresNode(await freePort(), 600, {
      max_wal_size: '64MB',
      primary_conninfo: `host=127.0.0.1 port=${followed} user=postgres application_name=standby`,
      // A standby that was cut off reconnects quickly.
      wal_receiver_status_interval: '1s',
      wal_receiver_timeout: '2s',
      wal_sender_timeout: '2s',
      wal_retrieve_retry_interval: '200ms',
    })
  }

  startAsPrimary(): Promise<void> {
    return this.create()
  }

  async startAsCopy(primary: PostgresNode, clock?: string): Promise<void> {
    await this.kill()
    rmSync(this.data, { recursive: true, force: true })
    const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres']
    await runPostgres('pg_basebackup', [...from, '-D', this.data, '-c', 'fast', '-X', 'stream'])
    await this.follow(clock)
  }

  async follow(clock?: string): Promise<void> {
    writeFileSync(join(this.data, 'standby.signal'), '')
    await this.start(clock)
  }

  async promote(): Promise<void> {
    // Reset this before the server accepts writes: its first write would wait for a synchronous standby that does not exist.
    await this.execute(
      'alter system reset synchronous_standby_names',
      'select pg_reload_conf()',
      'select pg_promote(true)',
    )
    await until('promoted', async () => (await this.read('pg_is_in_recovery()')) === false)
  }

  async synchronous(on: boolean): Promise<void> {
    await this.execute(
      `alter system set synchronous_standby_names = '${on ? '*' : ''}'`,
      'select pg_reload_conf()',
    )
    if (!on) return
    const state = "(select sync_state from pg_stat_replication where state = 'streaming')"
    await until('the standby is synchronous', async () => (await this.read(state)) === 'sync')
    // When the standby has acknowledged this row, it also has everything that was committed before.
    await this.execute('insert into synchronous default values')
  }

  async isFollowed(): Promise<boolean> {
    return (await this.read('(select state from pg_stat_replication)')) === 'streaming'
  }

  /** Shuts the server down. A clean shutdown waits until the standby has everything. */
  stepDown(): Promise<void> {
    return this.stop('SIGINT')
  }
}

/** Starts a pair with streaming replication. */
export function postgresPair(options?: PairOptions): Promise<Pair> {
  const synchronous = "synchronous_standby_names = '*'"
  return startPair('postgres', synchronous, (followed) => PostgresNode.at(followed), options)
}
