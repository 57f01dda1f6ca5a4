import assert from 'node:assert/strict'
import type { LockRecord, SqlLockProvider } from '../../src/sql/internal'

/** The row of a lock, which exists. */
export async function lockRow(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const record = await provider.table.find(name)
  assert(record, `lock '${name}' has no row`)
  return record
}
