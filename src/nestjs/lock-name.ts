import { createHash } from 'node:crypto'
import { checkLockName } from '../core'

/** Hexadecimal digits: 128 bits. Among a thousand million keys two have the same with a probability of 1 to 10 to the 21. */
const DIGEST = 32
const BEGINNING = 64 - '~'.length - DIGEST
/** A key that looks so is replaced as well, so that it is never the name of another one. */
const REPLACED = /~[0-9a-f]{32}$/

/**
 * The name of the lock for a key of any length and any characters. A key that is a name stays as it is, and excludes a
 * `@SchedulerLock` of that name; any other becomes its readable beginning, `~`, and a part of its SHA-256.
 */
export function lockNameOf(key: string): string {
  if (isName(key) && !REPLACED.test(key)) return key
  // Of UTF-16, because in UTF-8 all halves of a surrogate pair are the same.
  const digest = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex')
  const beginning = key.slice(0, BEGINNING).replace(/[\p{Cc}\p{Cs}]/gu, '?')
  return `${beginning.trimStart()}~${digest.slice(0, DIGEST)}`
}

function isName(key: string): boolean {
  try {
    checkLockName(key)
    return true
  } catch {
    return false
  }
}
