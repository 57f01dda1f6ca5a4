import { freePort } from '../../test/backends/free-port'
import { MYSQL } from '../servers/mysql-programs'
import { MySqlServer } from '../servers/mysql-server'
import { TcpProxy } from '../../test/backends/tcp-proxy'
import type { Cluster } from './cluster'
import { faultsOfGroup } from './one-primary'
import { until } from './until'

const MEMBERS = 3
const GROUP = '5d1e10c4-0f0a-4c53-9d6e-5f1a11e0a0b1'
const REPLICA = 'replica'
const CHANNEL = "for channel 'group_replication_recovery'"
const OF_GROUP = 'from performance_schema.replication_group_members'

/** One member of a group with a single primary, as in InnoDB Cluster. */
class GroupMember extends MySqlServer {
  private constructor(port: number, group: number, members: readonly number[]) {
    const ofGroup = {
      'group-name': GROUP,
      'local-address': `127.0.0.1:${group}`,
      'group-seeds': members.map((member) => `127.0.0.1:${member}`).join(),
      'ip-allowlist': '127.0.0.1',
      'start-on-boot': 'OFF',
      'recovery-get-public-key': 'ON',
    }
    super(MYSQL, port, 1_500, [
      '--gtid-mode=ON',
      '--enforce-gtid-consistency=ON',
      '--report-host=127.0.0.1',
      '--plugin-load-add=group_replication.so',
      ...Object.entries(ofGroup).map(([name, value]) => `--loose-group-replication-${name}=${value}`),
    ])
  }

  static async several(): Promise<GroupMember[]> {
    const groups = await Promise.all(Array.from({ length: MEMBERS }, () => freePort()))
    const members: GroupMember[] = []
    for (const group of groups) {
      const member = new GroupMember(await freePort(), group, groups)
      const statements = [
        `create user ${REPLICA}@'%' identified by '${REPLICA}'`,
        `grant replication slave, backup_admin, connection_admin, group_replication_stream on *.* to ${REPLICA}@'%'`,
        'reset binary logs and gtids',
      ]
      await member.initialize(members[0], statements)
      members.push(member)
    }
    return members
  }

  /** Starts the member. The first one creates the group. */
  async begin(first: boolean): Promise<void> {
    await this.startEmpty()
    await this.execute(
      `change replication source to source_user = '${REPLICA}', source_password = '${REPLICA}' ${CHANNEL}`,
    )
    if (first) await this.execute('set global group_replication_bootstrap_group = on')
    await this.join()
    if (first) await this.execute('set global group_replication_bootstrap_group = off')
  }

  /** Starts the member again after a crash. */
  async comeBack(): Promise<void> {
    await this.start(undefined, ['--super-read-only=1'])
    await this.join()
  }

  async join(): Promise<void> {
    await this.execute('start group_replication')
    await until(
      'the member is online',
      async () =>
        (await this.read(`(select member_state ${OF_GROUP} where member_id = @@server_uuid)`)) === 'ONLINE',
    )
  }

  /** Returns how many members are online, as this member sees it. */
  async online(): Promise<number> {
    return Number(await this.read(`(select count(*) ${OF_GROUP} where member_state = 'ONLINE')`))
  }

  async isPrimary(): Promise<boolean> {
    const own = `(select member_role ${OF_GROUP} where member_id = @@server_uuid and member_state = 'ONLINE')`
    return (await this.read(own)) === 'PRIMARY' && Number(await this.read('@@super_read_only')) === 0
  }
}

/** Starts three members with a single primary, behind an address that leads to the primary. */
export async function groupReplication(): Promise<Cluster> {
  const members = await GroupMember.several()
  for (const [index, member] of members.entries()) await member.begin(index === 0)
  const address = await TcpProxy.listen(0)
  let primary: GroupMember | undefined
  const current = (): GroupMember => {
    if (!primary) throw new Error('there is no primary')
    return primary
  }
  const changed = (former?: GroupMember) =>
    until('there is a new primary', async () => {
      for (const member of members)
        if (member !== former && (await member.isPrimary().catch(() => false))) {
          primary = member
          return true
        }
      return false
    })
  const whole = () => until('all members are online', async () => (await current().online()) === MEMBERS)
  await changed()
  await whole()
  address.redirect(current().port)

  const faults = faultsOfGroup<GroupMember>({
    addresses: [address],
    members,
    primary: current,
    changed,
    whole,
    switchOver: async (former) => {
      const next = members.find((member) => member !== former)
      const uuid = String(await next?.read('@@server_uuid'))
      await former.execute(`select group_replication_set_as_primary('${uuid}')`)
    },
    comeBack: (member) => member.comeBack(),
  })

  return {
    title: 'Group Replication, three members, one primary',
    dialect: 'mysql',
    version: await current().version(),
    addresses: [address, address],
    faults,
    loses: false,
    heldBy: () => current().heldBy(),
    close: async () => {
      await address.close()
      await Promise.all(members.map((member) => member.close()))
    },
  }
}
