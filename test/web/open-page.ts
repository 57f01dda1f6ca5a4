import { jest } from '@jest/globals'
import type { LockRecord } from '../../src/sql/records'
import { typeOrmLockProvider } from '../../src/typeorm/typeorm-lock-provider'
import { lockPage, type LockPageOptions } from '../../src/web/lock-page'
import { openMemory } from '../backends/open-database'

export const mutedWarnings = () => jest.spyOn(process, 'emitWarning').mockReturnValue()

export const said = (answer: Promise<Response>) =>
  answer.then(async (response) => [response.status, await response.text()] as const)

export const ADDRESS = 'https://app.example/locks'
/** What a browser sends with a form of the page. */
export const FROM_HERE = { 'sec-fetch-site': 'same-origin', origin: 'https://app.example' }

export interface Json {
  readonly locks: readonly (Partial<LockRecord> & { name: string; state: string; provider: string })[]
  readonly failures: readonly { provider: string; code: string; message: string }[]
}

/** A page about a table of its own, for a visitor who may do everything. */
export async function openPage(options: Partial<LockPageOptions> = {}) {
  const provider = await newProvider()
  return { provider, ...pageOf(provider, options) }
}

/** The same for tables that exist. */
export function pageOf(provider: Parameters<typeof lockPage>[0], options: Partial<LockPageOptions> = {}) {
  const page = lockPage(provider, { authorize: () => ({ user: 'ann' }), readOnly: false, ...options })
  const get = (query = '', headers: Record<string, string> = {}): Promise<Response> =>
    page(new Request(`${ADDRESS}${query}`, { headers }))
  return {
    page,
    get,
    html: async (query = ''): Promise<string> => (await get(query)).text(),
    json: async (query = ''): Promise<Json> =>
      (await get(query, { accept: 'application/json' })).json() as Promise<Json>,
    post: (
      asked: Readonly<Record<string, string>>,
      fields: Readonly<Record<string, string>> = {},
      headers: Readonly<Record<string, string>> = FROM_HERE,
    ): Promise<Response> =>
      page(
        new Request(`${ADDRESS}?${new URLSearchParams(asked).toString()}`, {
          ...{ method: 'POST', headers, body: new URLSearchParams(fields) },
        }),
      ),
  }
}

export async function newProvider() {
  const dataSource = await openMemory()
  const provider = typeOrmLockProvider(dataSource, { lockedBy: 'host-1/42' })
  await provider.table.create()
  const time = "coalesce(strftime('%Y-%m-%d %H:%M:%f', 'now', ?), 'infinity')"
  const row = `INSERT INTO shedlock(name, lock_until, locked_at, locked_by) VALUES (?, ${time}, ${time}, ?)`
  return Object.assign(provider, {
    /** Writes a row as another program may. It is held for a minute unless `until` says otherwise, in seconds from now. */
    insert: async (name: string, { owner = 'host-2/7', at = 0, until = 60 } = {}): Promise<void> => {
      await dataSource.query(row, [name, `${until} seconds`, `${at} seconds`, owner])
    },
    remove: async (name: string): Promise<void> => {
      await dataSource.query('DELETE FROM shedlock WHERE name = ?', [name])
    },
  })
}
