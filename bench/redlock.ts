import { createRequire } from 'node:module'
import type { Redis } from 'ioredis'

export interface RedlockLock {
  release(): Promise<unknown>
}

interface RedlockLike {
  on(event: 'error', listener: () => void): void
  acquire(resources: string[], duration: number): Promise<RedlockLock>
}

// The `exports` of redlock 5.0.0-beta.2 do not include its types.
export const { default: Redlock } = createRequire(__filename)('redlock') as {
  default: new (clients: Redis[], options: object) => RedlockLike
}
