import {
  acquisitionOf,
  activeLock,
  clientError,
  doAllAssertsPass,
  inMemory,
  configurationError,
  LockError,
  type ActiveLock,
} from '../core/internal'
import { Attempt } from './calls'
import { MOVED_CLOCK, unfitError } from './database-errors'
import { LockRow } from './lock-row'
import type { LockTable } from './lock-table'
import { title, valuesOf } from './names'
import { COLUMN, readNumber } from './results'
import { DriverError, type SqlClient } from './session'
import type { LockValues } from './sql'

/**
 * Returns the row behind a lock, which a guard has to pin; `undefined` in unit tests, for a lock in memory that is still held.
 *
 * @throws LockError `NOT_LOCKED` without a lock, `INVALID_CONFIGURATION` for a lock of another storage, `LOCK_LOST` for a lock in
 *   memory that is no longer held
 */
export async function rowToPin(lock: ActiveLock | undefined): Promise<LockRow | undefined> {
  const acquisition = lock && acquisitionOf(lock)
  if (acquisition instanceof LockRow) return acquisition
  if (doAllAssertsPass()) return undefined
  if (!lock) {
    throw new LockError(
      'NOT_LOCKED',
      'There is no active lock that could guard the transaction – call the guard inside a locked task, or pass the lock to it.',
    )
  }
  if (!acquisition || !inMemory.has(acquisition)) {
    throw configurationError(
      `Lock '${lock.name}' is not kept in a SQL table, so it cannot guard a transaction – use typeOrmLockProvider, prismaLockProvider or SqlLockProvider.`,
      lock.name,
    )
  }
  // This checks whether the lock is still held.
  await lock.fencingToken()
  return undefined
}

/**
 * Lets a transaction commit only while the lock is held, so that a task that was suspended beyond its lease cannot commit stale
 * work. Call it last before the commit, because until then neither an extension nor a successor can change the lock's row. For
 * TypeORM and Prisma, use the `guard` of their entry points, which takes their transaction.
 *
 * @param transaction runs its statements inside the open transaction, in the lock table's database
 * @param lock default: the innermost active lock
 * @throws LockError `LOCK_LOST` if the lock is no longer held: roll back; `NOT_LOCKED` outside of a locked task;
 *   `INVALID_CONFIGURATION` for a lock that is not kept in SQL; `DATABASE_ERROR`. A serialization failure, a deadlock or a busy
 *   file is passed on as the client's own error: run the transaction again.
 */
export async function guard(
  transaction: SqlClient,
  lock: ActiveLock | undefined = activeLock(),
): Promise<void> {
  const row = await rowToPin(lock)
  if (!row) return
  await guardTransaction(transaction, row)
  await expectTransaction(transaction, row)
}

/** Creates the error for a guard outside of a transaction. @param advice what to pass */
export function outsideError(advice: string): LockError {
  return clientError(`guard needs an open transaction – ${advice}`)
}

/**
 * Checks that the pin and this statement are in one transaction, where the database has a way to find out.
 *
 * @throws LockError `INVALID_CLIENT`
 */
async function expectTransaction(transaction: SqlClient, { table }: LockRow): Promise<void> {
  const { isInTransaction, failsInTransaction } = table.dialect.table
  const attempt = new Attempt(transaction, {})
  const outside = outsideError(
    'pass a client that runs its statements inside the transaction, on its connection, and call guard before the commit.',
  )
  if (isInTransaction) {
    const [row = {}] = await attempt.query(isInTransaction)
    const isOpen = readNumber(row, COLUMN.isOpen)
    if (isOpen === 1) return
    if (isOpen === 0) throw outside
  }
  if (!failsInTransaction) return
  try {
    await attempt.execute(failsInTransaction, {}, 'changed')
  } catch {
    // As expected in a transaction. A server without this statement fails as well.
    return
  }
  throw outside
}

/**
 * Checks that this acquisition still holds the lock, and keeps its row unchanged until the transaction ends.
 *
 * @param transaction runs its statements inside the transaction
 * @throws LockError `LOCK_LOST`, `DATABASE_ERROR`, `INVALID_CLIENT`. If the transaction itself loses a race (serialization failure,
 *   deadlock, busy file), the client's own error is passed on, so that code that retries your transactions recognises it.
 */
export async function guardTransaction(transaction: SqlClient, row: LockRow): Promise<void> {
  const { table, name: lockName, owner } = row
  const attempt = new Attempt(transaction, {}, lockName)
  const values = { name: lockName, lockedBy: owner }
  try {
    await expectRowLocks(attempt, table)
    const { pin, pinOwn } = table.statements
    if (await pins(attempt, pin, values)) return
    await expectServerClock(attempt, table)
    // The snapshot of the transaction may have an earlier lease, which is over although the lock was extended.
    if ((await attempt.changes(pinOwn, values)) > 0 && (await pins(attempt, pin, values))) return
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
    const { code, message, cause } = error
    if (code !== undefined && code in table.dialect.transientErrors) throw cause
    throw new LockError(
      'DATABASE_ERROR',
      `The guard of lock '${lockName}' failed in the database: ${message}`,
      { lockName, cause },
    )
  }
  throw new LockError(
    'LOCK_LOST',
    `As far as this transaction can see, lock '${lockName}' is no longer held – roll it back, because another instance may hold the lock.`,
    { lockName },
  )
}

async function pins(
  attempt: Attempt,
  { kind, statement }: LockTable['statements']['pin'],
  values: LockValues,
): Promise<boolean> {
  if (kind === 'write') return (await attempt.changes(statement, values)) > 0
  return (await attempt.query(statement, values)).length > 0
}

/** @throws LockError `INVALID_CLIENT` if the session has a clock of its own, by which a lock may look as if it were lost, or held */
async function expectServerClock(attempt: Attempt, { dialect, statements }: LockTable): Promise<void> {
  if (!dialect.unfit) return
  // A server that stood still during the statement looks as if its session had another clock.
  for (let reading = 0; reading < 2; reading++) {
    const { rows } = await attempt.execute(statements.now, {}, 'rows')
    if (readNumber(rows[0] ?? {}, COLUMN.unfit) !== MOVED_CLOCK) return
  }
  throw unfitError(MOVED_CLOCK, attempt.lockName)
}

/** Those whose rows are known to be locked until a transaction ends. */
const withRowLocks = new WeakSet<LockTable>()

/** @throws LockError `TABLE_MISMATCH` if the engine of the table has no transactions, so that nothing would be pinned */
async function expectRowLocks(attempt: Attempt, table: LockTable): Promise<void> {
  const { engineOf } = table.dialect.table
  if (!engineOf || withRowLocks.has(table)) return
  const { names } = table.sql
  const rows = await attempt.query(engineOf, valuesOf(table.sql))
  const other = rows.find(({ engine }) => engine !== null && engine !== 'InnoDB')
  if (other)
    throw new LockError(
      'TABLE_MISMATCH',
      `Table '${title(names)}' has the engine ${String(other['engine'])}, whose rows no transaction keeps locked, so it cannot guard one – run: alter table ${names.tableName} engine = InnoDB`,
      { lockName: attempt.lockName },
    )
  withRowLocks.add(table)
}
