// One name for each contender and database, in every table and chart.

const DATABASES: Readonly<Record<string, string>> = {
  postgres: 'PostgreSQL',
  mariadb: 'MariaDB',
  mysql: 'MySQL',
  sqlite: 'SQLite',
}
export const databaseName = (name: string): string => DATABASES[name] ?? name

const PEERS: Readonly<Record<string, string>> = {
  'verrou (knex)': 'verrou',
  'pg advisory lock (no lease)': 'advisory lock',
  'pg SKIP LOCKED (open transaction)': 'SKIP LOCKED',
  'pg-boss singleton insert (no release)': 'pg-boss',
  'graphile-worker cron (no release)': 'graphile-worker',
  'redlock (Redis)': 'redlock',
  'Java ShedLock: JDBC': "Java's ShedLock",
  'Redis SET NX PX (as BullMQ)': 'Redis',
}
/** What the short names of other libraries leave out. */
export const ABOUT_PEERS =
  'verrou runs on Knex. Redis is `SET NX PX`, as BullMQ sends it. An advisory lock does not expire. SKIP LOCKED holds a transaction open. pg-boss inserts a singleton job, graphile-worker takes a due time of its cron and inserts a job; both release nothing.'

export const contenderName = (who: string): string => PEERS[who] ?? who.replace(/^ours: /, 'shedlock-orm, ')
