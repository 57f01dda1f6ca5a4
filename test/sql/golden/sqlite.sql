-- The SQL of the dialect sqlite. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: reads whether something refuses the lock: if so, there is no further step
select "locked_by" as "owner",
    cast(round((julianday("lock_until") - 2440587.5) * 86400000) as integer) as "lock_until"
  from "shedlock"
  where "name" = :name
    and "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now');
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" as held ("name", "lock_until", "locked_at", "locked_by")
  values (:name,
      strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'),
      strftime('%Y-%m-%d %H:%M:%f', 'now'),
      :lockedBy)
  on conflict ("name") do update
  set "lock_until" = case
    when held."lock_until" > strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') then held."lock_until"
    else strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') end,
    "locked_at" = case
    when held."locked_at" >= strftime('%Y-%m-%d %H:%M:%f', 'now') then strftime('%Y-%m-%d %H:%M:%f', held."locked_at", (1 / 1000.0) || ' seconds')
    else strftime('%Y-%m-%d %H:%M:%f', 'now') end,
    "locked_by" = :lockedBy
  where (held."lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now') or held."locked_by" = :lockedBy);

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 2 if it has no row yet.
-- Step 1 of 2: reads whether something refuses the lock: if so, there is no further step
select case
    when max("lock_until") > strftime('%Y-%m-%d %H:%M:%f', 'now') then case
    when max("locked_by") = :lockedBy then 'free'
    else 'held' end
    when max("locked_at") >= strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') then 'already-run'
    when strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') > strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (60000 / 1000.0) || ' seconds') then 'slot-too-far-ahead'
    else 'free' end as "outcome"
  from "shedlock"
  where "name" = :name;
-- Step 2 of 2: if it changes a row, the lock is acquired
insert into "shedlock" as held ("name", "lock_until", "locked_at", "locked_by")
  values (:name,
      strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'),
      strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds'),
      :lockedBy)
  on conflict ("name") do update
  set "lock_until" = case
    when held."lock_until" > strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') then held."lock_until"
    else strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') end,
    "locked_at" = case
    when held."locked_at" > strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') then held."locked_at"
    else strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') end,
    "locked_by" = :lockedBy
  where (held."lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now')
      and held."locked_at" < strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') or held."lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now')
      and held."locked_by" = :lockedBy);

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update "shedlock"
  set "lock_until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'),
    "locked_at" = strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds'),
    "locked_by" = :lockedBy
  where "name" = :name
    and "locked_by" = :seenBy
    and cast(round((julianday("locked_at") - 2440587.5) * 86400000) as integer) = :seenAt
    and "lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now');

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update "shedlock"
  set "lock_until" = case
    when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') > "lock_until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds')
    else strftime('%Y-%m-%d %H:%M:%f', "lock_until", (1 / 1000.0) || ' seconds') end
  where "name" = :name
    and "locked_by" = :lockedBy
    and "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now');

---- release
-- Releases a lock without a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds') < "lock_until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds')
    when "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now') then "lock_until"
    else strftime('%Y-%m-%d %H:%M:%f', 'now') end,
    "locked_by" = :unlockedBy
  where "name" = :name
    and "locked_by" = :lockedBy;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update "shedlock"
  set "lock_until" = case
    when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds') < "lock_until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds')
    when "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now') then "lock_until"
    else strftime('%Y-%m-%d %H:%M:%f', 'now') end,
    "locked_by" = :unlockedBy
  where "name" = :name
    and "locked_by" = :lockedBy;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update "shedlock"
  set "lock_until" = case
    when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds') < "lock_until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds')
    when "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now') then "lock_until"
    else strftime('%Y-%m-%d %H:%M:%f', 'now') end,
    "locked_by" = :unlockedBy,
    "locked_at" = strftime('%Y-%m-%d %H:%M:%f', "locked_at", (-1 / 1000.0) || ' seconds')
  where "name" = :name
    and "locked_by" = :lockedBy;

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update "shedlock"
  set "lock_until" = strftime('%Y-%m-%d %H:%M:%f', 'now'),
    "locked_by" = :unlockedBy
  where "name" = :name
    and "locked_by" = :lockedBy
    and "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now')
    and abs(coalesce(cast(round((julianday("lock_until") - 2440587.5) * 86400000) as integer), 253402300799999) - (cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:seenUntil / 1000.0) || ' seconds')) - 2440587.5) * 86400000) as integer))) < 1;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update "shedlock"
  set "lock_until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'),
    "locked_by" = :lockedBy
  where "name" = :name
    and "lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now');

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select cast(round((julianday("locked_at") - 2440587.5) * 86400000) as integer)
    from "shedlock"
    where "name" = :name
      and "locked_by" = :lockedBy
      and "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now')) as "token";

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update "shedlock"
  set "locked_by" = "locked_by"
  where "name" = :name
    and "locked_by" = :lockedBy;

---- list
-- Reads all locks: `table.list`, the page and the command line.
select "name" as "lock_name",
    "locked_by" as "owner",
    cast(round((julianday("locked_at") - 2440587.5) * 86400000) as integer) as "locked_at",
    cast(round((julianday("lock_until") - 2440587.5) * 86400000) as integer) as "lock_until",
    cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now",
    case
    when "lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now') then 0
    else 1 end as "is_held"
  from "shedlock"
  where 1 = 1 order by "name";

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select "name" as "lock_name",
    "locked_by" as "owner",
    cast(round((julianday("locked_at") - 2440587.5) * 86400000) as integer) as "locked_at",
    cast(round((julianday("lock_until") - 2440587.5) * 86400000) as integer) as "lock_until",
    cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now",
    case
    when "lock_until" <= strftime('%Y-%m-%d %H:%M:%f', 'now') then 0
    else 1 end as "is_held"
  from "shedlock"
  where "name" = :name;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now";

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
update "shedlock"
  set "locked_by" = "locked_by"
  where "name" = :name
    and "locked_by" = :lockedBy
    and "lock_until" > strftime('%Y-%m-%d %H:%M:%f', 'now');

---- The table: create
create table if not exists "shedlock" (
  "name" varchar(64) not null,
  "lock_until" datetime(3) not null,
  "locked_at" datetime(3) not null,
  "locked_by" varchar(255) not null,
  primary key ("name")
);
update "shedlock" set "lock_until" = "lock_until", "locked_at" = "locked_at", "locked_by" = "locked_by" where "name" = '';

---- The table: drop
drop table if exists "shedlock";

---- The table in a schema: create, as the check advises where it is missing
create table if not exists "app"."shedlock" (
  "name" varchar(64) not null,
  "lock_until" datetime(3) not null,
  "locked_at" datetime(3) not null,
  "locked_by" varchar(255) not null,
  primary key ("name")
);
