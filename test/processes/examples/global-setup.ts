import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import findBackends from '../../jest/global-setup'
import { root } from '../../project'
import { APPS, own } from './programs'

/** What the programs import of what the root's package.json does not have. */
const IMPORTED = [
  ...['node-schedule', '@types/node-schedule', 'bree', '@sentry/nestjs', '@sentry/node', 'nestjs-cls'],
  ...['', '-adapter-prisma'].map((end) => `@nestjs-cls/transactional${end}`),
  'typeorm-transactional',
]

/** Finds the backends, and compiles the examples and the programs of the documentation as any other project would: through the package's exports. */
export default async function globalSetup(): Promise<void> {
  await findBackends()
  run(root, 'prisma/build/index.js', 'generate', '--schema', 'examples/nestjs-prisma/schema.prisma')
  run(root, 'typescript-7/bin/tsc', '-p', 'examples')
  // Inside of the project, so that what it has installed is found.
  const folder = mkdtempSync(join(root, '.programs-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  compilePrograms(folder)
  process.env['COMPILED_PROGRAMS'] = folder
}

/**
 * The apps of a user, who installed the package and the schedulers, and compiles as strictly as TypeScript can. Each is in a folder of its
 * own, with the files of `schedulers`; all are compiled together, because the compiler spends its time with the types of the packages.
 */
function compilePrograms(folder: string): void {
  for (const [app, programs] of Object.entries(APPS)) {
    cpSync(join(__dirname, 'schedulers'), join(folder, app), { recursive: true })
    // Once for all of them, because it is global.
    renameSync(join(folder, app, 'taken-for-granted.ts'), join(folder, 'taken-for-granted.ts'))
    for (const [file, text] of programs) {
      const path = join(folder, app, `${file}.ts`)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', strict: true, skipLibCheck: true, types: ['node'] },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
  }
  const include = ['*.ts', '*/*.ts', '*/jobs/*.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
  const packages = {
    ...{ 'shedlock-orm': root, croner: join(own, 'croner-11') },
    ...{ 'croner-10': join(root, 'node_modules/croner') },
    ...Object.fromEntries(IMPORTED.map((name) => [name, join(own, name)])),
  }
  for (const [name, target] of Object.entries(packages)) {
    const link = join(folder, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(target, link, 'junction')
  }
  run(folder, 'typescript-7/bin/tsc')
}

function run(cwd: string, script: string, ...parameters: string[]): void {
  execFileSync(process.execPath, [join(root, 'node_modules', script), ...parameters], {
    ...{ cwd, stdio: ['ignore', 'inherit', 'inherit'] },
    // Prisma downloads an engine before it does anything. Generating does not use it, so any file will do.
    env: { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, ...process.env },
  })
}
