-- The SQL of the dialect hana. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select "LOCKED_BY" as "owner",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint) as "lock_until"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCK_UNTIL" > current_utctimestamp(3);
-- Step 2 of 4: if it changes a row, the lock is acquired
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when "LOCK_UNTIL" > add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) then "LOCK_UNTIL"
    else add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) end,
    "LOCKED_AT" = case
    when "LOCKED_AT" >= current_utctimestamp(3) then add_nano100("LOCKED_AT", cast(1 as bigint) * 10000)
    else current_utctimestamp(3) end,
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and ("LOCK_UNTIL" <= current_utctimestamp(3) or "LOCKED_BY" = cast(:lockedBy as nvarchar(255)));
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select "LOCKED_BY" as "owner",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint) as "lock_until"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCK_UNTIL" > current_utctimestamp(3);
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into "SHEDLOCK" ("NAME", "LOCK_UNTIL", "LOCKED_AT", "LOCKED_BY")
  values (cast(:name as nvarchar(255)),
      add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
      current_utctimestamp(3),
      cast(:lockedBy as nvarchar(255)));

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max("LOCK_UNTIL") > current_utctimestamp(3) then case
    when max("LOCKED_BY") = cast(:lockedBy as nvarchar(255)) then 'free'
    else 'held' end
    when max("LOCKED_AT") >= add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then 'already-run'
    when add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) > add_nano100(current_utctimestamp(3), cast(60000 as bigint) * 10000) then 'slot-too-far-ahead'
    else 'free' end as "outcome"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255));
-- Step 2 of 4: if it changes a row, the lock is acquired
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when "LOCK_UNTIL" > add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) then "LOCK_UNTIL"
    else add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) end,
    "LOCKED_AT" = case
    when "LOCKED_AT" > add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then "LOCKED_AT"
    else add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) end,
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and ("LOCK_UNTIL" <= current_utctimestamp(3)
      and "LOCKED_AT" < add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) or "LOCK_UNTIL" > current_utctimestamp(3)
      and "LOCKED_BY" = cast(:lockedBy as nvarchar(255)));
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max("LOCK_UNTIL") > current_utctimestamp(3) then case
    when max("LOCKED_BY") = cast(:lockedBy as nvarchar(255)) then 'free'
    else 'held' end
    when max("LOCKED_AT") >= add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then 'already-run'
    when add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) > add_nano100(current_utctimestamp(3), cast(60000 as bigint) * 10000) then 'slot-too-far-ahead'
    else 'free' end as "outcome"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255));
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into "SHEDLOCK" ("NAME", "LOCK_UNTIL", "LOCKED_AT", "LOCKED_BY")
  values (cast(:name as nvarchar(255)),
      add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
      add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000),
      cast(:lockedBy as nvarchar(255)));

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update "SHEDLOCK"
  set "LOCK_UNTIL" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
    "LOCKED_AT" = add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000),
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:seenBy as nvarchar(255))
    and cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCKED_AT") / 10000 as bigint) = :seenAt
    and "LOCK_UNTIL" <= current_utctimestamp(3);

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) > "LOCK_UNTIL" then add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000)
    else add_nano100("LOCK_UNTIL", cast(1 as bigint) * 10000) end
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
    and "LOCK_UNTIL" > current_utctimestamp(3);

---- release
-- Releases a lock without a slot, at the end of a run.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000) < "LOCK_UNTIL" then add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000)
    when "LOCK_UNTIL" > current_utctimestamp(3) then "LOCK_UNTIL"
    else current_utctimestamp(3) end,
    "LOCKED_BY" = cast(:unlockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255));

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000) < "LOCK_UNTIL" then add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000)
    when "LOCK_UNTIL" > current_utctimestamp(3) then "LOCK_UNTIL"
    else current_utctimestamp(3) end,
    "LOCKED_BY" = cast(:unlockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255));

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000) < "LOCK_UNTIL" then add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000)
    when "LOCK_UNTIL" > current_utctimestamp(3) then "LOCK_UNTIL"
    else current_utctimestamp(3) end,
    "LOCKED_BY" = cast(:unlockedBy as nvarchar(255)),
    "LOCKED_AT" = add_nano100("LOCKED_AT", cast(-1 as bigint) * 10000)
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255));

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update "SHEDLOCK"
  set "LOCK_UNTIL" = current_utctimestamp(3),
    "LOCKED_BY" = cast(:unlockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
    and "LOCK_UNTIL" > current_utctimestamp(3)
    and abs(coalesce(cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint), 253402300799999) - (cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:seenUntil as bigint) * 10000)) / 10000 as bigint))) < 1;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update "SHEDLOCK"
  set "LOCK_UNTIL" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCK_UNTIL" <= current_utctimestamp(3);

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCKED_AT") / 10000 as bigint)
    from "SHEDLOCK"
    where "NAME" = cast(:name as nvarchar(255))
      and "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
      and "LOCK_UNTIL" > current_utctimestamp(3)) as "token"
  from dummy;

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one
  from dummy;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update "SHEDLOCK"
  set "LOCKED_BY" = "LOCKED_BY"
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255));

---- list
-- Reads all locks: `table.list`, the page and the command line.
select "NAME" as "lock_name",
    "LOCKED_BY" as "owner",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCKED_AT") / 10000 as bigint) as "locked_at",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint) as "lock_until",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now",
    case
    when "LOCK_UNTIL" <= current_utctimestamp(3) then 0
    else 1 end as "is_held"
  from "SHEDLOCK"
  where 1 = 1 order by "NAME";

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select "NAME" as "lock_name",
    "LOCKED_BY" as "owner",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCKED_AT") / 10000 as bigint) as "locked_at",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint) as "lock_until",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now",
    case
    when "LOCK_UNTIL" <= current_utctimestamp(3) then 0
    else 1 end as "is_held"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255));

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now"
  from dummy;

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
select 1
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
    and "LOCK_UNTIL" > current_utctimestamp(3) for
  update;

---- The table: create
create table "SHEDLOCK" (
  "NAME" nvarchar(64) not null,
  "LOCK_UNTIL" timestamp not null,
  "LOCKED_AT" timestamp not null,
  "LOCKED_BY" nvarchar(255) not null,
  primary key ("NAME")
);

---- The table: drop
drop table "SHEDLOCK";

---- The table in a schema: create, as the check advises where it is missing
create table "app"."SHEDLOCK" (
  "NAME" nvarchar(64) not null,
  "LOCK_UNTIL" timestamp not null,
  "LOCKED_AT" timestamp not null,
  "LOCKED_BY" nvarchar(255) not null,
  primary key ("NAME")
);
