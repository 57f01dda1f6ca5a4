/** The parameters of a statement that reads the rows of several locks. */
export const SEVERAL_NAMES = [
  'name1',
  'name2',
  'name3',
  'name4',
  'name5',
  'name6',
  'name7',
  'name8',
  'name9',
  'name10',
] as const

/** The values that a lock statement may need. The statement names them as its parameters; the executor binds them. */
export interface SqlValues extends Readonly<Partial<Record<(typeof SEVERAL_NAMES)[number], string>>> {
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
  /** `lock_until` of a row as it was seen, in milliseconds since 1970. */
  readonly seenUntil?: number
  readonly schema?: string | null
  readonly table?: string
}

/** SQL text with placeholders between its pieces: there is always one piece more than there are parameters. */
export interface Sql {
  /** The text before, between and after the placeholders. */
  readonly pieces: readonly string[]
  /** Which value belongs to each placeholder, in their order. */
  readonly parameters: readonly (keyof SqlValues)[]
}

/** A value that is bound, never written into the text. */
export function parameter(name: keyof SqlValues): Sql {
  return { pieces: ['', ''], parameters: [name] }
}

/** Text as it is: for quoted identifiers and for what a dialect writes itself. */
export function raw(text: string): Sql {
  return { pieces: [text], parameters: [] }
}

/** Puts statements together. Only statements fit into it, so that no name and no value can become text by mistake. */
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
 * The text of a statement for one client.
 *
 * @param placeholder the text of the placeholder at this position, counted from 0. Default `?`
 */
export function render({ pieces }: Sql, placeholder: (position: number) => string = () => '?'): string {
  return pieces.reduce((text, piece, index) => text + placeholder(index - 1) + piece).trim()
}
