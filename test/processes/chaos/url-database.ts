import { DataSource } from 'typeorm'
import { dialects, raw, render, tableDefinition } from '../../../src/sql/internal'
import { servers } from '../../backends/servers'
import type { ChaosDatabase, DialectByUrl } from './chaos-database'
import { TcpProxy } from '../servers/tcp-proxy'
import { readWitness } from './witness'

/** The column types of each database. */
const WORDS: Readonly<Record<DialectByUrl, { seq: string; text: string; number: string; flag: string }>> = {
  cockroachdb: { seq: 'bigserial', text: 'varchar(255)', number: 'float8', flag: 'boolean' },
  mssql: { seq: 'bigint identity', text: 'nvarchar(255)', number: 'float', flag: 'bit' },
  oracle: {
    seq: 'number generated always as identity',
    text: 'varchar2(255 char)',
    number: 'number',
    flag: 'number(1)',
  },
}

/** Returns the statements that create the lock table, the tables of the tasks, and the trigger that records each change of a lock. */
export function chaosTables(dialectName: DialectByUrl): string[] {
  const dialect = dialects[dialectName]
  const { seq, text, number, flag } = WORDS[dialectName]
  const epoch = (time: string): string => render(dialect.epochMilliseconds(raw(time)))
  const note = 'insert into lock_history (changed_at, name, locked_by, lock_until, locked_at)'
  const now = render(dialect.epochMilliseconds(dialect.now))
  /** All columns of a missing old or new row are null. */
  const seen = (after: string, before: string): string =>
    `${now}, coalesce(${after}.name, ${before}.name), ${after}.locked_by, coalesce(${epoch(`${after}.lock_until`)}, 0), coalesce(${epoch(`${after}.locked_at`)}, 0)`
  const triggers: Readonly<Record<DialectByUrl, readonly string[]>> = {
    // CockroachDB requires parentheses around the rows.
    cockroachdb: [
      `create function witness() returns trigger language plpgsql as $$ begin
       ${note} select ${seen('(new)', '(old)')};
       return null;
     end $$`,
      'create trigger witness after insert or update or delete on shedlock for each row execute function witness()',
    ],
    // SQL Server fires a trigger once for each statement, even if it affects no rows.
    mssql: [
      `create trigger witness on shedlock after insert, update, delete as begin
       set nocount on;
       ${note} select ${seen('i', 'd')} from inserted i full join deleted d on d.name = i.name;
     end`,
    ],
    oracle: [
      `create trigger witness after insert or update or delete on shedlock for each row begin
       ${note} values (${seen(':new', ':old')});
     end;`,
    ],
  }
  return [
    `create table lock_history (seq ${seq} primary key, changed_at ${number}, name ${text}, locked_by ${text}, lock_until ${number}, locked_at ${number})`,
    `create table task_resource (name ${text} primary key, value ${number} not null, current_run ${text})`,
    `create table task_commit (run ${text} primary key, name ${text}, guarded ${flag}, seen ${text})`,
    ...tableDefinition(dialect).up,
    ...triggers[dialectName],
  ]
}

/** Creates a private database on the server at the URL, which is not harmed: faults affect only processes and the network. */
export async function urlDatabase(
  dialect: DialectByUrl,
  names: readonly string[],
  url: string | undefined,
): Promise<ChaosDatabase> {
  const server = servers.find(({ name }) => name === dialect)
  if (!server || url === undefined) throw new Error(`--db ${dialect} needs the --url of a server.`)
  const chaos = `chaos_${process.pid}`
  const ask = async (at: string, ...statements: string[]): Promise<Record<string, unknown>[]> => {
    const dataSource = await new DataSource(server.typeOrm(at)).initialize()
    try {
      let rows: Record<string, unknown>[] = []
      for (const statement of statements) rows = await dataSource.query(statement)
      return rows
    } finally {
      await dataSource.destroy()
    }
  }
  const [row] = await ask(url, server.versionQuery)
  const extraGrants = dialect === 'oracle' ? [`grant create trigger to ${chaos}`] : []
  await ask(url, ...server.createDatabase(chaos), ...extraGrants)
  const databaseUrl = server.databaseUrl(url, chaos)
  await ask(
    databaseUrl,
    ...chaosTables(dialect),
    ...names.map((name) => `insert into task_resource values ('${name}', 0, null)`),
  )
  const { hostname, port } = new URL(url)
  const proxy = await TcpProxy.listen(Number(port || server.container.port), hostname)
  const proxied = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(proxy.port) })
  return {
    dialect,
    version: String(row?.['version']).split('\n')[0] ?? '',
    proxy,
    wishes: [],
    connection: () => ({ dialect, url: proxied.href }),
    witness: () => readWitness(async (query) => (await ask(databaseUrl, query)).map(inLowerCase)),
    close: async () => {
      await proxy.close()
      // A session of a killed process may still use the database. Then dropping it fails, which must not hide the results.
      await ask(url, ...server.dropDatabase(chaos)).catch((error: unknown) => {
        console.error(`${chaos} could not be dropped from the server: ${String(error)}`)
      })
    },
  }
}

/** Converts column names to lower case, because Oracle returns them in upper case. */
function inLowerCase(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column.toLowerCase(), value]))
}
