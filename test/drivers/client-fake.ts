/** What a fake client returns: rows of a query, a count of changed rows, or an error of the server. */
export type Answer =
  { rows: Record<string, unknown>[] } | { changed: number } | { code: string | number; message: string }

/** A statement that a fake client received. */
export interface Request {
  readonly text: string
  readonly values: unknown
  /** Whether it commits by itself, or what it is a part of. */
  readonly by: unknown
}
