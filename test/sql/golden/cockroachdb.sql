-- The SQL of the dialect cockroachdb. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: reads whether something refuses the lock: if so, there is no further step
select encode(convert_to("locked_by", 'UTF8'), 'hex') as "owner_hex",
    round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until"
  from "shedlock"
  where "name" = :name::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC');
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" as held ("name", "lock_until", "locked_at", "locked_by")
  values (:name::varchar,
      (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3),
      pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'),
      :lockedBy::varchar)
  on conflict ("name") do update
  set "lock_until" = greatest(held."lock_until", (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3)),
    "locked_at" = case
    when held."locked_at" >= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then (held."locked_at" + 1::float8 * interval '1 millisecond')::timestamp(3)
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :lockedBy::varchar
  where (held."lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') or held."locked_by" = :lockedBy::varchar);

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: reads whether something refuses the lock: if so, there is no further step
select case
    when max("lock_until") > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then case
    when max("locked_by") = :lockedBy::varchar then 'free'
    else 'held' end
    when max("locked_at") >= (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3) then 'already-run'
    when (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3) > (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + 60000::float8 * interval '1 millisecond')::timestamp(3) then 'slot-too-far-ahead'
    else 'free' end as "outcome"
  from "shedlock"
  where "name" = :name::varchar;
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" as held ("name", "lock_until", "locked_at", "locked_by")
  values (:name::varchar,
      (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3),
      (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3),
      :lockedBy::varchar)
  on conflict ("name") do update
  set "lock_until" = greatest(held."lock_until", (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3)),
    "locked_at" = greatest(held."locked_at", (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3)),
    "locked_by" = :lockedBy::varchar
  where (held."lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
      and held."locked_at" < (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3) or held."lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
      and held."locked_by" = :lockedBy::varchar);

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update "shedlock"
  set "lock_until" = (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3),
    "locked_at" = (timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond')::timestamp(3),
    "locked_by" = :lockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :seenBy::varchar
    and round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint = :seenAt
    and "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC');

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update "shedlock"
  set "lock_until" = case
    when (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3) > "lock_until" then (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3)
    else ("lock_until" + 1::float8 * interval '1 millisecond')::timestamp(3) end
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC');

---- release
-- Releases a lock without a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3) < "lock_until" then (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3)
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3) < "lock_until" then (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3)
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update "shedlock"
  set "lock_until" = case
    when (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3) < "lock_until" then (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond')::timestamp(3)
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar,
    "locked_at" = ("locked_at" + -1::float8 * interval '1 millisecond')::timestamp(3)
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar;

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update "shedlock"
  set "lock_until" = pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'),
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and abs(coalesce(round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint, 253402300799999) - (round(extract(epoch from least(greatest((timestamp '1970-01-01' + :seenUntil::float8 * interval '1 millisecond')::timestamp(3), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint)) < 1;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update "shedlock"
  set "lock_until" = (pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond')::timestamp(3),
    "locked_by" = :lockedBy::varchar
  where "name" = :name::varchar
    and "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC');

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint
    from "shedlock"
    where "name" = :name::varchar
      and "locked_by" = :lockedBy::varchar
      and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')) as "token";

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update "shedlock"
  set "locked_by" = "locked_by"
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar;

---- list
-- Reads all locks: `table.list`, the page and the command line.
select encode(convert_to("name", 'UTF8'), 'hex') as "lock_name_hex",
    encode(convert_to("locked_by", 'UTF8'), 'hex') as "owner_hex",
    round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at",
    round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until",
    round(extract(epoch from least(greatest(pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
    case
    when "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then 0
    else 1 end as "is_held"
  from "shedlock"
  where 1 = 1 order by "name";

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select encode(convert_to("name", 'UTF8'), 'hex') as "lock_name_hex",
    encode(convert_to("locked_by", 'UTF8'), 'hex') as "owner_hex",
    round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at",
    round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until",
    round(extract(epoch from least(greatest(pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
    case
    when "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then 0
    else 1 end as "is_held"
  from "shedlock"
  where "name" = :name::varchar;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select round(extract(epoch from least(greatest(pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now";

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
update "shedlock"
  set "locked_by" = "locked_by"
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC');

---- The table: create
create table if not exists "shedlock" (
  "name" varchar(64) not null,
  "lock_until" timestamp(3) not null,
  "locked_at" timestamp(3) not null,
  "locked_by" varchar(255) not null,
  primary key ("name")
);
update "shedlock" set "lock_until" = "lock_until", "locked_at" = "locked_at", "locked_by" = "locked_by" where "name" = '';

---- The table: drop
drop table if exists "shedlock";

---- The table in a schema: create, as the check advises where it is missing
create schema if not exists "app";
create table if not exists "app"."shedlock" (
  "name" varchar(64) not null,
  "lock_until" timestamp(3) not null,
  "locked_at" timestamp(3) not null,
  "locked_by" varchar(255) not null,
  primary key ("name")
);
