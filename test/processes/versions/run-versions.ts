import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DATABASES } from '../chaos/databases'
import { monotonic } from '../chaos/history'
import { program } from '../program'
import { checkVersions, type VersionsVerdict } from './check-versions'
import { NAMES, type InstanceEntry, type InstanceOrder } from './entry'

/** Processes of each version. */
const EACH = 2

/** Lets two versions of the package, unpacked in these folders, work on one table. */
export async function runVersions(
  folders: Readonly<Record<string, string>>,
  db: keyof typeof DATABASES,
  { milliseconds, url }: { milliseconds: number; url?: string | undefined },
): Promise<VersionsVerdict & { readonly database: string }> {
  const database = await DATABASES[db](Object.values(NAMES).flat(), url)
  const directory = mkdtempSync(join(tmpdir(), 'shedlock-versions-'))
  const [from, wallFrom] = [monotonic(), Date.now()]
  try {
    const versions = Object.keys(folders).flatMap((version) => Array.from({ length: EACH }, () => version))
    const file = program(join(__dirname, 'instance.ts'))
    const ended = await Promise.allSettled(
      versions.map(async (version, index) => {
        const order: InstanceOrder = {
          ...{ folder: folders[version] ?? '', version, connection: database.connection(), milliseconds },
          ...{ seed: index + 1, file: join(directory, `${index}.jsonl`) },
        }
        await instance(file, order)
        const lines = readFileSync(order.file, 'utf8').trimEnd().split('\n')
        return { version, entries: lines.map((line) => JSON.parse(line) as InstanceEntry) }
      }),
    )
    const processes = ended.map((each) => {
      if (each.status === 'rejected') throw each.reason as Error
      return each.value
    })
    const segment = { fault: 'none', from, to: monotonic(), wallFrom, wallTo: Date.now() }
    const { changes } = await database.witness()
    return { database: database.version, ...checkVersions({ processes, changes, segment }) }
  } finally {
    await database.close()
    rmSync(directory, { recursive: true })
  }
}

function instance(file: string, order: InstanceOrder): Promise<void> {
  const child = spawn(process.execPath, [file, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('exit', (status) => {
      if (status === 0) resolve()
      else reject(new Error(`A process of ${order.version} ended with ${String(status)}.`))
    })
  })
}
