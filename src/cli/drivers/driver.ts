import type { Driver } from '../../drivers'
import type { Row } from '../../sql'

/** A database driver of the user's project, at the least that the command line needs of it. */
export interface CliDriver extends Driver {
  /** @param create makes the database, where that is a file */
  open(url: string, create: boolean): Promise<DriverConnection>
}

export interface DriverConnection {
  query(
    text: string,
    values: readonly (string | number | null)[],
  ): Promise<{ rows: readonly Row[]; changed: number }>
  close(): Promise<void>
}
