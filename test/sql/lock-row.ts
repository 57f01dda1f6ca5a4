import assert from 'node:assert/strict'
import type { LockRecord } from '../../src/sql/records'
import type { SqlLockProvider } from '../../src/sql/sql-lock-provider'

/** The row of a lock, which exists. */
export async function lockRow(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const record = await provider.table.find(name)
  assert(record, `lock '${name}' has no row`)
  return record
}
