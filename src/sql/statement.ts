import { recogniseEveryCopy } from '../core'

/** The values that a lock statement may need. The statement names them as its parameters; whoever runs it binds them. */
export interface Values {
  readonly name?: string
  readonly lockedBy?: string
  /** In milliseconds. */
  readonly lockAtMostFor?: number
  /** In milliseconds. */
  readonly keepFor?: number
  readonly unlockedBy?: string
  /** In milliseconds since 1970. */
  readonly slot?: number | undefined
  /** Owner and `locked_at` of a row as it was seen. */
  readonly seenBy?: string
  readonly seenAt?: number
  readonly schema?: string | null
  readonly table?: string
}

/** SQL text with placeholders between its pieces: there is always one piece more than there are parameters. */
export interface Statement {
  /** The text before, between and after the placeholders. */
  readonly pieces: readonly string[]
  /** Which value belongs to each placeholder, in their order. */
  readonly parameters: readonly (keyof Values)[]
}

/** A value that is bound, never written into the text. */
export function parameter(name: keyof Values): Statement {
  return { pieces: ['', ''], parameters: [name] }
}

/** Text as it is: for quoted identifiers and for what a dialect writes itself. */
export function raw(text: string): Statement {
  return { pieces: [text], parameters: [] }
}

/** Puts statements together. Only statements fit into it, so that no name and no value can become text by mistake. */
export function sql(text: TemplateStringsArray, ...parts: readonly Statement[]): Statement {
  const pieces = ['']
  const append = (piece: string): void => {
    pieces.push((pieces.pop() ?? '') + piece)
  }
  text.forEach((words, index) => {
    append(words.replace(/\s+/g, ' '))
    parts[index]?.pieces.forEach((piece, position) => {
      if (position === 0) append(piece)
      else pieces.push(piece)
    })
  })
  return { pieces, parameters: parts.flatMap((part) => part.parameters) }
}

/**
 * The text of a statement for one client.
 *
 * @param placeholder the text of the placeholder at this position, counted from 0. Default `?`
 */
export function render({ pieces }: Statement, placeholder: (position: number) => string = () => '?'): string {
  return pieces.reduce((text, piece, index) => text + placeholder(index - 1) + piece).trim()
}

/** A row of a result: its values by the column names of the statement. */
export type Row = Readonly<Record<string, unknown>>

/**
 * How one client runs one statement: alone, in autocommit, on a connection that no transaction of the caller uses.
 * Rejects with a `DriverError`, or with a `LockError` `INVALID_CLIENT` when the client cannot be used at all.
 */
export interface SqlExecutor {
  /**
   * Runs a statement that writes.
   *
   * @returns how many rows it changed: `0` when it found none, `NaN` when the client does not tell
   */
  execute(statement: Statement, values: Values): Promise<number>
  /**
   * Runs a statement that reads.
   *
   * @returns the rows, with the columns as the statement names them
   */
  query(statement: Statement, values: Values): Promise<readonly Row[]>
}

/** An error of the database's driver, with what matters for a lock: the server's code, and whether the statement was sent at all. */
export class DriverError extends Error {
  static {
    recogniseEveryCopy(this, 'DriverError')
  }

  override readonly name = 'DriverError'
  /** The server's own code as text (`'40001'`, `'1213'`); `undefined` when no answer came, so that nobody knows what happened. */
  readonly code: string | undefined
  /** `false` when it is certain that the statement never reached the server, because there was no connection for it. */
  readonly sent: boolean

  constructor(code: string | undefined, cause: unknown, sent = true) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.code = code
    this.sent = sent
  }
}
