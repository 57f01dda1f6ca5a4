import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { transformSync } from 'esbuild'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { root } from '../../../project'
import { SITE } from './site-server'

interface Index {
  search(query: string): readonly { readonly id: string }[]
}

/** What a module exports under this name. */
function exported(text: string, name: string): unknown {
  const { code } = transformSync(text, { loader: 'ts', format: 'cjs' })
  const exports: { exports: Record<string, unknown> } = { exports: {} }
  const run = runInThisContext(`(function (module) { ${code}\n})`) as (module: typeof exports) => void
  run(exports)
  return exports.exports[name]
}

let index: Index

/** Opens the index of the built site as its search box does. */
beforeAll(() => {
  const chunks = join(SITE, 'assets/chunks')
  const file = readdirSync(chunks).find((name) => name.includes('localSearchIndexroot')) ?? ''
  const stored = exported(readFileSync(join(chunks, file), 'utf8'), 'default')
  const own = exported(readFileSync(join(root, 'site/.vitepress/search.mts'), 'utf8'), 'searchOptions')
  const { options, searchOptions } = own as Record<'options' | 'searchOptions', object>
  const MiniSearch = createRequire(join(root, 'site/package.json'))('minisearch') as {
    loadJSON(json: unknown, options: object): Index
  }
  index = MiniSearch.loadJSON(stored, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, ...searchOptions },
    ...options,
  })
})

const first = (query: string): string => index.search(query)[0]?.id ?? 'nothing'

describe('the search finds the answer first', () => {
  it.each([
    ['runs twice', '/docs/guides/operating#it-runs-twice'],
    ['stuck lock', '/docs/guides/operating#states'],
    ['delete a lock', '/docs/guides/operating'],
    ['graceful shutdown', '/docs/shutdown#graceful-shutdown'],
    ['pgbouncer', '/docs/guides/failover#pgbouncer'],
    ['lambda', '/docs/guides/failover#serverless-functions'],
    ['read-only server', '/docs/guides/failover#a-read-only-server'],
    ['daylight saving', '/docs/schedulers#slots'],
    ['tenants', '/docs/guides/recipes#'],
    ['next.js', '/docs/guides/recipes#nextjs-nuxt-monorepos'],
    ['leader election', '/docs/guides/leader-election#leader-election'],
    ['fencing token', '/docs/how-a-lock-behaves#fencing-tokens'],
    ['keep alive', '/docs/how-a-lock-behaves#keep-alive'],
    ['error codes', '/docs/options#errors'],
    ['metrics', '/docs/guides/operating#metrics-and-logs'],
    ['rename the table', '/docs/tables#rename-the-table'],
    ['which databases', '/docs/works-with#databases'],
    ['cloudflare workers', '/docs/works-with#cloudflare-workers'],
    ['java', '/docs/guides/coming-from#javas-shedlock'],
    ['sentry', '/docs/guides/monitors#sentry'],
    ['unit test', '/docs/nestjs#unit-tests'],
  ])('%s: %s', (query, page) => {
    expect(first(query)).toContain(page)
  })
})

/** What an operator and a newcomer type. */
describe("a question in a user's words finds its answer first or second", () => {
  it.each([
    ['job ran twice', 'guides/operating#it-runs-twice'],
    ['cron fires on every instance', 'schedulers#schedulers-slots-and-durations'],
    ['unlock manually', 'cli#shedlock-orm-release'],
    ['lock held after crash', 'guides/recipes#rare-jobs'],
    ['job did not run last night', 'guides/operating#it-never-runs'],
    ['job missed during deploy', 'guides/recipes#catch-up-a-missed-run'],
    ['run it now', 'schedulers#run-it-now'],
    ['pool exhausted', 'guides/operating#timeout'],
    ['too many connections', 'guides/failover#whose-connections'],
    ['prisma mariadb adapter', 'prisma#mysql-and-mariadb'],
    ['prisma migrate drops shedlock table', 'prisma#the-table'],
    ['typeorm migration', '/#typeorm'],
    ['nestjs cron decorator', '/#nestjs'],
    ['which lockAtMostFor', 'options#a-lock'],
    ['long running job', 'schedulers#how-long'],
    ['lock lost', 'how-a-lock-behaves#how-a-lock-behaves'],
    ['sigterm', 'shutdown#kubernetes'],
    ['kubernetes cronjob', 'guides/failover#kubernetes'],
    ['vercel cron', 'guides/failover#serverless-functions'],
    ['two clocks differ', 'guides/operating#it-runs-twice'],
    ['alert when job fails', 'guides/operating#alert-on'],
    ['who holds the lock', 'guides/operating#states'],
    ['disable a job temporarily', 'cli#shedlock-orm-pause-and-resume'],
    ['mock lock in jest', 'guides/testing-your-jobs#'],
    ['drizzle', 'guides/other-sql-clients#'],
    ['setInterval', 'schedulers#setinterval-and-other-timers'],
    ['exactly once', 'how-a-lock-behaves#guarantees'],
    ['retry failed job', 'schedulers#until-it-succeeded'],
    ['permission denied', 'tables#privileges'],
  ])('%s: %s', (query, page) => {
    const found = index.search(query).map(({ id }) => id)
    expect(found.slice(0, 2).find((id) => id.includes(page)) ?? found.slice(0, 4)).toContain(page)
  })
})

it('no page of the reference comes before a guide, unless exactly its name was typed', () => {
  const queries = ['stop a job', 'lock', 'run', 'release lock', 'table', 'locks by hand', 'test', 'provider']
  const names = ['lock']
  const wrong = queries.filter((query) => first(query).includes('/docs/api/') && !names.includes(query))
  expect(wrong).toEqual([])
})

it.each(['executeOnce', 'LockError', 'typeOrmLockProvider', 'SchedulerLock', 'runNow'])(
  'the reference of %s comes first',
  (name) => {
    expect(first(name)).toMatch(new RegExp(`/docs/api/.*/${name}#`))
  },
)
