/** How a database driver wants statements and says errors: what every client on top of it has in common. */
export interface Driver {
  /** The text for the hole at this position, counted from 0. */
  readonly placeholder: (position: number) => string
  /**
   * The server's code for an error of this driver, as text.
   *
   * @returns `undefined` when the error is not an answer of the server, or does not tell what became of the statement
   */
  readonly errorCode: (error: object) => string | undefined
}

/** `$1`, `:1`, `@0`. */
export function numbered(sign: string, first: number): Driver['placeholder'] {
  return (position) => `${sign}${position + first}`
}
