import { LockProvider } from '../../src/core/lock-provider'

/** A provider that is nothing but these functions. */
export function providerOf(
  acquire: LockProvider['acquire'],
  drain?: NonNullable<LockProvider['drain']>,
): LockProvider {
  class Provider extends LockProvider {
    acquire(...all: Parameters<typeof acquire>): ReturnType<typeof acquire> {
      return acquire(...all)
    }
    override async drain(...all: Parameters<NonNullable<LockProvider['drain']>>): Promise<void> {
      await drain?.(...all)
    }
  }
  return new Provider()
}
