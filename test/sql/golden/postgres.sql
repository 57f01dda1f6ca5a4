-- The SQL of the dialect postgres. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 1 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: returns the outcome, unless there is no row
with shedlock_acquired as (update "shedlock"
    set "lock_until" = greatest("lock_until", pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond'),
      "locked_at" = case
      when "locked_at" >= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "locked_at" + 1::float8 * interval '1 millisecond'
      else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
      "locked_by" = :lockedBy::varchar
    where "name" = :name::varchar
      and case
      when ("lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') or "locked_by" = :lockedBy::varchar) then exists (select 1
      from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row)
      else 1 = 0 end
    returning 1)
  select case
    when case
    when 1 = 1
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end) then exists (select 1 from shedlock_acquired) end then 'acquired'
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and ("locked_by" = :lockedBy::varchar) is not true then 'held'
    else 'free' end as outcome
  from "shedlock"
  where "name" = :name::varchar;
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" ("name", "lock_until", "locked_at", "locked_by")
  select :name::varchar,
    pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond',
    pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'),
    :lockedBy::varchar
  where set_config('lock_timeout', '100', true) is not null
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
  on conflict ("name") do nothing;

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 1 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: returns the outcome, unless there is no row
with shedlock_acquired as (update "shedlock"
    set "lock_until" = greatest("lock_until", pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond'),
      "locked_at" = greatest("locked_at", timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond'),
      "locked_by" = :lockedBy::varchar
    where "name" = :name::varchar
      and case
      when ("lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
        and "locked_at" < timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' or "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
        and "locked_by" = :lockedBy::varchar)
      and not timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + 60000::float8 * interval '1 millisecond' then exists (select 1
      from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row)
      else 1 = 0 end
    returning 1)
  select case
    when case
    when 1 = 1
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end) then exists (select 1 from shedlock_acquired) end then 'acquired'
    when max("lock_until") > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then case
    when max("locked_by") = :lockedBy::varchar then 'free'
    else 'held' end
    when max("locked_at") >= timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' then 'already-run'
    when timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond' > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + 60000::float8 * interval '1 millisecond' then 'slot-too-far-ahead'
    else case
    when count(*) > 0 then 'free' end end as "outcome"
  from "shedlock"
  where "name" = :name::varchar;
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" ("name", "lock_until", "locked_at", "locked_by")
  select :name::varchar,
    pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond',
    timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond',
    :lockedBy::varchar
  where set_config('lock_timeout', '100', true) is not null
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
  on conflict ("name") do nothing;

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update "shedlock"
  set "lock_until" = pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond',
    "locked_at" = timestamp '1970-01-01' + :slot::float8 * interval '1 millisecond',
    "locked_by" = :lockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :seenBy::varchar
    and round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint = :seenAt
    and "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update "shedlock"
  set "lock_until" = case
    when pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond' > "lock_until" then pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond'
    else "lock_until" + 1::float8 * interval '1 millisecond' end
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- release
-- Releases a lock without a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond' < "lock_until" then pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond'
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row)
    and set_config('synchronous_commit', 'off', true) is not null;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond' < "lock_until" then pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond'
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update "shedlock"
  set "lock_until" = case
    when pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond' < "lock_until" then pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :keepFor::float8 * interval '1 millisecond'
    when "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then "lock_until"
    else pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') end,
    "locked_by" = :unlockedBy::varchar,
    "locked_at" = "locked_at" + -1::float8 * interval '1 millisecond'
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update "shedlock"
  set "lock_until" = pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'),
    "locked_by" = :unlockedBy::varchar
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and abs(coalesce(round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint, 253402300799999) - (round(extract(epoch from least(greatest(timestamp '1970-01-01' + :seenUntil::float8 * interval '1 millisecond', timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint)) < 1
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update "shedlock"
  set "lock_until" = pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') + :lockAtMostFor::float8 * interval '1 millisecond',
    "locked_by" = :lockedBy::varchar
  where "name" = :name::varchar
    and "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')
    and (select case
      when pg_catalog.txid_current_if_assigned() is null
      and pg_catalog.statement_timestamp() < pg_catalog.transaction_timestamp() + interval '1 second' then true
      else pg_catalog.concat('open transaction, or a trigger that writes before the statement, since ', pg_catalog.transaction_timestamp())::boolean end)
    and exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint
    from "shedlock"
    where "name" = :name::varchar
      and "locked_by" = :lockedBy::varchar
      and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')) as "token",
    pg_is_in_recovery()::int as "read_only",
    case
    when pg_catalog.txid_current_if_assigned() is null then 0
    else 3 end as "unfit";

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one
  where exists (select 1
    from (select 1 from "shedlock" where "name" = :name::varchar for no key update skip locked) shedlock_row);

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
    else 1 end as "is_held",
    case
    when "name" is null then pg_is_in_recovery()::int
    else 0 end as "read_only"
  from (select 1 as shedlock_one ) shedlock_one left join "shedlock" on 1 = 1 order by "name";

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select encode(convert_to("name", 'UTF8'), 'hex') as "lock_name_hex",
    encode(convert_to("locked_by", 'UTF8'), 'hex') as "owner_hex",
    round(extract(epoch from least(greatest("locked_at", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "locked_at",
    round(extract(epoch from least(greatest("lock_until", timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "lock_until",
    round(extract(epoch from least(greatest(pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now",
    case
    when "lock_until" <= pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') then 0
    else 1 end as "is_held",
    case
    when "name" is null then pg_is_in_recovery()::int
    else 0 end as "read_only"
  from (select 1 as shedlock_one ) shedlock_one left join "shedlock" on "name" = :name::varchar;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select round(extract(epoch from least(greatest(pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC'), timestamp '0001-01-01'), timestamp '9999-12-31 23:59:59.999')) * 1000)::bigint as "now";

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
select set_config('idle_in_transaction_session_timeout', least(ceil(extract(epoch from "lock_until" - pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC')) * 1000), 2147483647, (select nullif(setting::int, 0) from pg_catalog.pg_settings where name = 'idle_in_transaction_session_timeout') )::bigint::text, true)
  from "shedlock"
  where "name" = :name::varchar
    and "locked_by" = :lockedBy::varchar
    and "lock_until" > pg_catalog.date_trunc('millisecond', pg_catalog.clock_timestamp() at time zone 'UTC') for share;

---- The table: create
do $shedlock$
begin
  create table if not exists "shedlock" (
    "name" varchar(64) not null,
    "lock_until" timestamp(3) not null,
    "locked_at" timestamp(3) not null,
    "locked_by" varchar(255) not null,
    primary key ("name")
  );
exception when unique_violation or duplicate_table or duplicate_object then null;
end
$shedlock$;
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
