import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { dialects } from '../../src/sql/dialects'
import type { DialectName } from '../../src/sql/dialect'
import { tableDefinition } from '../../src/sql/table/definition'
import { clockOf } from '../../test/processes/fake-time'
import { around } from './around'
import { DataDirectory } from './data-directory'
import { ServerProcess } from '../../test/backends/server-process'

/** The name of the database and of the workers' user. The user has no special privileges: it may select, insert and update. */
export const APP = 'app'

/** The statements of the migration that creates the lock table. */
export const createLockTable = (dialect: DialectName): readonly string[] =>
  tableDefinition(dialects[dialect]).up

export type Run = (statement: string) => Promise<Record<string, unknown>[]>

/** A server that the harness starts, with the lock table and its user. */
export abstract class DatabaseServer extends ServerProcess {
  /** Statements that make it read-only, and writable again. */
  abstract readonly readOnly: readonly [on: readonly string[], off: readonly string[]]
  readonly directory: DataDirectory
  readonly data: string
  #clock: string | undefined
  #more: readonly string[] = []

  /** @param megabytes the size of its disk */
  protected constructor(
    readonly port: number,
    megabytes: number,
  ) {
    super(
      () => this.spawn(this.#more, clockOf(this.#clock)),
      () => this.execute('select 1'),
    )
    this.directory = new DataDirectory(megabytes)
    this.data = join(this.directory.path, 'data')
  }

  protected abstract spawn(more: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess

  /** Creates the data directory, and starts the server on it. */
  abstract create(): Promise<void>

  /** Does some work in a session of the superuser. */
  abstract inSession<T>(work: (run: Run) => Promise<T>): Promise<T>

  abstract version(): Promise<string>

  /** Returns the owners of the rows that are held now, by the server's clock. */
  abstract heldBy(): Promise<string[]>

  /** @param clock the error of the server's clock, such as `+2s` @param more options of this start */
  override async start(clock?: string, more: readonly string[] = []): Promise<void> {
    this.#clock = clock
    this.#more = more
    await super.start()
  }

  async close(): Promise<void> {
    this.thaw()
    await this.kill()
    this.directory.remove()
  }

  /** Executes statements as the superuser. @returns the rows of the last one */
  execute(...statements: string[]): Promise<Record<string, unknown>[]> {
    return this.inSession((run) => runAll(run, statements))
  }

  async read(expression: string): Promise<unknown> {
    const [row] = await this.execute(`select ${expression} as value`)
    return row?.['value']
  }

  /** Accepts no writes until the work is done. */
  whileReadOnly(work: () => Promise<unknown>): Promise<void> {
    const [on, off] = this.readOnly
    return around(
      () => this.execute(...on),
      work,
      () => this.execute(...off),
    )
  }
}

/** @returns the rows of the last statement */
export async function runAll(run: Run, statements: readonly string[]): Promise<Record<string, unknown>[]> {
  let rows: Record<string, unknown>[] = []
  for (const statement of statements) rows = await run(statement)
  return rows
}
