import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** For databases that live as long as a test. Linux keeps it in memory: the many small commits need not reach a disk. */
export const DIRECTORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
