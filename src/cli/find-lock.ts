import type { LockRecord, SqlLockProvider } from '../sql'
import { CommandError, ExitCode } from './exit-code'

export async function findLock(provider: SqlLockProvider, name: string): Promise<LockRecord> {
  const lock = await lookForLock(provider, name)
  if (!lock) throw new CommandError(ExitCode.no, `There is no lock '${name}': it was never acquired.`)
  return lock
}

export async function lookForLock(
  provider: Pick<SqlLockProvider, 'listLocks'>,
  name: string,
): Promise<LockRecord | undefined> {
  return (await provider.listLocks()).find((each) => each.name === name)
}
