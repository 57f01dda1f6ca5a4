import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync, chmodSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A database's data directory. It is a small disk of its own, which can be filled up, if this process may mount one. */
export class DataDirectory {
  readonly path = mkdtempSync(join(tmpdir(), 'shedlock-chaos-'))
  /** Whether the directory is a disk of its own. */
  readonly mounted: boolean

  constructor(megabytes: number) {
    chmodSync(this.path, 0o777)
    this.mounted = mount(this.path, megabytes)
    process.once('exit', this.#remove)
  }

  /** Fills the disk completely until the work is done. */
  async whileFull(work: () => Promise<void>): Promise<void> {
    const file = join(this.path, 'fill')
    try {
      fill(file)
      await work()
    } finally {
      rmSync(file, { force: true })
    }
  }

  remove(): void {
    process.off('exit', this.#remove)
    this.#remove()
  }

  readonly #remove = (): void => {
    if (this.mounted) execFileSync('umount', ['--lazy', this.path])
    rmSync(this.path, { recursive: true, force: true })
  }
}

function mount(path: string, megabytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0777`, 'tmpfs', path], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (let size = 1 << 20; size >= 512; size >>= 1) writeUntilFull(file, Buffer.alloc(size))
  } finally {
    closeSync(file)
  }
}

function writeUntilFull(file: number, chunk: Buffer): void {
  try {
    for (;;) writeSync(file, chunk)
  } catch {
    return
  }
}
