---------- Custom names

-- create table
do $shedlock$
begin
  create table if not exists "app"."JobLock" (
    "id" varchar(64) not null,
    "until" timestamp(3) not null,
    "at" timestamp(3) not null,
    "Who" varchar(255) not null,
    primary key ("id")
  );
exception when unique_violation or duplicate_table or duplicate_object then null;
end
$shedlock$;

-- create table
update "app"."JobLock" set "until" = "until", "at" = "at", "Who" = "Who" where "id" = '';

-- acquire, step 1: acquired or held
insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  select :name::varchar, date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), :lockedBy::varchar
  where not exists (select 1
  from "app"."JobLock"
  where "id" = :name::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC'))
  on conflict ("id")
  do update
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', "at" =
  case
  when held."at" < date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  else held."at" + 1::float8 * interval '1 millisecond' end, "Who" = :lockedBy::varchar
  where held."until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- acquire a slot, step 1: outcome
with shedlock_seen as (
  select
  case
  when max("until") > date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 'held'
  when max("at") >= timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' then 'already-run'
  when timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' > date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + 60000::float8 * interval '1 millisecond' then 'slot-too-far-ahead'
  else 'free' end as "outcome"
  from "app"."JobLock"
  where "id" = :name::varchar), shedlock_acquired as (
  insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  select :name::varchar, date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond', :lockedBy::varchar
  from shedlock_seen
  where "outcome" = 'free'
  on conflict ("id")
  do update
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', "at" = timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond', "Who" = :lockedBy::varchar
  where held."until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  and held."at" < timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond'
  returning 1)
  select
  case
  when exists (select 1
  from shedlock_acquired) then 'acquired'
  else "outcome" end as "outcome"
  from shedlock_seen;

-- acquireAgain
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', "at" = timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond', "Who" = :lockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :seenBy::varchar
  and round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint = :seenAt
  and "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- extend
update "app"."JobLock"
  set "until" =
  case
  when date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond' > "until" then date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond'
  else "until" + 1::float8 * interval '1 millisecond' end
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- release
with shedlock_commit as materialized (select set_config('synchronous_commit', 'off', true) as shedlock_synchronous) update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  from shedlock_commit
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and shedlock_synchronous = 'off';

-- releaseLater
with shedlock_commit as materialized (select set_config('synchronous_commit', 'off', true) as shedlock_synchronous) update "app"."JobLock"
  set "until" =
  case
  when date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond' < "until" then date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond'
  else "until" end, "Who" = :unlockedBy::varchar
  from shedlock_commit
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and shedlock_synchronous = 'off';

-- releaseSlot
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseSlotLater
update "app"."JobLock"
  set "until" =
  case
  when date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond' < "until" then date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond'
  else "until" end, "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseUnused
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar, "at" = "at" + -1::float8 * interval '1 millisecond'
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseSeen
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  and abs(coalesce(round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint, 253402300799999) - (round(extract(epoch from least(greatest(timestamp '1970-01-01' + :seenUntil::float8 * interval '1 millisecond', timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint)) < 1;

-- pause
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond', "Who" = :lockedBy::varchar
  where "id" = :name::varchar
  and "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- fencingToken
select (select round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint
  from "app"."JobLock"
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC')) as "token", pg_is_in_recovery()::int as "read_only";

-- list
select encode(convert_to("id", 'UTF8'), 'hex') as "lock_name_hex", encode(convert_to("Who", 'UTF8'), 'hex') as "owner_hex", round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at", round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until", round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
  case
  when "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 0
  else 1 end as "is_held",
  case
  when "id" is null then pg_is_in_recovery()::int
  else 0 end as "read_only"
  from (select 1 as shedlock_one ) shedlock_one left join "app"."JobLock" on 1 = 1 order by "id";

-- find
select encode(convert_to("id", 'UTF8'), 'hex') as "lock_name_hex", encode(convert_to("Who", 'UTF8'), 'hex') as "owner_hex", round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at", round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until", round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
  case
  when "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 0
  else 1 end as "is_held",
  case
  when "id" is null then pg_is_in_recovery()::int
  else 0 end as "read_only"
  from (select 1 as shedlock_one ) shedlock_one left join "app"."JobLock" on "id" = :name::varchar;

-- now
select round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now";

-- describe
select a.attname::text as column_name, format_type(a.atttypid, a.atttypmod) as column_type, nullif(a.atttypmod, -1) - 4 as max_length,
  case
  when a.attnotnull then 0
  else 1 end as nullable, (
  select count(*)
  from pg_catalog.pg_index i
  where i.indrelid = a.attrelid
  and i.indisunique
  and i.indisvalid
  and i.indimmediate
  and i.indpred is null
  and i.indnkeyatts = 1
  and i.indkey[0] = a.attnum)::int as unique_keys, n.nspname::text as table_schema
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where a.attrelid = to_regclass(
  case
  when :schema::text is null then ''
  else quote_ident(:schema::text) || '.' end || quote_ident(:table::text))
  and a.attnum > 0
  and not a.attisdropped;

-- schemasOf
select n.nspname::text as table_schema
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relname = :table::text
  and c.relkind in ('r', 'p', 'v')
  and has_schema_privilege(n.oid, 'usage')
  and has_table_privilege(c.oid, 'select') order by n.nspname;

-- pin: read
select set_config('idle_in_transaction_session_timeout', least( ceil(extract(epoch from "until" - date_trunc('millisecond', clock_timestamp() at time zone 'UTC')) * 1000), 2147483647, (select nullif(setting::int, 0)
  from pg_catalog.pg_settings
  where name = 'idle_in_transaction_session_timeout') )::bigint::text, true)
  from "app"."JobLock" 
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC') for share;

-- drop table
drop table if exists "app"."JobLock";

-- fix
create schema if not exists "app";

-- fix
create table if not exists "app"."JobLock" (
  "id" varchar(64) not null,
  "until" timestamp(3) not null,
  "at" timestamp(3) not null,
  "Who" varchar(255) not null,
  primary key ("id")
);

-- fix
alter table "app"."JobLock" alter column "id" type varchar(64), alter column "id" set not null;

-- fix
alter table "app"."JobLock" add "until" timestamp(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table "app"."JobLock" add "at" timestamp(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table "app"."JobLock" add "Who" varchar(255) default '-' not null;

-- fix
create unique index "JobLock_name" on "app"."JobLock" ("id");

-- fix
alter table "app"."JobLock" alter column "until" type timestamp(3), alter column "until" set not null;

-- fix
alter table "app"."JobLock" alter column "at" type timestamp(3), alter column "at" set not null;

-- fix
alter table "app"."JobLock" alter column "Who" type varchar(255), alter column "Who" set not null;

---------- Default names, where more than the names differs


---------- Only with custom names

-- fix
create schema if not exists "app";
