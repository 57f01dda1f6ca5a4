/** A file that `init` writes: a new one, or text at the end of one that exists. */
export interface Write {
  /** Relative to the project's folder. */
  readonly file: string
  readonly text: string
  readonly appends?: boolean
}

/** Something that is left to the user. */
export interface Step {
  readonly what: string
  readonly code?: string
  /** What code is written in; default: `ts`. */
  readonly language?: 'sh'
}

/** What `init` does in a project with one ORM. */
export interface Plan {
  /** What it found, such as the ORM and its version. */
  readonly found: readonly string[]
  readonly writes: readonly Write[]
  /** What is already there, so that it is not written. */
  readonly present: readonly string[]
  readonly steps: readonly Step[]
  /** The provider's module, name and client in code. */
  readonly provider: { readonly entry: string; readonly name: string; readonly client: string }
  /** Closes the client, where it has a method for that. */
  readonly close?: string
  /** The file of TypeORM's DataSource. */
  readonly dataSource?: string | undefined
  /** Whether that file also starts the app, which the command line must not. */
  readonly startsApp?: boolean
  /** The form of the database's URL, where no file says it; absent if the command line takes none. */
  readonly url?: string | undefined
  /** A driver for the command line, which Prisma's own engine is not; absent if the project has one. */
  readonly missingDriver?: string | undefined
  /** The variables that name the database. */
  readonly variables?: readonly string[]
}

/** How the options of most clients are called that limit how long a connection may take to open. */
export const LIMITS = /\bconnect(ion)?Timeout/
/** Begins the step for a client without such a limit. */
export const WHY_LIMITS =
  'Limit how long a connection may take to open, or jobs wait for minutes when the network fails'
