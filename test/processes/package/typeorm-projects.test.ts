import { mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { installed, installInto, node, temporaryFolder } from './packed-package'

const folder = temporaryFolder()
const packages = join(folder, 'packages')

/** The packages of this project, and the library as it is published. */
beforeAll(() => {
  const app = join(folder, 'app')
  installInto(app)
  mkdirSync(packages)
  for (const name of readdirSync(installed(''))) symlinkSync(installed(name), join(packages, name))
  symlinkSync(join(app, 'node_modules/shedlock-orm'), join(packages, 'shedlock-orm'))
})

interface Project {
  readonly typeorm: 'typeorm' | 'typeorm-0.3'
  readonly extension: 'cjs' | 'mjs' | 'ts'
  readonly type: 'commonjs' | 'module'
  readonly loader?: readonly string[]
}

const projects: Project[] = [
  { typeorm: 'typeorm', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm-0.3', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm', extension: 'mjs', type: 'module' },
  { typeorm: 'typeorm', extension: 'ts', type: 'commonjs', loader: ['--import', 'tsx'] },
  { typeorm: 'typeorm', extension: 'ts', type: 'module', loader: ['--import', 'tsx'] },
]

// On a SQLite file: that the table has no drift on the other databases is in test/typeorm/entity-and-migration.test.ts.
describe("TypeORM's command line", () => {
  test.each(projects)(
    'runs the migration: $typeorm, $extension, $type',
    ({ typeorm, extension, type, loader = [] }) => {
      const project = mkdtempSync(join(folder, 'project-'))
      symlinkSync(packages, join(project, 'node_modules'))
      writeFileSync(join(project, 'package.json'), JSON.stringify({ type }))
      const dataSource = `data-source.${extension}`
      const migrate = (command: string, ...args: string[]) =>
        node(
          project,
          ...loader,
          `node_modules/${typeorm}/cli.js`,
          command,
          ...args,
          '--dataSource',
          dataSource,
        )
      for (const folder of ['migrations', 'entities']) mkdirSync(join(project, folder))
      const names = ['--table-name', 'JobLocks', '--column-names', 'lockedBy=Owner']
      const out = ['--out', `migrations/1764547200001-locks.${extension}`]
      node(project, 'node_modules/shedlock-orm/dist/cli/shedlock.js', 'typeorm', ...names, ...out)
      const entity = "shedLockEntity({ tableName: 'JobLocks', columnNames: { lockedBy: 'Owner' } })"
      const imported =
        extension === 'cjs'
          ? "const { shedLockEntity } = require('shedlock-orm/typeorm')"
          : "import { shedLockEntity } from 'shedlock-orm/typeorm'"
      writeFileSync(
        join(project, `entities/shedlock.${extension}`),
        `${imported}\n${exporting(extension, 'ShedLock', entity)}`,
      )
      writeFileSync(
        join(project, `migrations/own.${extension}`),
        exporting(extension, 'AddOrders1700000000000', OWN_MIGRATION),
      )
      const options = `{ type: 'better-sqlite3', database: 'test.sqlite', entities: ['entities/*.${extension}'], migrations: ['migrations/*.${extension}'] }`
      writeFileSync(
        join(project, dataSource),
        extension === 'cjs'
          ? `const { DataSource } = require('${typeorm}')\nmodule.exports = new DataSource(${options})\n`
          : `import { DataSource } from '${typeorm}'\nexport const AppDataSource = new DataSource(${options})\n`,
      )

      const ran = migrate('migration:run')
      expect(ran).toContain('Migration CreateShedLock1764547200001 has been executed successfully.')
      expect(ran).toContain('Migration AddOrders1700000000000 has been executed successfully.')
      // The same for each, once its files were read.
      if (extension === 'cjs') {
        expect(migrate('migration:run')).toContain('No migrations are pending')
        expect(migrate('migration:generate', 'drift', '--check')).toContain('No changes')
      }
      expect(migrate('migration:revert')).toContain(
        'CreateShedLock1764547200001 has been reverted successfully',
      )
    },
  )
})

const OWN_MIGRATION = `class AddOrders1700000000000 {
  async up(queryRunner) { await queryRunner.query('create table orders (id int primary key)') }
  async down(queryRunner) { await queryRunner.query('drop table orders') }
}`

function exporting(extension: Project['extension'], name: string, source: string): string {
  return extension === 'cjs' ? `exports.${name} = ${source}\n` : `export const ${name} = ${source}\n`
}
