import { dialects } from '../../src/sql/dialects'
import { raw, render } from '../../src/sql/sql'
import { tableDefinition } from '../../src/sql/table/definition'

/** How one database writes what the harness needs of it. */
interface Words {
  readonly types: Readonly<Record<'seq' | 'text' | 'number' | 'flag', string>>
  /** Its clock, in milliseconds since 1970. Default: that of the lock. */
  readonly now?: string
  readonly triggers: (values: TriggerValues) => readonly string[]
  /** The user of the lock, if the database has users who may do less than others. */
  readonly user?: (name: string) => string
  /** How to change the table. Default: the harness does not change it. */
  readonly table?: {
    readonly begin: string
    readonly end: readonly string[]
    readonly lock: readonly string[]
    readonly truncate: string
    readonly alter?: readonly string[]
  }
}

/** What a trigger records, after `insert into lock_history (…)`. */
interface TriggerValues {
  /** @param row the name of the row after a change */
  readonly changed: (row: string) => string
  /** @param row the name of the row before it was deleted */
  readonly deleted: (row: string) => string
  /** Of a trigger for changes of any kind: all columns of a missing row are null. */
  readonly either: (after: string, before: string) => string
}

const NOTE = 'insert into lock_history (changed_at, name, locked_by, lock_until, locked_at)'

const forEachEvent =
  (begin: string, end: string) =>
  ({ changed, deleted }: TriggerValues): readonly string[] =>
    ['insert', 'update', 'delete'].map(
      (event) =>
        `create trigger witness_${event} after ${event} on shedlock for each row ${begin}
         ${NOTE} values (${event === 'delete' ? deleted('old') : changed('new')})${end}`,
    )

/** CockroachDB requires parentheses around the rows. */
const byFunction =
  (rights: string) =>
  ({ either }: TriggerValues): readonly string[] => [
    `create or replace function witness() returns trigger language plpgsql ${rights} as $$ begin
       ${NOTE} select ${either('(new)', '(old)')};
       return null;
     end $$`,
    'create trigger witness after insert or update or delete on shedlock for each row execute function witness()',
  ]

const MYSQL_LIKE: Words = {
  types: { seq: 'bigint auto_increment', text: 'varchar(255)', number: 'double', flag: 'boolean' },
  // Unlike the lock's own clock, sysdate() moves on while a statement waits.
  now: 'unix_timestamp(sysdate(6)) * 1000',
  triggers: forEachEvent('', ''),
  user: (name) => `${name}@'%'`,
  table: {
    begin: 'begin',
    end: ['commit', 'unlock tables'],
    lock: ['lock tables shedlock write'],
    truncate: 'truncate shedlock',
  },
}

const WORDS = {
  postgres: {
    types: { seq: 'bigserial', text: 'varchar(255)', number: 'float8', flag: 'boolean' },
    triggers: byFunction('security definer'),
    user: (name) => name,
    table: {
      begin: 'begin',
      end: ['commit'],
      lock: ['lock table shedlock in access exclusive mode'],
      truncate: 'truncate shedlock',
      alter: [
        'alter table shedlock alter column locked_by type varchar(255)',
        'alter table shedlock add column chaos int',
        'alter table shedlock drop column chaos',
      ],
    },
  },
  mariadb: MYSQL_LIKE,
  mysql: MYSQL_LIKE,
  sqlite: {
    types: { seq: 'integer', text: 'text', number: 'real', flag: 'integer' },
    triggers: forEachEvent('begin', '; end'),
    table: { begin: 'begin immediate', end: ['commit'], lock: [], truncate: 'delete from shedlock' },
  },
  cockroachdb: {
    types: { seq: 'bigserial', text: 'varchar(255)', number: 'float8', flag: 'boolean' },
    triggers: byFunction(''),
  },
  mssql: {
    types: { seq: 'bigint identity', text: 'nvarchar(255)', number: 'float', flag: 'bit' },
    // Fires once for each statement, even if it affects no rows.
    triggers: ({ either }) => [
      `create trigger witness on shedlock after insert, update, delete as begin
       set nocount on;
       ${NOTE} select ${either('i', 'd')} from inserted i full join deleted d on d.name = i.name;
     end`,
    ],
  },
  oracle: {
    types: {
      ...{ seq: 'number generated always as identity', text: 'varchar2(255 char)' },
      ...{ number: 'number', flag: 'number(1)' },
    },
    triggers: ({ either }) => [
      `create trigger witness after insert or update or delete on shedlock for each row begin
       ${NOTE} values (${either(':new', ':old')});
     end;`,
    ],
  },
} as const satisfies Record<string, Words>

export type ChaosDialect = keyof typeof WORDS
export const CHAOS_DIALECTS = Object.keys(WORDS) as ChaosDialect[]

/** Statements about the tables of one database. */
export function wordsOf(name: ChaosDialect) {
  const { types, triggers, user, table, ...more }: Words = WORDS[name]
  const { seq, text, number, flag } = types
  const dialect = dialects[name]
  const epoch = (time: string): string => render(dialect.epochMilliseconds(raw(time)))
  const { now = render(dialect.epochMilliseconds(dialect.now)) } = more
  const values: TriggerValues = {
    changed: (row) =>
      `${now}, ${row}.name, ${row}.locked_by, ${epoch(`${row}.lock_until`)}, ${epoch(`${row}.locked_at`)}`,
    deleted: (row) => `${now}, ${row}.name, null, 0, 0`,
    either: (after, before) =>
      `${now}, coalesce(${after}.name, ${before}.name), ${after}.locked_by, coalesce(${epoch(`${after}.lock_until`)}, 0), coalesce(${epoch(`${after}.locked_at`)}, 0)`,
  }
  return {
    user,
    table,
    /** Creates the lock table, with the trigger that records each change of a lock. */
    lockTable: [...tableDefinition(dialect).up, ...triggers(values)],
    /** Creates the tables of the tasks, and that of the trigger. */
    ownTables: [
      `create table lock_history (seq ${seq} primary key, changed_at ${number}, name ${text}, locked_by ${text}, lock_until ${number}, locked_at ${number})`,
      `create table task_resource (name ${text} primary key, value ${number} not null, current_run ${text})`,
      `create table task_commit (run ${text} primary key, name ${text}, guarded ${flag}, seen ${text})`,
    ],
    /** Records that all locks were destroyed, for operations that fire no trigger. */
    noteDestroyed: `${NOTE} select ${now}, name, null, 0, 0 from task_resource`,
  }
}
