import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { availableBackends, testBackends } from '../backends'

const root = join(__dirname, '../..')
let packages: string

/** The packages of this project, and the library as it is published. */
beforeAll(() => {
  packages = mkdtempSync(join(tmpdir(), 'shedlock-packages-'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  }
  const library = join(packages, 'shedlock-orm')
  mkdirSync(library)
  cpSync(join(root, 'package.json'), join(library, 'package.json'))
  const node = (...args: string[]) => execFileSync(process.execPath, args, { cwd: root })
  node(
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.build.json',
    '--outDir',
    join(library, 'dist'),
    '--noCheck',
  )
  node('scripts/build-entries.mjs', join(library, 'dist'))
  node('scripts/build-cli.mjs', join(library, 'dist', 'cli'))
})

afterAll(() => {
  rmSync(packages, { recursive: true })
})

interface Project {
  readonly typeorm: 'typeorm' | 'typeorm-0.3'
  readonly extension: 'cjs' | 'mjs' | 'ts'
  readonly type: 'commonjs' | 'module'
  readonly node?: readonly string[]
}

const projects: Project[] = [
  { typeorm: 'typeorm', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm-0.3', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm', extension: 'mjs', type: 'module' },
  { typeorm: 'typeorm', extension: 'ts', type: 'commonjs', node: ['--import', 'tsx'] },
  { typeorm: 'typeorm', extension: 'ts', type: 'module', node: ['--import', 'tsx'] },
]
// Each kind of project on one database, and one kind on each other: the rest is the same code.
const cases = availableBackends()
  .filter(({ shared }) => shared)
  .flatMap((backend, index) =>
    projects.slice(0, index === 0 ? undefined : 1).map((project) => ({ backend, ...project })),
  )

describe("TypeORM's command line", () => {
  testBackends(cases)(
    'runs the migration on $backend.name: $typeorm, $extension, $type',
    async ({ backend, typeorm, extension, type, node = [] }) => {
      const database = await backend.create()
      const project = mkdtempSync(join(tmpdir(), 'shedlock-project-'))
      symlinkSync(packages, join(project, 'node_modules'))
      writeFileSync(join(project, 'package.json'), JSON.stringify({ type }))
      const run = (...args: string[]): string => {
        const { status, stdout, stderr } = spawnSync(process.execPath, args, {
          cwd: project,
          encoding: 'utf8',
        })
        if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
        return stdout
      }
      const shedlock = (...args: string[]) => run('node_modules/shedlock-orm/dist/cli/shedlock.js', ...args)
      const dataSource = `data-source.${extension}`
      const migrate = (command: string, ...args: string[]) =>
        run(...node, `node_modules/${typeorm}/cli.js`, command, ...args, '--dataSource', dataSource)
      try {
        const names = ['--table', 'JobLocks', '--column-locked-by', 'Owner']
        shedlock('typeorm', ...names, '--out', `migrations/shedlock.${extension}`)
        shedlock('typeorm', '--entity', ...names, '--out', `entities/shedlock.${extension}`)
        writeFileSync(
          join(project, `migrations/own.${extension}`),
          exporting(extension, 'AddOrders1795000000000', OWN_MIGRATION),
        )
        const options = `{ ...${JSON.stringify(database.typeOrm)}, entities: ['entities/*.${extension}'], migrations: ['migrations/*.${extension}'] }`
        writeFileSync(
          join(project, dataSource),
          extension === 'cjs'
            ? `const { DataSource } = require('${typeorm}')\nmodule.exports = new DataSource(${options})\n`
            : `import { DataSource } from '${typeorm}'\nexport const AppDataSource = new DataSource(${options})\n`,
        )

        const ran = migrate('migration:run')
        expect(ran).toContain('Migration CreateShedLock1735689600000 has been executed successfully.')
        expect(ran).toContain('Migration AddOrders1795000000000 has been executed successfully.')
        expect(migrate('migration:run')).toContain('No migrations are pending')
        expect(migrate('migration:generate', 'drift', '--check')).toContain('No changes')
        if (extension !== 'ts')
          expect(shedlock('list', '--data-source', dataSource, ...names)).toBe('There are no locks.\n')
        migrate('migration:revert')
        expect(migrate('migration:revert')).toContain(
          'CreateShedLock1735689600000 has been reverted successfully',
        )
      } finally {
        rmSync(project, { recursive: true })
        await database.drop()
      }
    },
  )
})

const OWN_MIGRATION = `class AddOrders1795000000000 {
  async up(queryRunner) { await queryRunner.query('create table orders (id int primary key)') }
  async down(queryRunner) { await queryRunner.query('drop table orders') }
}`

function exporting(extension: Project['extension'], name: string, source: string): string {
  return extension === 'cjs' ? `exports.${name} = ${source}\n` : `export const ${name} = ${source}\n`
}
