import { expect, it } from '@jest/globals'
import { parseLockConfiguration } from '../../src/core/configuration'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { describeBackends } from '../backends'
import { everyClient, openedClient, type ClientCase } from './every-client'
import type { SessionSettings } from './session-settings'
import { HOSTILE_LOCK_NAMES, quotingModes } from '../sql/quoting-modes'

interface Session {
  readonly title: string
  readonly settings?: SessionSettings
  /** As this ORM takes them. */
  readonly options?: object
  readonly names?: readonly string[]
}

const NAMES = ['report', '报告', '账单', 'Größe', 'żółw', '😀', 'a`[b]{c}|~\\\'"^@$£']
const LOCKED_BY = `主机/Größe o'wner\\" or 1=1 --`

const withSettings = (settings: SessionSettings): Session => ({
  title: `with ${JSON.stringify(settings)}`,
  settings,
})

const onMySql = (orm: ClientCase['orm']): Session[] => [
  // In GBK, the second byte of a character may be a backslash.
  ...['gbk', 'binary'].map((characterSet) =>
    withSettings({
      character_set_client: characterSet,
      character_set_connection: characterSet,
      character_set_results: characterSet,
    }),
  ),
  withSettings({
    character_set_client: 'latin1',
    character_set_connection: 'utf16',
    character_set_results: 'ascii',
    sql_mode: 'PAD_CHAR_TO_FULL_LENGTH',
  }),
  {
    title: 'of a driver that was given a character set',
    options: orm === 'TypeORM' ? { charset: 'cp1250_general_ci' } : { charset: 'cp1250' },
  },
]

interface PgClient {
  query(text: string): Promise<unknown>
}

const onPostgres = (orm: ClientCase['orm']): Session[] =>
  ['SJIS', 'SQL_ASCII'].map((encoding) => {
    // pg requests UTF8 when it connects, and that wins over the startup options and the defaults of the role.
    const onConnect = (client: PgClient) => client.query(`set client_encoding = '${encoding}'`)
    const options = orm === 'TypeORM' ? { extra: { onConnect } } : { onConnect }
    return { title: `after set client_encoding = ${encoding}`, options }
  })

const SESSIONS = { mysql: onMySql, mariadb: onMySql, postgres: onPostgres }

/** In which a quote or a backslash means something else. */
function quoting({ orm, dialect }: ClientCase): Session[] {
  const modes = quotingModes(dialect).map((mode) => ({ ...withSettings(mode), names: HOSTILE_LOCK_NAMES }))
  const text = { title: 'with the text protocol', options: { adapter: { useTextProtocol: true } } }
  const hasText = orm === 'Prisma' && ['mysql', 'mariadb'].includes(dialect)
  return [...modes, ...(hasText ? modes.slice(1).map((mode) => ({ ...mode, ...text })) : [])]
}

const cases = everyClient().flatMap((client) => {
  const sessions = SESSIONS[client.dialect as keyof typeof SESSIONS] as typeof onMySql | undefined
  return [...quoting(client), ...(sessions?.(client.orm) ?? [])].map((session) => ({
    ...client,
    ...session,
    title: `${client.title} in a session ${session.title}`,
  }))
})

/** Their refusals do not read it. */
const WITHOUT_HOLDER = ['postgres', 'cockroachdb', 'mssql']

describeBackends(cases)('$title', ({ settings, options, names = NAMES, ...each }) => {
  const client = openedClient(each, settings, options)

  it('every name is the same lock as in other sessions, and has the same owner', async () => {
    const odd = client.createProvider({ lockedBy: LOCKED_BY })
    const usual = typeOrmLockProvider(client.observer, { lockedBy: LOCKED_BY })
    const turns = [
      [odd, usual],
      [usual, odd],
    ] as const
    for (const [holder, other] of turns) {
      const locks = []
      for (const name of names) locks.push(await holder.lock({ name, lockAtMostFor: '1m' }))
      expect(locks.map((lock) => lock?.name)).toEqual(names)
      for (const name of names) {
        const { configuration } = parseLockConfiguration({ name, lockAtMostFor: '1m' })
        const lockedBy = WITHOUT_HOLDER.includes(each.dialect) ? undefined : LOCKED_BY
        expect(await other.acquire(configuration)).toEqual({
          reason: 'held',
          ...(lockedBy && { holder: expect.objectContaining({ lockedBy }) }),
        })
        expect(await other.table.find(name)).toMatchObject({
          name,
          lockedBy: (await holder.table.find(name))?.lockedBy,
        })
      }
      expect((await other.table.list()).map(({ name }) => name).sort()).toEqual([...names].sort())
      for (const lock of locks) {
        await lock?.extend('2m')
        expect(await lock?.fencingToken()).toBeGreaterThan(0)
        await lock?.unlock()
      }
      expect((await other.table.list()).filter(({ held }) => held)).toEqual([])
    }
  })

  it('a slot that failed runs again, though its owner has to be recognised', async () => {
    const provider = client.createProvider({ lockedBy: LOCKED_BY })
    const slot = { name: '重试', lockAtMostFor: '1m', slot: 1_700_000_000_000, untilSucceeded: true }
    const lock = await provider.lock(slot)
    await lock?.unlock({ outcome: 'failed' })
    expect(await provider.lock(slot)).toBeDefined()
  })
})
