import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

// Compiles every part of the project with the native compiler, which needs a fifth of the time of the other one.

/** The parts that have a tsconfig.json of their own, and the folder whose packages each needs. */
const PARTS = [
  { project: '.' },
  { project: 'test/nestjs' },
  { project: 'test/processes/page', packages: 'test/processes/page' },
  { project: 'test/processes/terminal', packages: 'test/processes/terminal' },
  { project: 'bench', packages: 'bench' },
  { project: 'examples/tsconfig.check.json', packages: 'test/processes/examples' },
  { project: 'examples/sql-clients', packages: 'examples/sql-clients' },
  { project: 'site', packages: 'site' },
]

/** Errors, because two parts compile the same sources. */
const printed = new Set([''])

for (const { project, packages } of PARTS) {
  if (packages && !existsSync(`${packages}/node_modules`)) {
    console.log(`${project} was not compiled – first run npm --prefix ${packages} install`)
    // CI installs the packages of all parts, so a missing one is an error there.
    if (process.env.CI) process.exitCode = 1
    continue
  }
  const known = join('node_modules/.cache/types', `${project.replaceAll('/', '-')}.tsbuildinfo`)
  const incremental = process.env.CI ? [] : ['--incremental', '--tsBuildInfoFile', known]
  const tsc = ['node_modules/typescript-7/bin/tsc', '--noEmit', '-p', project, ...incremental]
  const { status, stdout } = spawnSync(process.execPath, tsc, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // An error continues in lines that are indented.
  for (const error of stdout.split(/\n(?! )/)) {
    if (!printed.has(error)) console.log(error)
    printed.add(error)
  }
  if (status !== 0) process.exitCode = 1
}
