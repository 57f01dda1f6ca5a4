import { checkOptions, LockError } from '../core'
import { lockTable, TABLE_OPTIONS, type LockTableOptions } from '../sql'
import { dialectOfProvider, mapped, modelText, type PrismaProvider } from './prisma-model'

/** The types of the migrations' columns, in the words of Prisma 8's contracts. */
interface ContractTypes {
  readonly text: (length: number) => string
  readonly time: string
}

const CONTRACT_TYPES: Readonly<Partial<Record<PrismaProvider, ContractTypes>>> = {
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
  const types = CONTRACT_TYPES[provider]
  if (!types) {
    throw new LockError(
      'INVALID_CONFIGURATION',
      `There is no lock table for Prisma 8 with '${provider}' yet – known is ${Object.keys(CONTRACT_TYPES).join(', ')}.`,
    )
  }
  const { schema, table, columns } = lockTable(dialectOfProvider(provider), options).names
  const { text, time } = types
  const model = modelText(table, undefined, [
    ['name', text(64), `@id${mapped('name', columns.name)}`],
    ['lockUntil', time, mapped('lockUntil', columns.lockUntil)],
    ['lockedAt', time, mapped('lockedAt', columns.lockedAt)],
    ['lockedBy', text(255), mapped('lockedBy', columns.lockedBy)],
  ])
  return schema === undefined ? model : `namespace ${schema} {\n${model.replaceAll(/^(?=.)/gm, '  ')}}\n`
}
