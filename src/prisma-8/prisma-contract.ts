import { parseOptions } from '../core/internal'
import { modelText } from '../prisma/internal'
import { dialects, TABLE_OPTIONS, tableSql, type LockTableOptions } from '../sql/internal'

/**
 * Returns a model of the lock table for the `contract.prisma` of Prisma 8 on PostgreSQL. From it, `prisma migration plan` creates the
 * table that locks need, and leaves it alone afterwards.
 *
 * @throws LockError `INVALID_CONFIGURATION`
 */
export function prismaContract(options: LockTableOptions = {}): string {
  parseOptions(options, TABLE_OPTIONS, 'contract options')
  const { names } = tableSql(dialects.postgres, options)
  // Not Timestamp(3), which the ORM reads as a Temporal.PlainDateTime: Node.js 22 and 24 do not have Temporal.
  const model = modelText(names, { text: (length) => `VarChar(${length})`, time: 'TimestampString(3)' })
  return names.schema === undefined
    ? model
    : `namespace ${names.schema} {\n${model.replaceAll(/^(?=.)/gm, '  ')}}\n`
}
