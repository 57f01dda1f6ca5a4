import { appendFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { inspect } from 'node:util'

/** Runs programs one after the other, in one process: most of the time of each would be spent with the loading of TypeORM. */
const [, , report, ...programs] = process.argv

/** A reader would copy what the library warns of. */
let warning
process.on('warning', (each) => {
  if (each.code?.startsWith('SHEDLOCK_')) warning ??= each
})

for (const program of programs) {
  process.chdir(dirname(program))
  let error
  try {
    const { dataSource } = await import(program)
    if (basename(program) === 'data-source.mjs') await deploy(dataSource)
    await new Promise(setImmediate)
    if (warning) throw warning
  } catch (thrown) {
    error = inspect(thrown)
    warning = undefined
  }
  appendFileSync(report, `${JSON.stringify({ program, error })}\n`)
}
// A scheduler would keep it running; what matters is that each program gets to its last line.
process.exit()

/** What a deploy does before the instances start. */
async function deploy(dataSource) {
  await dataSource.initialize()
  await dataSource.runMigrations()
  await dataSource.destroy()
}
