import { freePort } from '../../test/backends/free-port'
import { APP } from '../servers/database-server'
import { MARIADB } from '../servers/mysql-programs'
import { MySqlServer } from '../servers/mysql-server'
import type { Pair } from './cluster'
import { startPair, type PairNode, type PairOptions } from './pair'
import { until } from './until'

const REPLICA = 'replica'
const COLUMNS = 'name, lock_until, locked_at, locked_by'
const SNAPSHOT = ['FILE', 'POSITION'].map(
  (part) =>
    `(select variable_value from information_schema.session_status where variable_name = 'BINLOG_SNAPSHOT_${part}')`,
)

/** One MariaDB server, which is a primary or replicates from one by GTID. */
class MariaDbNode extends MySqlServer implements PairNode {
  private constructor(
    port: number,
    private readonly followed: number,
  ) {
    super(MARIADB, port, 1_500, [
      '--log-bin=binlog',
      '--log-slave-updates',
      '--binlog-format=ROW',
      // Every server starts read-only; it accepts writes only after it has been made the primary.
      '--read-only=1',
      '--skip-slave-start',
      // A standby that was cut off reconnects quickly.
      '--slave-net-timeout=2',
      '--rpl-semi-sync-master-timeout=3600000',
      '--rpl-semi-sync-master-wait-point=AFTER_SYNC',
    ])
  }

  /**
   * @param followed the port at which a standby finds the primary
   * @param first a server whose initial data to copy
   */
  static async at(followed: number, first?: MariaDbNode): Promise<MariaDbNode> {
    const node = new MariaDbNode(await freePort(), followed)
    const statements = [
      `create user ${REPLICA}@'%'`,
      `grant replication slave on *.* to ${REPLICA}@'%'`,
      'reset master',
    ]
    await node.initialize(first, statements)
    return node
  }

  async startAsPrimary(): Promise<void> {
    await this.startEmpty()
    await this.execute('set global read_only = 0')
  }

  async startAsCopy(primary: MariaDbNode, clock?: string): Promise<void> {
    await this.startEmpty(clock)
    const { position, rows } = await primary.#snapshot()
    await this.execute(
      'set sql_log_bin = 0',
      ...(rows.length > 0 ? [`insert into ${APP}.shedlock (${COLUMNS}) values ${rows.join()}`] : []),
      `set global gtid_binlog_state = '${position}'`,
      `set global gtid_slave_pos = '${position}'`,
    )
    await this.#replicate()
  }

  async stepDown(standby: MariaDbNode): Promise<void> {
    await this.execute('set global read_only = 1')
    const position = String(await this.read('@@gtid_binlog_pos'))
    await standby.execute(`do master_gtid_wait('${position}', 30)`)
  }

  async promote(): Promise<void> {
    await this.execute('stop slave io_thread')
    await until('everything received has been applied', async () => {
      const [status] = await this.execute('show slave status')
      return status?.['Gtid_IO_Pos'] === (await this.read('@@gtid_slave_pos'))
    })
    await this.execute(
      'stop slave',
      'reset slave all',
      'set global rpl_semi_sync_slave_enabled = 0',
      'set global rpl_semi_sync_master_enabled = 0',
      'set global read_only = 0',
    )
  }

  async follow(): Promise<void> {
    await this.execute(
      'set global rpl_semi_sync_master_enabled = 0',
      'set global gtid_slave_pos = @@gtid_binlog_pos',
    )
    await this.#replicate()
  }

  async synchronous(on: boolean): Promise<void> {
    await this.execute(`set global rpl_semi_sync_master_enabled = ${Number(on)}`)
    if (!on) return
    await until(
      'the standby acknowledges',
      async () =>
        (await this.status('Rpl_semi_sync_master_clients')) === '1' &&
        (await this.status('Rpl_semi_sync_master_status')) === 'ON',
    )
    // When the standby has acknowledged this row, it also has everything that was committed before.
    await this.execute(`insert into ${APP}.synchronous values ()`)
  }

  async isFollowed(): Promise<boolean> {
    const dumps = "(select count(*) from information_schema.processlist where command = 'Binlog Dump')"
    return Number(await this.read(dumps)) === 1
  }

  async #replicate(): Promise<void> {
    await this.execute(
      'set global read_only = 1',
      'set global rpl_semi_sync_slave_enabled = 1',
      `change master to master_host = '127.0.0.1', master_port = ${this.followed}, master_user = '${REPLICA}', master_use_gtid = slave_pos, master_connect_retry = 1, master_heartbeat_period = 0.5`,
      'start slave',
    )
  }

  /** Reads the rows of the lock table as SQL values, and the GTID position to which they correspond. */
  #snapshot(): Promise<{ position: string; rows: string[] }> {
    return this.inSession(async (run) => {
      await run('start transaction with consistent snapshot')
      const [position] = await run(`select binlog_gtid_pos(${SNAPSHOT.join()}) as position`)
      const rows = await run(
        `select concat('(', quote(name), ',', quote(lock_until), ',', quote(locked_at), ',', quote(locked_by), ')') as row_values from ${APP}.shedlock`,
      )
      return { position: String(position?.['position']), rows: rows.map((row) => String(row['row_values'])) }
    })
  }
}

/** Starts a pair with replication by GTID. */
export function mariaDbPair(options?: PairOptions): Promise<Pair> {
  return startPair<MariaDbNode>('mariadb', 'semi-synchronous', (...like) => MariaDbNode.at(...like), options)
}
