import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/backends/free-port'
import { DataDirectory } from '../servers/data-directory'
import {
  askPostgres,
  heldInPostgres,
  POSTGRES_BINARIES,
  POSTGRES_SCHEMA,
  POSTGRES_USER,
  versionOfPostgres,
} from '../servers/postgres-server'
import { ServerProcess, signalFamily, startAs } from '../../test/backends/server-process'
import { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Cluster } from './cluster'
import { faultsOfGroup } from './one-primary'
import type { PairOptions } from './pair'
import { until } from './until'

const LOCAL = '127.0.0.1'

interface Member {
  readonly name: string
  readonly role: string
  readonly state: string
}

/** A PostgreSQL server and the Patroni agent that decides its role. */
class PatroniNode {
  /**
   * Kills the server, which is not a child of this process. Registered before the folder's removal, because the pid is in the
   * folder.
   */
  readonly #onExit = (): void => {
    this.#signalServer('SIGKILL')
  }
  readonly #process = process.once('exit', this.#onExit)
  readonly #directory = new DataDirectory(600)
  readonly #data = join(this.#directory.path, 'data')
  readonly #agent: ServerProcess

  private constructor(
    readonly name: string,
    readonly port: number,
    private readonly api: number,
    store: number,
    synchronous: boolean,
  ) {
    const config = join(this.#directory.path, 'patroni.yml')
    const address = `${LOCAL}:${api}`
    const trusted = ['all', 'replication'].map((database) => `host ${database} all ${LOCAL}/32 trust`)
    // JSON is valid YAML.
    writeFileSync(
      config,
      JSON.stringify({
        scope: 'failover',
        name,
        restapi: { listen: address, connect_address: address },
        etcd3: { host: `${LOCAL}:${store}` },
        bootstrap: {
          dcs: {
            ttl: 20,
            loop_wait: 2,
            retry_timeout: 5,
            synchronous_mode: synchronous,
            postgresql: { parameters: { max_connections: 150, wal_log_hints: 'on' } },
          },
          initdb: ['data-checksums'],
          pg_hba: trusted,
        },
        postgresql: {
          listen: `${LOCAL}:${port}`,
          connect_address: `${LOCAL}:${port}`,
          data_dir: this.#data,
          bin_dir: POSTGRES_BINARIES,
          pgpass: join(this.#directory.path, 'pgpass'),
          use_pg_rewind: true,
          remove_data_directory_on_rewind_failure: true,
          remove_data_directory_on_diverged_timelines: true,
          parameters: { unix_socket_directories: this.#directory.path },
          pg_hba: trusted,
          authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
        },
      }),
    )
    chmodSync(config, 0o644)
    this.#agent = new ServerProcess(
      () => startAs(POSTGRES_USER, 'patroni', [config]),
      () => Promise.resolve(),
    )
  }

  static async at(name: string, store: number, synchronous: boolean): Promise<PatroniNode> {
    return new PatroniNode(name, await freePort(), await freePort(), store, synchronous)
  }

  start(): Promise<void> {
    return this.#agent.start()
  }

  /** Returns all nodes as this one sees them. */
  async members(): Promise<Member[]> {
    const response = await fetch(`http://${LOCAL}:${this.api}/cluster`, {
      signal: AbortSignal.timeout(1_000),
    })
    return ((await response.json()) as { members: Member[] }).members
  }

  /** Returns whether the node accepts writes, as its agent reports to a load balancer. */
  isLeader(): Promise<boolean> {
    return fetch(`http://${LOCAL}:${this.api}/primary`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  async switchOver(candidate: string): Promise<void> {
    const body = JSON.stringify({ leader: this.name, candidate })
    const response = await fetch(`http://${LOCAL}:${this.api}/switchover`, { method: 'POST', body })
    if (!response.ok) throw new Error(`the switchover failed: ${await response.text()}`)
  }

  /** Kills the agent, and the server, which is not its child. */
  async kill(): Promise<void> {
    this.#signalServer('SIGKILL')
    await this.#agent.kill()
  }

  freeze(): void {
    this.#agent.freeze()
    this.#signalServer('SIGSTOP')
  }

  async close(): Promise<void> {
    this.#agent.thaw()
    await this.kill()
    this.#process.off('exit', this.#onExit)
    this.#directory.remove()
  }

  #signalServer(signal: NodeJS.Signals): void {
    const file = join(this.#data, 'postmaster.pid')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0
    if (pid > 0) signalFamily({ pid }, signal)
  }
}

/** Starts three nodes with an agent each, behind an address that follows the leader as a load balancer does. */
export async function patroni({ asynchronous = false }: PairOptions = {}): Promise<Cluster> {
  const store = await startStore()
  const make = (name: string) => PatroniNode.at(name, store.port, !asynchronous)
  const nodes = [await make('one'), await make('two'), await make('three')] as const
  const address = await TcpProxy.listen(0)
  const leaderAmong = async (): Promise<PatroniNode | undefined> => {
    const leads = await Promise.all(nodes.map((node) => node.isLeader()))
    return nodes[leads.indexOf(true)]
  }
  let leader: PatroniNode = nodes[0]
  const changed = (former?: PatroniNode) =>
    until('there is a leader that accepts writes', async () => {
      const found = await leaderAmong()
      if (!found || found === former) return false
      await askPostgres(found.port, 'create temporary table writable (id int)')
      leader = found
      return true
    })
  const whole = () =>
    until('all nodes follow the leader', async () => {
      const members = await leader.members()
      const follows = (role: string) =>
        members.filter((member) => member.role === role && /streaming|running/.test(member.state)).length
      return (
        members.length === nodes.length &&
        follows('leader') === 1 &&
        follows('replica') + follows('sync_standby') === nodes.length - 1 &&
        (asynchronous || follows('sync_standby') > 0)
      )
    })
  for (const node of nodes) await node.start()
  await changed()
  await askPostgres(leader.port, ...POSTGRES_SCHEMA)
  await whole()
  address.redirect(leader.port)

  const faults = faultsOfGroup<PatroniNode>({
    addresses: [address],
    members: nodes,
    primary: () => leader,
    changed,
    whole,
    switchOver: async (former) => {
      const members = await former.members()
      const candidate = members.find(({ role }) => role === (asynchronous ? 'replica' : 'sync_standby'))
      await former.switchOver(candidate?.name ?? '')
    },
    comeBack: (node) => node.start(),
  })

  return {
    title: `Patroni, three nodes, ${asynchronous ? 'asynchronous' : 'synchronous_mode'}`,
    dialect: 'postgres',
    version: await versionOfPostgres(leader.port),
    addresses: [address, address],
    faults,
    // Even if asynchronous, nothing is lost here: no standby is ever behind.
    loses: false,
    heldBy: () => heldInPostgres(leader.port),
    close: async () => {
      await address.close()
      await Promise.all(nodes.map((node) => node.close()))
      await store.close()
    },
  }
}

/** Starts etcd, in which the agents record who the leader is. */
async function startStore(): Promise<{ port: number; close(): Promise<void> }> {
  const directory = new DataDirectory(200)
  const [port, peers] = [await freePort(), await freePort()]
  const client = `http://${LOCAL}:${port}`
  const peer = `http://${LOCAL}:${peers}`
  const options = {
    'data-dir': join(directory.path, 'data'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  }
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  const server = new ServerProcess(
    () => startAs(POSTGRES_USER, 'etcd', args),
    async () => {
      const { ok } = await fetch(`${client}/health`)
      if (!ok) throw new Error('etcd is not healthy')
    },
  )
  await server.start()
  return {
    port,
    close: async () => {
      await server.kill()
      directory.remove()
    },
  }
}
