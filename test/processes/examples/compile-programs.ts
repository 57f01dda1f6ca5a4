import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The files of an app: their names without `.ts`, and their texts. */
export type Programs = ReadonlyMap<string, string>

const root = join(__dirname, '../../..')
/** What the root's package.json does not have. */
export const own = join(__dirname, 'node_modules')
/** Of these, what the programs import. */
const IMPORTED = [
  ...['node-schedule', '@types/node-schedule', 'bree', '@sentry/nestjs', '@sentry/node', 'nestjs-cls'],
  ...['', '-adapter-prisma'].map((end) => `@nestjs-cls/transactional${end}`),
  'typeorm-transactional',
]

/**
 * The apps of a user, who installed the package and the schedulers, and compiles as strictly as TypeScript can. Each is in a folder of its
 * own, with the files of `schedulers`; all are compiled together, because the compiler spends its time with the types of the packages.
 *
 * @returns the folder of all of them
 */
export function compilePrograms(apps: Readonly<Record<string, Programs>>): string {
  // Inside of the project, so that what it has installed is found.
  const folder = mkdtempSync(join(root, '.programs-'))
  for (const [app, programs] of Object.entries(apps)) {
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
  const tsc = join(root, 'node_modules/typescript-7/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc], { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(stdout)
  return folder
}
