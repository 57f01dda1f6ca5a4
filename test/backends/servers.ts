import { startMariaDb, startProxy } from './debian-programs'
import { startEmbeddedPostgres } from './embedded-postgres'
import { administerSpanner, prepareSpanner, spannerOptions } from './spanner-emulator'
import { address, withDatabase, type Server, type StartedServer } from './server'

const postgres: Server = {
  name: 'postgres',
  dialect: 'postgres',
  variable: 'POSTGRES_URL',
  localUrl: 'postgres://postgres@127.0.0.1:5432/postgres',
  container: { image: 'postgres:18-alpine', port: 5432, environment: { POSTGRES_HOST_AUTH_METHOD: 'trust' } },
  versionQuery: 'select version() as version',
  product: /^PostgreSQL/,
  time: {
    now: `(clock_timestamp() at time zone 'UTC')`,
    toMilliseconds: (time) => `floor(extract(epoch from ${time}) * 1000)::bigint`,
    fromMilliseconds: (value) => `timestamp 'epoch' + ${value}::float8 * interval '1 millisecond'`,
  },
  typeOrm: (url) => ({ type: 'postgres', ...address(url) }),
  createDatabase: (name) => [`create database ${name}`],
  dropDatabase: (name) => [`drop database if exists ${name} with (force)`],
  databaseUrl: withDatabase,
}

/** Beside the one that a machine has. */
const embedded = (major: number, version: string): Server => ({
  ...postgres,
  name: `postgres${major}`,
  variable: `POSTGRES${major}_URL`,
  localUrl: `postgres://postgres@127.0.0.1:543${major}/postgres`,
  product: new RegExp(`^PostgreSQL ${major}`),
  onDemand: true,
  start: () => startEmbeddedPostgres(version),
})
const POSTGRES_18 = '18.4.0-beta.17'

/** @param start starts the server that it is in front of */
const inFront = (
  name: Parameters<typeof startProxy>[0],
  { localUrl: _, ...of }: Server,
  start: () => Promise<StartedServer>,
): Server => ({
  ...of,
  name,
  variable: `${name.toUpperCase()}_URL`,
  onDemand: true,
  conformanceOnly: true,
  start: async () => startProxy(name, await start()),
})

const mariadb: Server = {
  name: 'mariadb',
  dialect: 'mariadb',
  variable: 'MARIADB_URL',
  localUrl: 'mysql://root@127.0.0.1:3306/mysql',
  container: { image: 'mariadb:lts', port: 3306, environment: { MARIADB_ALLOW_EMPTY_ROOT_PASSWORD: '1' } },
  versionQuery: 'select version() as version',
  product: /MariaDB/,
  time: {
    now: 'utc_timestamp(3)',
    toMilliseconds: (time) => `timestampdiff(microsecond, '1970-01-01', ${time}) div 1000`,
    fromMilliseconds: (value) => `timestamp '1970-01-01 00:00:00' + interval ${value} * 1000 microsecond`,
  },
  typeOrm: (url) => ({ type: 'mariadb', ...address(url) }),
  // Neither the server's nor the database's default collation may matter to the lock.
  createDatabase: (name) => [`create database ${name} character set utf8mb4 collate utf8mb4_general_ci`],
  dropDatabase: (name) => [`drop database if exists ${name}`],
  databaseUrl: withDatabase,
}

/** Beside the one that a machine has. */
const mariadb11: Server = {
  ...mariadb,
  name: 'mariadb11',
  variable: 'MARIADB11_URL',
  localUrl: 'mysql://root@127.0.0.1:33118/mysql',
  product: /^11.*MariaDB/,
  onDemand: true,
  start: startMariaDb,
}

const mysql: Server = {
  ...mariadb,
  name: 'mysql',
  dialect: 'mysql',
  variable: 'MYSQL_URL',
  container: {
    ...mariadb.container,
    image: process.env['MYSQL_IMAGE'] ?? 'mysql:lts',
    environment: { MYSQL_ALLOW_EMPTY_PASSWORD: '1' },
  },
  product: /^(?!.*MariaDB)/,
  typeOrm: (url) => ({ type: 'mysql', ...address(url) }),
}

/** The server at MYSQL_URL, which is not stopped. */
function givenMySql(): Promise<StartedServer> {
  const url = process.env[mysql.variable]
  if (url === undefined) throw new Error(`${mysql.variable} is not set`)
  return Promise.resolve({ url, note: mysql.variable, stop: () => Promise.resolve() })
}

const cockroachdb: Server = {
  ...postgres,
  name: 'cockroachdb',
  dialect: 'cockroachdb',
  variable: 'COCKROACHDB_URL',
  localUrl: 'postgres://root@127.0.0.1:26257/defaultdb',
  container: {
    image: 'cockroachdb/cockroach:v25.4.1',
    port: 26257,
    environment: {},
    command: ['start-single-node', '--insecure'],
  },
  product: /CockroachDB/,
  // TypeORM's type does not allow `timeTravelQueries` to be left out.
  typeOrm: (url) => ({ type: 'cockroachdb', timeTravelQueries: false, ...address(url) }),
  dropDatabase: (name) => [`drop database if exists ${name} cascade`],
}

const mssql: Server = {
  name: 'mssql',
  dialect: 'mssql',
  variable: 'MSSQL_URL',
  // For the command line; the tests' own clients say it themselves.
  localUrl: 'mssql://sa:ShedLock-1@127.0.0.1:1433/master?encrypt=false',
  container: {
    image: 'mcr.microsoft.com/mssql/server:2022-latest',
    port: 1433,
    environment: { ACCEPT_EULA: 'Y', MSSQL_SA_PASSWORD: 'ShedLock-1' },
  },
  versionQuery: 'select @@version as version',
  product: /^Microsoft/,
  time: {
    now: 'sysutcdatetime()',
    toMilliseconds: (time) => `datediff_big(millisecond, '1970-01-01', ${time})`,
    fromMilliseconds: (value) =>
      `dateadd(millisecond, ${value} % 86400000, dateadd(day, ${value} / 86400000, cast('1970-01-01' as datetime2(3))))`,
  },
  typeOrm: (url) => ({
    type: 'mssql',
    ...address(url),
    // Against hanging; mssql's 15 seconds are a limit that a busy machine exceeds.
    requestTimeout: 120_000,
    options: { encrypt: false, trustServerCertificate: true },
  }),
  createDatabase: (name) => [`create database ${name}`],
  dropDatabase: (name) => [
    `alter database ${name} set single_user with rollback immediate`,
    `drop database ${name}`,
  ],
  databaseUrl: withDatabase,
}

const oracleTime = (time: string): string => `(${time} - timestamp '1970-01-01 00:00:00')`

const oracle: Server = {
  name: 'oracle',
  dialect: 'oracle',
  variable: 'ORACLE_URL',
  localUrl: 'oracle://system:ShedLock1@127.0.0.1:1521/FREEPDB1',
  container: {
    image: 'gvenzl/oracle-free:23-slim-faststart',
    port: 1521,
    environment: { ORACLE_PASSWORD: 'ShedLock1' },
  },
  versionQuery: 'select banner as "version" from v$version',
  product: /^Oracle/,
  time: {
    now: 'sys_extract_utc(systimestamp)',
    toMilliseconds: (time) =>
      `floor(extract(day from ${oracleTime(time)}) * 86400000 + extract(hour from ${oracleTime(time)}) * 3600000 + extract(minute from ${oracleTime(time)}) * 60000 + extract(second from ${oracleTime(time)}) * 1000)`,
    fromMilliseconds: (value) =>
      `timestamp '1970-01-01 00:00:00' + numtodsinterval(${value} / 1000, 'second')`,
  },
  typeOrm: (url) => {
    const { database, ...rest } = address(url)
    return { type: 'oracle', ...rest, serviceName: database }
  },
  // What others call a database, Oracle calls a user.
  createDatabase: (name) => [
    `create user ${name} identified by "${name}" quota unlimited on users`,
    // The last is for the identity of TypeORM's table of migrations.
    `grant create session, create table, create sequence to ${name}`,
  ],
  dropDatabase: (name) => [`drop user ${name} cascade`],
  databaseUrl: (url, name) => Object.assign(new URL(url), { username: name, password: name }).href,
}

/** Spanner's emulator: it has one transaction at a time. */
const spanner: Server = {
  name: 'spanner',
  dialect: 'spanner',
  variable: 'SPANNER_URL',
  localUrl: 'spanner://127.0.0.1:9010/admin',
  versionQuery: `SELECT 'Spanner' as version`,
  product: /^Spanner/,
  time: {
    now: 'current_timestamp()',
    toMilliseconds: (time) => `timestamp_diff(${time}, timestamp '1970-01-01 00:00:00+00', millisecond)`,
    fromMilliseconds: (value) => `timestamp_millis(${value})`,
  },
  container: { image: 'gcr.io/cloud-spanner-emulator/emulator', port: 9010, environment: {} },
  onDemand: true,
  prepare: prepareSpanner,
  conformanceOnly: true,
  typeOrm: spannerOptions,
  createDatabase: (name) => [`create ${name}`],
  dropDatabase: (name) => [`drop ${name}`],
  administer: administerSpanner,
  databaseUrl: withDatabase,
}

export const servers: readonly Server[] = [
  postgres,
  embedded(16, '16.14.0-beta.17'),
  embedded(17, '17.9.0-beta.17'),
  embedded(18, POSTGRES_18),
  ...(['pgbouncer', 'odyssey', 'pgpool', 'haproxy'] as const).map((name) =>
    inFront(name, postgres, () => startEmbeddedPostgres(POSTGRES_18)),
  ),
  mariadb,
  mariadb11,
  mysql,
  inFront('mysqlrouter', mysql, givenMySql),
  cockroachdb,
  mssql,
  oracle,
  spanner,
]
