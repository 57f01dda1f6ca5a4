import { join } from 'node:path'
import { inspect } from 'node:util'
import type { LockTableOptions } from '../../sql/internal'
import type { Project } from '../project'

/** The project, the names of the table, and the folders of migrations that were asked for. */
export interface Task {
  readonly project: Project
  readonly names: LockTableOptions
  readonly wanted: readonly string[]
}

/** A file that `init` writes, relative to the project's folder: a new one, or text at the end of one that exists. */
export interface Write {
  readonly file: string
  readonly text: string
  readonly appends?: boolean
}

/** Something that is left to the user, with code, a command, or nothing to copy. */
export type Step = readonly [what: string, code: string]

/** What `init` does in a project with one ORM. */
export interface Plan {
  /** What it found, such as the ORM and its version. */
  readonly found: readonly string[]
  readonly writes: readonly Write[]
  /** What has the table already. */
  readonly present: readonly string[]
  /** What may need the table too, but is left to the user. */
  readonly others?: readonly string[]
  readonly steps: readonly Step[]
  readonly provider: readonly [name: string, entry: string]
  /** What the app calls its client, and the path of the file that exports it, if it is known. */
  readonly client: { readonly name: string; readonly path?: string }
  /** The files that the command line can load to find the database, the likeliest first. */
  readonly dataSources?: readonly string[]
  /** A driver for the command line, which Prisma's own engine is not; absent if the project has one. */
  readonly missingDriver?: string | undefined
  /** The variable that names the database; empty if none does. */
  readonly variable?: string | undefined
  /** The URL, if the command line would find another one. */
  readonly url?: string | undefined
  /** Those of other databases that got the table, too. */
  readonly otherUrls?: readonly string[]
}

/** Table options as an argument; empty without any. */
export function literal(options: LockTableOptions & { readonly dialect?: string }): string {
  return Object.keys(options).length === 0 ? '' : inspect(options, { compact: true, breakLength: Infinity })
}

/** Code in TypeScript as the project is written: in JavaScript without types, and with `require` where most files have it. */
export function inStyleOf(project: Project, code: string): string {
  if (project.isTypeScript()) return code
  const plain = code.replace(/: (Cron|Date|CronJob)\b/g, '')
  const [imports, requires] = [/^import\b/m, /\brequire\(/].map((style) => project.sources(style).length)
  return project.manifest.type === 'module' || Number(imports) > Number(requires)
    ? plain
    : plain.replace(/^import (\{[^}]*\}) from ('[^']*')/gm, 'const $1 = require($2)')
}

/** The files that export a client which they make when they are loaded, not in a function, and what they call it. */
export function clientsOf(project: Project, type: string, usual: string) {
  const made = new RegExp(
    `^(?=\\w)(?!.*(?:=>|\\bfunction\\b))(?:.*\\b(?:const |exports\\.)(\\w+)\\b)?.*\\bnew (?:\\w+\\.)?${type}\\(`,
    'm',
  )
  return project.sources(made).flatMap((file) => {
    const text = project.read(file)
    const [, name = usual] = made.exec(text) ?? []
    const listed = `(?:export|(?:module\\.)?exports)\\b(?:[^{(>\\n]*|\\s*(?:=|default)?\\s*\\{[^}]*)\\b${name}\\b`
    const isExported = new RegExp(`^(?:export default new|module\\.exports = new|${listed})`, 'm').test(text)
    return isExported ? [{ name, path: join(project.root, file) }] : []
  })
}
