/** A row of the lock table. Times are milliseconds since 1970. */
export interface LockRow {
  readonly name: string
  readonly lock_until: number
  readonly locked_at: number
  readonly locked_by: string
}

export interface Change {
  readonly before: LockRow | undefined
  readonly after: LockRow | undefined
}

/** The lock table, as a list of rows. */
export class Table {
  readonly #rows = new Map<string, LockRow>()

  rows(): Iterable<LockRow> {
    return this.#rows.values()
  }

  row(name: string): LockRow | undefined {
    return this.#rows.get(name)
  }

  put(row: LockRow): void {
    this.#rows.set(row.name, row)
  }

  delete(name: string): void {
    this.#rows.delete(name)
  }

  copy(): Table {
    const copy = new Table()
    for (const row of this.rows()) copy.put(row)
    return copy
  }

  apply(changes: readonly Change[]): void {
    for (const { before, after } of changes) {
      if (after) this.put(after)
      else if (before) this.delete(before.name)
    }
  }
}
