import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** A replacement that breaks one file. */
export interface Break {
  /** What it breaks. */
  readonly breaks: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

const project = join(__dirname, '../..')
const LEFT_OUT = ['.git', 'node_modules', 'dist']

/** A copy of the project in which one file can be broken at a time. */
export class BrokenCopy {
  readonly path = mkdtempSync(join(tmpdir(), 'shedlock-broken-'))

  constructor() {
    cpSync(project, this.path, { recursive: true, filter: (path) => !LEFT_OUT.includes(basename(path)) })
    symlinkSync(join(project, 'node_modules'), join(this.path, 'node_modules'))
  }

  whileBroken<T>({ file, find, replace }: Break, work: () => T): T {
    const path = join(this.path, file)
    const original = readFileSync(path, 'utf8')
    if (!original.includes(find))
      throw new Error(`${file} no longer contains '${find}' – correct the mutation.`)
    writeFileSync(
      path,
      original.replaceAll(find, () => replace),
    )
    try {
      return work()
    } finally {
      writeFileSync(path, original)
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true })
  }
}
