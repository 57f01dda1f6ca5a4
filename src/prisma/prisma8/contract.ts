import { checkOptions, invalid } from '../../core'
import { lockTable, TABLE_OPTIONS, type LockTableOptions } from '../../sql'
import { dialectOfProvider, modelText, type FieldTypes, type PrismaProvider } from '../prisma-model'

const FIELD_TYPES: Readonly<Partial<Record<PrismaProvider, FieldTypes>>> = {
  // Not Timestamp(3), which the ORM reads as a Temporal.PlainDateTime: Node.js 22 and 24 have none.
  postgresql: { text: (length) => `VarChar(${length})`, time: 'TimestampString(3)' },
}

/**
 * The lock table as a model for the `contract.prisma` of Prisma 8. `prisma migration plan` makes the table of it that
 * locks need, and leaves it alone afterwards.
 *
 * @throws LockError `INVALID_CONFIGURATION`, also for a provider other than `postgresql`
 */
export function prismaContract(provider: PrismaProvider, options: LockTableOptions = {}): string {
  checkOptions(options, TABLE_OPTIONS, 'contract options')
  const types = FIELD_TYPES[provider]
  if (!types) {
    throw invalid(
      `There is no lock table for Prisma 8 with '${provider}' yet – known is ${Object.keys(FIELD_TYPES).join(', ')}.`,
    )
  }
  const { names } = lockTable(dialectOfProvider(provider), options)
  const model = modelText(names, types)
  return names.schema === undefined
    ? model
    : `namespace ${names.schema} {\n${model.replaceAll(/^(?=.)/gm, '  ')}}\n`
}
