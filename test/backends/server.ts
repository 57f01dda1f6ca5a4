import type { DataSourceOptions } from 'typeorm'
import type { DialectName } from '../../src/sql'

/** A database server that tests may use: where to find it, and how to make a database of one's own on it. */
export interface Server {
  readonly name: string
  readonly dialect: DialectName
  /** Holds a URL; its user must be allowed to create databases. */
  readonly variable: string
  /** Where such a server usually listens on a developer's machine. */
  readonly localUrl: string
  readonly container: {
    readonly image: string
    readonly port: number
    readonly environment: Readonly<Record<string, string>>
    readonly command?: readonly string[]
    /** For `localhost:port`, which the container's address takes the place of. */
    readonly url: string
  }
  /** Its first column has to match `product`: another product may listen on the same port. */
  readonly versionQuery: string
  readonly product: RegExp
  typeOrm(url: string): DataSourceOptions
  createDatabase(name: string): readonly string[]
  dropDatabase(name: string): readonly string[]
  /** The URL of a database that `createDatabase` made. */
  databaseUrl(url: string, name: string): string
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
