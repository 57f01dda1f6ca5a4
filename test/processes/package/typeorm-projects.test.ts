import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
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

type Extension = 'cjs' | 'mjs' | 'ts'

/** The files that a developer writes. */
function filesOf(typeorm: string, extension: Extension): Record<string, string> {
  const imported = (name: string, from: string): string =>
    extension === 'cjs' ? `const { ${name} } = require('${from}')` : `import { ${name} } from '${from}'`
  const exported = (name: string, value: string): string =>
    extension === 'cjs' ? `exports.${name} = ${value}` : `export const ${name} = ${value}`
  const dataSource = `new DataSource({
  type: 'better-sqlite3',
  database: 'test.sqlite',
  entities: ['entities/*.${extension}'],
  migrations: ['migrations/*.${extension}'],
})`
  const entity = "shedLockEntity({ tableName: 'JobLocks', columnNames: { lockedBy: 'Owner' } })"
  const migration = `class AddOrders1700000000000 {
  async up(queryRunner) { await queryRunner.query('create table orders (id int primary key)') }
  async down(queryRunner) { await queryRunner.query('drop table orders') }
}`
  return {
    'data-source': `${imported('DataSource', typeorm)}\n${exported('AppDataSource', dataSource)}\n`,
    'entities/shedlock': `${imported('shedLockEntity', 'shedlock-orm/typeorm')}\n${exported('ShedLock', entity)}\n`,
    'migrations/own': exported('AddOrders1700000000000', migration),
  }
}

// On a SQLite file: that the table has no drift on the other databases is in test/typeorm/entity-and-migration.test.ts.
test.each<{ typeorm: string; extension: Extension; type: string; loader?: readonly string[] }>([
  { typeorm: 'typeorm', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm-0.3', extension: 'cjs', type: 'commonjs' },
  { typeorm: 'typeorm', extension: 'mjs', type: 'module' },
  { typeorm: 'typeorm', extension: 'ts', type: 'commonjs', loader: ['--import', 'tsx'] },
  { typeorm: 'typeorm', extension: 'ts', type: 'module', loader: ['--import', 'tsx'] },
])(
  "TypeORM's command line runs the migration: $typeorm, $extension, $type",
  ({ typeorm, extension, type, loader = [] }) => {
    const project = join(folder, `${typeorm}-${extension}-${type}`)
    const files = Object.entries(filesOf(typeorm, extension))
    for (const [name, text] of files) {
      mkdirSync(dirname(join(project, name)), { recursive: true })
      writeFileSync(join(project, `${name}.${extension}`), text)
    }
    symlinkSync(packages, join(project, 'node_modules'))
    writeFileSync(join(project, 'package.json'), JSON.stringify({ type }))
    const names = ['--table-name', 'JobLocks', '--column-names', 'lockedBy=Owner']
    node(project, 'node_modules/shedlock-orm/dist/cli/shedlock.js', 'init', 'typeorm', ...names)
    const [file = ''] = readdirSync(join(project, 'migrations')).filter((name) => name !== `own.${extension}`)
    const [, date = ''] = /^(\d{13})-CreateShedLock\.\w+$/.exec(file) ?? []

    const cli = [...loader, `node_modules/${typeorm}/cli.js`]
    const migrate = (command: string, ...args: string[]): string =>
      node(project, ...cli, command, ...args, '--dataSource', `data-source.${extension}`)
    const ran = migrate('migration:run')
    expect(ran).toContain(`Migration CreateShedLock${date} has been executed successfully.`)
    expect(ran).toContain('Migration AddOrders1700000000000 has been executed successfully.')
    // The same for each, once its files were read.
    if (extension === 'cjs') {
      expect(migrate('migration:run')).toContain('No migrations are pending')
      expect(migrate('migration:generate', 'drift', '--check')).toContain('No changes')
      const reverted = `CreateShedLock${date} has been reverted successfully`
      expect(migrate('migration:revert')).toContain(reverted)
    }
  },
)
