import type { Row } from '../../sql'

/** A database driver of the user's project, at the least that the command line needs of it. */
export interface Driver {
  /** How it spells the hole for a value. */
  placeholder(position: number): string
  open(url: string): Promise<DriverConnection>
}

export interface DriverConnection {
  query(
    text: string,
    values: readonly (string | number | null)[],
  ): Promise<{ rows: readonly Row[]; changed: number }>
  /** The server's code for an error, or `undefined` when it is not the server's answer. */
  code(error: unknown): string | undefined
  close(): Promise<void>
}
