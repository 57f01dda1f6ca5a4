import type { LockTableOptions } from '../sql'

export type ModuleFormat = 'ts' | 'esm' | 'cjs'

/** The source of a file for a TypeORM project. */
export function typeOrmSource(
  what: 'migration' | 'entity',
  options: LockTableOptions,
  format: ModuleFormat,
): string {
  const make = what === 'migration' ? 'createShedLockMigration' : 'shedLockEntity'
  const name = what === 'migration' ? 'CreateShedLock1735689600000' : 'ShedLock'
  const call = `${make}(${Object.keys(options).length === 0 ? '' : literal(options)})`
  return format === 'cjs'
    ? `const { ${make} } = require('shedlock-orm/typeorm')\n\nexports.${name} = ${call}\n`
    : `import { ${make} } from 'shedlock-orm/typeorm'\n\nexport const ${name} = ${call}\n`
}

function literal(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  }
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${literal(each)}`)
    .join(', ')} }`
}
