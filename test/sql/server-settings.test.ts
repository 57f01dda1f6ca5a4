import assert from 'node:assert/strict'
import { expect, it } from '@jest/globals'
import { dialects, render } from '../../src/sql/internal'
import { availableBackends, describeBackends } from '../backends'
import { openDatabase } from '../backends/open-database'

interface Judged {
  readonly wrong: readonly string[]
  readonly right: readonly string[]
}

/** Under which a crash of the server may forget a lock. They are the server's own, so that no test sets them. */
const FORGETFUL = {
  'flush at commit': {
    wrong: [
      'innodb_flush_log_at_trx_commit 0',
      'innodb_flush_log_at_trx_commit 2, sync_binlog 1',
      'innodb_flush_log_at_trx_commit 1, sync_binlog 0',
      'innodb_flush_log_at_trx_commit 1, sync_binlog 100',
    ],
    right: ['innodb_flush_log_at_trx_commit 1', 'innodb_flush_log_at_trx_commit 1, sync_binlog 1'],
  },
  // A node of Galera is needed to switch it on. MySQL does not have it.
  galera: { wrong: ['ON'], right: ['OFF'] },
}
/** What a server or a user says of itself that lets two hold a lock after a failover; no test sets it. */
const FAILOVER: Readonly<Record<string, Readonly<Record<string, Judged>>>> = {
  postgres: {
    'synchronous standby': { wrong: ['none'], right: ['ok'] },
    'confirmation of commits': { wrong: ['awaited in vain'], right: ['ok'] },
    'synchronous commit': { wrong: ['off', 'local'], right: ['on', 'remote_write', 'remote_apply'] },
  },
  mysql: {
    ...FORGETFUL,
    'read-only server': { wrong: ['1', 'ON', 'NO_LOCK'], right: ['0', 'OFF'] },
    'privilege to write in spite of read_only': {
      wrong: ['SUPER', 'READ ONLY ADMIN', 'CONNECTION_ADMIN,SUPER'],
      right: ['none'],
    },
    'consistency of the group': { wrong: ['EVENTUAL'], right: ['BEFORE_ON_PRIMARY_FAILOVER', 'BEFORE'] },
  },
}

describeBackends(
  availableBackends().filter(({ dialect }) => ['postgres', 'mysql', 'mariadb'].includes(dialect)),
)('A setting of $name that a lock needs', (backend) => {
  it.each(Object.entries(FAILOVER[backend.dialect === 'postgres' ? 'postgres' : 'mysql'] ?? {}))(
    '%s is read and judged',
    async (name, { wrong, right }) => {
      const setting = dialects[backend.dialect].table.settings?.find((each) => each.name === name)
      assert(setting)
      for (const value of wrong) expect(value).toMatch(setting.wrong)
      for (const value of right) expect(value).not.toMatch(setting.wrong)
      const { dataSource } = await openDatabase(backend)
      const rows = await dataSource.query<object[]>(render(setting.read))
      // MySQL has no Galera, and without its plugin there is no consistency of a group.
      if (!/galera|group/.test(name)) expect(rows).toHaveLength(1)
      for (const row of rows) expect(String(Object.values(row).at(-1))).toMatch(/^[\w ,]+$/)
    },
  )
})
