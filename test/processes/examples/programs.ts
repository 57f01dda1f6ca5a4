import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { read } from '../../project'

/** The files of an app: their names without `.ts`, and their texts. */
type Programs = ReadonlyMap<string, string>

/** What the root's package.json does not have. */
export const own = join(__dirname, 'node_modules')

/** The `ts scheduler` blocks of a page. */
function ofPage(page: string, change: (text: string, file: string) => string): Map<string, string> {
  const blocks = read(page).matchAll(/^```ts scheduler\n\/\/ (\S+)\.ts\n(.*?)^```$/gms)
  return new Map([...blocks].map(([, file = '', program = '']) => [file, change(program, file)]))
}

const NEVER = "'0 0 1 1 *'"
const SOON = "'*/2 * * * * *'"
/**
 * Bree starts a worker for each fire. On a busy machine that took more than five seconds, and a worker that starts later than the next
 * fire is due has the next slot.
 */
const SOON_FOR_BREE = "hasSeconds: true, cron: '*/10 * * * * *'"

/** The program with a lock of its own, and due every few seconds. */
function dueSoon(text: string, lock: string): string {
  return text
    .replace(/name: 'report'(?=,\s+(lockAtMostFor|distributed):)/, `name: '${lock}'`)
    .replace("cron: '*/15 * * * *'", SOON_FOR_BREE)
    .replace("'*/15 * * * *'", SOON)
}

/** The programs in a folder. */
function inFolder(name: string): Map<string, string> {
  const folder = join(__dirname, name)
  return new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [file.replace(/\.ts$/, ''), readFileSync(join(folder, file), 'utf8')]),
  )
}

const wrappers = inFolder('wrappers')
/** Programs that the pages describe in a line, because they differ from others in no more. */
const described = inFolder('described')

const unchanged = ofPage('docs/schedulers.md', (text) => text)
const schedulers = ofPage('docs/schedulers.md', dueSoon)
for (const file of ['toad-scheduler', 'bree']) schedulers.set(file, dueSoon(described.get(file) ?? '', file))
// A scheduler that the tests have in two versions is in two files.
const croner = unchanged.get('croner')?.replaceAll("'croner'", "'croner-10'") ?? ''
schedulers.set('croner-10', dueSoon(croner, 'croner-10'))

/** Enough for two instances to share. */
export const many = (word: string): string[] => Array.from({ length: 24 }, (_, index) => `${word}-${index}`)

const recipe = (text: string, file: string): string =>
  text
    .replace("'0 3 * * *'", file.startsWith('catch-up') ? NEVER : SOON)
    .replace("'2h'", "'366d'")
    .replace("'*/15 * * * *'", SOON)
    .replace("['report', 'clean-up', 'import']", JSON.stringify(many('job')))
    .replace("['acme', 'globex', 'initech']", JSON.stringify(many('customer')))
const recipes = ofPage('docs/guides/recipes.md', recipe)
for (const [file, text] of described)
  if (/^(catch-up|newest|spread)/.test(file)) recipes.set(file, recipe(text, file))
recipes.set('jobs/report', unchanged.get('jobs/report') ?? '')

const soon = (text: string): string => text.replaceAll("'*/15 * * * *'", SOON)
const monitors = ofPage('docs/guides/monitors.md', soon)
monitors.set('monitor-coordinator', soon(described.get('monitor-coordinator') ?? ''))
/** The programs of the guide about monitors. */
export const MONITORS = [...monitors.keys()]
/** What the page warns of: the check-in is around the lock. */
const around = `
import * as Sentry from '@sentry/node'
import nodeCron from 'node-cron'
import { slotOf } from 'shedlock-orm'

Sentry.init({ dsn: process.env['SENTRY_DSN'] ?? '' })
const send = executor.wrap(
  { name: 'report', lockAtMostFor: '14m', slot: slotOf, onError: () => undefined },
  () => sendReport(),
)
Sentry.cron.instrumentNodeCron(nodeCron).schedule(${SOON}, send as never, { name: 'report' })
`
monitors.set('around', around)

/** The apps that the tests start, each of these programs. */
export const APPS = { schedulers, recipes, monitors, wrappers } satisfies Record<string, Programs>
