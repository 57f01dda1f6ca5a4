---------- Custom names

-- create table
create table if not exists "app"."JobLock" (
  "id" varchar(64) not null,
  "until" timestamp(3) not null,
  "at" timestamp(3) not null,
  "Who" varchar(255) not null,
  primary key ("id")
);

-- create table
update "app"."JobLock" set "until" = "until", "at" = "at", "Who" = "Who" where "id" = '';

-- acquire, step 1: acquired or held
insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  select :name::varchar, (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), :lockedBy::varchar
  where not exists (select 1
  from "app"."JobLock"
  where "id" = :name::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC'))
  on conflict ("id")
  do update
  set "until" = (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), "at" =
  case
  when held."at" < date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  else (held."at" + 1::float8 * interval '1 millisecond')::timestamp(3) end, "Who" = :lockedBy::varchar
  where held."until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- acquire a slot, step 1: outcome
with shedlock_seen as (
  select
  case
  when max("until") > date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 'held'
  when max("at") >= (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3) then 'already-run'
  when (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3) > (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + 60000::float8 * interval '1 millisecond')::timestamp(3) then 'slot-too-far-ahead'
  else 'free' end as "outcome"
  from "app"."JobLock"
  where "id" = :name::varchar), shedlock_acquired as (
  insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  select :name::varchar, (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3), :lockedBy::varchar
  from shedlock_seen
  where "outcome" = 'free'
  on conflict ("id")
  do update
  set "until" = (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), "at" = (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3), "Who" = :lockedBy::varchar
  where held."until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  and held."at" < (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3)
  returning 1)
  select
  case
  when exists (select 1
  from shedlock_acquired) then 'acquired'
  else "outcome" end as "outcome"
  from shedlock_seen;

-- acquireAgain
update "app"."JobLock"
  set "until" = (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), "at" = (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3), "Who" = :lockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :seenBy::varchar
  and round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint = :seenAt
  and "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- extend
update "app"."JobLock"
  set "until" =
  case
  when (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3) > "until" then (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3)
  else ("until" + 1::float8 * interval '1 millisecond')::timestamp(3) end
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- release
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseLater
update "app"."JobLock"
  set "until" =
  case
  when (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3) < "until" then (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3)
  else "until" end, "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseSlot
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseSlotLater
update "app"."JobLock"
  set "until" =
  case
  when (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3) < "until" then (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3)
  else "until" end, "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseUnused
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar, "at" = ("at" + -1::float8 * interval '1 millisecond')::timestamp(3)
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar;

-- releaseSeen
update "app"."JobLock"
  set "until" = date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), "Who" = :unlockedBy::varchar
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC')
  and abs(coalesce(round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint, 253402300799999) - (round(extract(epoch from least(greatest((timestamp '1970-01-01' + :seenUntil::float8 * interval '1 millisecond')::timestamp(3), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint)) < 1;

-- pause
update "app"."JobLock"
  set "until" = (date_trunc('millisecond', clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3), "Who" = :lockedBy::varchar
  where "id" = :name::varchar
  and "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

-- fencingToken
select (select round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint
  from "app"."JobLock"
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC')) as "token";

-- list
select encode(convert_to("id", 'UTF8'), 'hex') as "lock_name_hex", encode(convert_to("Who", 'UTF8'), 'hex') as "owner_hex", round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at", round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until", round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
  case
  when "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where 1 = 1 order by "id";

-- find
select encode(convert_to("id", 'UTF8'), 'hex') as "lock_name_hex", encode(convert_to("Who", 'UTF8'), 'hex') as "owner_hex", round(extract(epoch from least(greatest("at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at", round(extract(epoch from least(greatest("until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until", round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
  case
  when "until" <= date_trunc('millisecond', clock_timestamp() at time zone 'UTC') then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where "id" = :name::varchar;

-- now
select round(extract(epoch from least(greatest(date_trunc('millisecond', clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now";

-- describe
select a.attname::text as column_name, format_type(a.atttypid, a.atttypmod) as column_type, nullif(a.atttypmod, -1) - 4 as max_length,
  case
  when a.attnotnull then 0
  else 1 end as nullable, null as unique_keys, n.nspname::text as table_schema
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where a.attrelid = to_regclass(
  case
  when :schema::text is null then ''
  else quote_ident(:schema::text) || '.' end || quote_ident(:table::text))
  and a.attnum > 0
  and not a.attisdropped;

-- pin: write
update "app"."JobLock"
  set "Who" = "Who"
  where "id" = :name::varchar
  and "Who" = :lockedBy::varchar
  and "until" > date_trunc('millisecond', clock_timestamp() at time zone 'UTC');

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

---------- Default names, where more than the names differs


---------- Only with custom names

-- fix
create schema if not exists "app";
