import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/backends/free-port'
import { canFakeTime } from '../../test/processes/fake-time'
import { hasGalera, MARIADB, GALERA_LIBRARY } from '../servers/mysql-programs'
import { MySqlServer } from '../servers/mysql-server'
import { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Cluster, Fault } from './cluster'
import { until } from './until'

const NODES = 3
/** Milliseconds. */
const PARTED = 12_000
const STOPPED = 10_000
const SILENT = 14_000

/** One of several primaries: each node accepts writes, and of two conflicting transactions only one can commit. */
class GaleraNode extends MySqlServer {
  private constructor(
    port: number,
    private readonly group: number,
    incremental: number,
    transfer: number,
    members: readonly number[],
  ) {
    const provider = {
      'gmcast.listen_addr': `tcp://127.0.0.1:${group}`,
      'ist.recv_addr': `127.0.0.1:${incremental}`,
      'gcache.size': '32M',
    }
    super(MARIADB, port, 1_500, [
      `--wsrep-provider=${GALERA_LIBRARY}`,
      '--wsrep-cluster-name=failover',
      `--wsrep-cluster-address=gcomm://${members.map((member) => `127.0.0.1:${member}`).join()}`,
      '--wsrep-node-address=127.0.0.1',
      `--wsrep-node-name=node-${port}`,
      `--wsrep-provider-options=${Object.entries(provider)
        .map((option) => option.join('='))
        .join(';')}`,
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${transfer}`,
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
    ])
  }

  static async several(): Promise<GaleraNode[]> {
    const ports = (count: number) => Promise.all(Array.from({ length: count }, () => freePort()))
    const groups = await ports(NODES)
    const nodes: GaleraNode[] = []
    for (const group of groups) {
      const [port = 0, incremental = 0, transfer = 0] = await ports(3)
      const node = new GaleraNode(port, group, incremental, transfer, groups)
      await node.initialize(nodes[0])
      nodes.push(node)
    }
    return nodes
  }

  /** Starts the node. The first one creates the group, and the others copy its data. */
  async join(how: { first?: true; clock?: string } = {}): Promise<void> {
    await this.start(how.clock, ['--wsrep-on=1', ...(how.first ? ['--wsrep-new-cluster'] : [])])
    await until('the node is synced', () => this.isReady())
  }

  async begin(first: boolean): Promise<void> {
    await this.startEmpty()
    await this.stop('SIGTERM')
    await this.join(first ? { first } : {})
  }

  async isReady(): Promise<boolean> {
    return (
      (await this.status('wsrep_ready')) === 'ON' &&
      (await this.status('wsrep_local_state_comment')) === 'Synced'
    )
  }

  /** Returns the size of the group as this node sees it. */
  async sizeOfGroup(): Promise<number> {
    return (await this.status('wsrep_cluster_status')) === 'Primary'
      ? Number(await this.status('wsrep_cluster_size'))
      : 0
  }

  /** Isolates the node from the other nodes, but not from its clients. */
  async isolate(on: boolean): Promise<void> {
    await this.execute(`set global wsrep_provider_options = 'gmcast.isolate=${Number(on)}'`)
  }
}

/** Starts three nodes, each with an address and clients of its own. */
export async function galera(): Promise<Cluster> {
  if (!hasGalera) throw new Error(`${GALERA_LIBRARY} is missing – install Debian's package galera-4.`)
  const nodes = await GaleraNode.several()
  for (const [index, node] of nodes.entries()) await node.begin(index === 0)
  const addresses = await Promise.all(nodes.map(({ port }) => TcpProxy.listen(port)))
  let turn = 0
  /** Picks the next node to fail, and another one that continues. */
  const next = () => {
    const index = turn++ % NODES
    const node = nodes[index]
    const other = nodes[(index + 1) % NODES]
    const address = addresses[index]
    if (!node || !other || !address) throw new Error('there are three nodes')
    return {
      node,
      other,
      address,
      goOn: () =>
        until(
          'the other nodes continue',
          async () => (await other.sizeOfGroup()) === NODES - 1 && (await other.isReady()),
        ),
    }
  }
  /** Asks all nodes, because one that was suspended believes for a moment that it still belongs to the group. */
  const whole = () =>
    until('all nodes are back', async () => {
      for (const node of nodes)
        if ((await node.sizeOfGroup()) !== NODES || !(await node.isReady())) return false
      return true
    })
  const comeBack = async (node: GaleraNode, address: TcpProxy, clock?: string): Promise<void> => {
    await node.join(clock === undefined ? {} : { clock })
    await whole()
    address.redirect(node.port)
    address.cutAll()
  }

  /** Redirects the clients of a node to another one before it ends. */
  const ended =
    (signal: NodeJS.Signals): Fault =>
    async (reachable) => {
      const { node, other, address, goOn } = next()
      address.redirect(other.port)
      await node.stop(signal)
      address.cutAll()
      await goOn()
      reachable()
      await comeBack(node, address)
    }
  /** Cuts off a node, but not its clients, for a while. */
  const apart =
    (milliseconds: number, setApart: (node: GaleraNode, on: boolean) => Promise<void> | void): Fault =>
    async (reachable) => {
      const { node, address, goOn } = next()
      await setApart(node, true)
      await goOn()
      for (const other of addresses) if (other !== address) reachable(other)
      await sleep(milliseconds)
      await setApart(node, false)
      await whole()
      reachable(address)
    }

  const faults: Record<string, Fault> = {
    'kill -9': ended('SIGKILL'),
    'planned switch': ended('SIGTERM'),
    partition: apart(PARTED, (node, on) => node.isolate(on)),
    'stopped and continued': apart(STOPPED, (node, on) => {
      if (on) node.freeze()
      else node.thaw()
    }),
    'silent machine': async (reachable) => {
      const { node, other, address, goOn } = next()
      node.freeze()
      address.redirect(other.port)
      await goOn()
      reachable()
      await sleep(SILENT)
      await node.kill()
      await comeBack(node, address)
    },
    ...(canFakeTime && {
      'one clock ahead': async (reachable: Parameters<Fault>[0]) => {
        const { node, other, address } = next()
        const restart = async (clock?: string): Promise<void> => {
          address.redirect(other.port)
          await node.stop('SIGTERM')
          await comeBack(node, address, clock)
        }
        await restart('+1s')
        await sleep(5_000)
        await restart()
        reachable()
      },
    }),
  }

  return {
    title: 'Galera, three nodes, clients on all of them',
    dialect: 'mariadb',
    version: `${String(await nodes[0]?.version())}, Galera ${String(await nodes[0]?.status('wsrep_provider_version'))}`,
    addresses,
    faults,
    loses: false,
    heldBy: async () => {
      for (const node of nodes) if (await node.isReady().catch(() => false)) return node.heldBy()
      return []
    },
    close: async () => {
      await Promise.all(addresses.map((address) => address.close()))
      await Promise.all(nodes.map((node) => node.close()))
    },
  }
}
