import type { DataSourceOptions } from 'typeorm'
import type { DialectName } from '../../src/sql/dialect'

/** Times in a server's SQL, said differently from the library's own statements where that is possible, so that one checks the other. */
export interface TimeSql {
  readonly now: string
  /** Milliseconds since 1970 of a zone-less time in UTC. */
  toMilliseconds(time: string): string
  fromMilliseconds(placeholder: string): string
}

/** An empty database that nobody else uses. */
export interface TestDatabase {
  readonly url: string
  readonly typeOrm: DataSourceOptions
  drop(): Promise<void>
}

/** A database server that tests may use: where to find it, and how to make a database of one's own on it. */
export interface Server {
  readonly name: string
  readonly dialect: DialectName
  /** Holds a URL; its user must be allowed to create databases. */
  readonly variable: string
  /** Where such a server usually listens on a developer's machine, if it has a port of its own. In a container, only the address differs. */
  readonly localUrl?: string
  readonly container: {
    readonly image: string
    readonly port: number
    readonly environment: Readonly<Record<string, string>>
    readonly command?: readonly string[]
  }
  /** Only looked for where it is asked for: by its variable, in `BACKENDS`, or in `REQUIRE_BACKENDS`. */
  readonly onDemand?: true
  /** Starts it without Docker, or says why it cannot. */
  readonly start?: () => Promise<StartedServer | string>
  /** Makes a server ready that answers, before anything else is asked of it. */
  readonly prepare?: (url: string) => Promise<void>
  /** Its first column has to match `product`: another product may listen on the same port. */
  readonly versionQuery: string
  readonly product: RegExp
  readonly time: TimeSql
  typeOrm(url: string): DataSourceOptions
  createDatabase(name: string): readonly string[]
  dropDatabase(name: string): readonly string[]
  /** Runs what the two above say, where that is not SQL. */
  readonly administer?: (url: string, orders: readonly string[]) => Promise<void>
  /** Only the conformance suite is run on it: the other tests ask for more than it has. */
  readonly conformanceOnly?: true
  /** The URL of a database that `createDatabase` made. */
  databaseUrl(url: string, name: string): string
}

/** A server that was started for this run, and ends with it. */
export interface StartedServer {
  readonly url: string
  /** What was started. */
  readonly note: string
  /** Of a program in front of the database. */
  readonly version?: string
  stop(): Promise<unknown>
}

/** The parts of a URL that TypeORM takes as options. */
export function address(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname,
    ...(port === '' ? {} : { port: Number(port) }),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  }
}

export function withDatabase(url: string, name: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}
