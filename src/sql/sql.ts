/** The values of a statement. The statement refers to them by their names, and the executor binds them. */
export type SqlValues = Readonly<Record<string, string | number | null | undefined>>

/** The values that the statements of this package refer to. */
export type LockValues = Readonly<{
  name?: string
  /** The owner of one acquisition. */
  lockedBy?: string
  /** In milliseconds. */
  lockAtMostFor?: number
  /** In milliseconds. */
  keepFor?: number
  /** How much of the lease is unexpired when its release takes effect, by the holder's clock. In milliseconds; negative after its end. */
  unexpired?: number
  unlockedBy?: string
  /** In milliseconds since 1970. */
  slot?: number | undefined
  /** The owner of a row, and its `locked_at` in milliseconds since 1970, when the row was read. */
  seenBy?: string
  seenAt?: number
  /** `lock_until` of a row when it was read, in milliseconds since 1970. */
  seenUntil?: number
  schema?: string | null
  table?: string
}>

/** A SQL statement in pieces, with placeholders between them: there is one piece more than there are parameters. */
export interface Sql {
  /** What comes before, between and after the placeholders. */
  readonly pieces: readonly string[]
  /** Which value belongs to each placeholder, in their order. */
  readonly parameters: readonly string[]
}

/** Creates a parameter: its value is bound, never written into the statement. */
export function parameter(name: keyof LockValues): Sql {
  return { pieces: ['', ''], parameters: [name] }
}

/** The schema of the table that a statement is about, or null if none is named, and its name. */
export const SCHEMA = parameter('schema')
export const TABLE = parameter('table')

/** Inserts SQL as it is: quoted identifiers, and what a dialect writes itself. */
export function raw(text: string): Sql {
  return { pieces: [text], parameters: [] }
}

/** Composes a statement from others. Accepts only statements, so that a name or a value cannot become SQL by mistake. */
export function sql(text: TemplateStringsArray, ...parts: readonly Sql[]): Sql {
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
 * Returns a statement as a string for one client.
 *
 * @param placeholder returns the placeholder at this position, counted from 0. Default `?`
 */
export function render({ pieces }: Sql, placeholder: (position: number) => string = () => '?'): string {
  return pieces.reduce((text, piece, index) => text + placeholder(index - 1) + piece).trim()
}
