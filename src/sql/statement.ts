/** The values that a lock statement may need. A statement names them; whoever runs it binds them. */
export interface Values {
  readonly name?: string
  readonly lockedBy?: string
  /** In milliseconds. */
  readonly lockAtMostFor?: number
  /** In milliseconds. */
  readonly lockAtLeastFor?: number
  readonly unlockedBy?: string
  /** In milliseconds since 1970. */
  readonly slot?: number | undefined
  /** In milliseconds. */
  readonly slotAtMostAhead?: number
  readonly schema?: string | null
  readonly table?: string
}

/** SQL text with holes: there is always one piece of text more than there are holes. */
export interface Statement {
  readonly pieces: readonly string[]
  readonly parameters: readonly (keyof Values)[]
}

/** A hole for a value that is bound, never written into the text. */
export function parameter(name: keyof Values): Statement {
  return { pieces: ['', ''], parameters: [name] }
}

/** Text as it is: for quoted identifiers and for what a dialect spells itself. */
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
    parts[index]?.pieces.forEach((piece, hole) => {
      if (hole === 0) append(piece)
      else pieces.push(piece)
    })
  })
  return { pieces, parameters: parts.flatMap((part) => part.parameters) }
}

/** A statement in the words of one client. */
export interface Spelled {
  readonly text: string
  /** The values in the order of the holes; `null` for those that are not given. */
  readonly bind: (values: Values) => (string | number | null)[]
}

/**
 * Spells the holes as a client wants them.
 *
 * @param placeholder gives the text for the hole at this position, counted from 0
 */
export function spell(statement: Statement, placeholder: (position: number) => string): Spelled {
  const [first = '', ...rest] = statement.pieces
  return {
    text: rest.reduce((text, piece, position) => text + placeholder(position) + piece, first).trim(),
    bind: (values) => statement.parameters.map((name) => values[name] ?? null),
  }
}

/** Spells each statement once: they are made once for each table. */
export function speller(placeholder: (position: number) => string): (statement: Statement) => Spelled {
  const spelled = new WeakMap<Statement, Spelled>()
  return (statement) => {
    const known = spelled.get(statement) ?? spell(statement, placeholder)
    spelled.set(statement, known)
    return known
  }
}
