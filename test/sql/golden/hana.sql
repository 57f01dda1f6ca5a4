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
  set "LOCK_UNTIL" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
    "LOCKED_AT" = case
    when "LOCKED_AT" < current_utctimestamp(3) then current_utctimestamp(3)
    else add_nano100("LOCKED_AT", cast(1 as bigint) * 10000) end,
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCK_UNTIL" <= current_utctimestamp(3);
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
    when max("LOCK_UNTIL") > current_utctimestamp(3) then 'held'
    when max("LOCKED_AT") >= add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then 'already-run'
    when add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) > add_nano100(current_utctimestamp(3), cast(60000 as bigint) * 10000) then 'slot-too-far-ahead'
    else 'free' end as "outcome"
  from "SHEDLOCK"
  where "NAME" = cast(:name as nvarchar(255));
-- Step 2 of 4: if it changes a row, the lock is acquired
update "SHEDLOCK"
  set "LOCK_UNTIL" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000),
    "LOCKED_AT" = add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000),
    "LOCKED_BY" = cast(:lockedBy as nvarchar(255))
  where "NAME" = cast(:name as nvarchar(255))
    and "LOCK_UNTIL" <= current_utctimestamp(3)
    and "LOCKED_AT" < add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000);
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max("LOCK_UNTIL") > current_utctimestamp(3) then 'held'
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
-- Releases another holder's lock: `releaseLock`, and `resumeLock` for a pause.
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

---- list
-- Reads all locks: `listLocks`, the page and the command line.
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
-- Reads one lock: `findLock`, and `untilSucceeded` before it acquires a slot again.
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

---- findSeveral
-- Reads several locks: `overdueLocks`.
select "NAME" as "lock_name",
    "LOCKED_BY" as "owner",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCKED_AT") / 10000 as bigint) as "locked_at",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "LOCK_UNTIL") / 10000 as bigint) as "lock_until",
    cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now",
    case
    when "LOCK_UNTIL" <= current_utctimestamp(3) then 0
    else 1 end as "is_held"
  from "SHEDLOCK"
  where "NAME" in (cast(:name1 as nvarchar(255)),
      cast(:name2 as nvarchar(255)),
      cast(:name3 as nvarchar(255)),
      cast(:name4 as nvarchar(255)),
      cast(:name5 as nvarchar(255)),
      cast(:name6 as nvarchar(255)),
      cast(:name7 as nvarchar(255)),
      cast(:name8 as nvarchar(255)),
      cast(:name9 as nvarchar(255)),
      cast(:name10 as nvarchar(255)));

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now"
  from dummy;

---- describe
-- Reads the columns of the table, once for each provider before its first lock.
select c.column_name as "column_name",
    c.data_type_name as "column_type",
    c.length as "max_length",
    case c.is_nullable
    when 'TRUE' then 1
    else 0 end as "nullable",
    case
    when c.schema_name = current_user then (select count(*)
    from sys.index_columns k
    where k.table_oid = c.table_oid
      and k.column_name = c.column_name
      and (k."CONSTRAINT" like 'PRIMARY%' or k."CONSTRAINT" like '%UNIQUE')
      and not exists (select 1
      from sys.index_columns o
      where o.index_oid = k.index_oid
        and o.column_name <> k.column_name) ) end as "unique_keys"
  from sys.table_columns c
  where c.schema_name = coalesce(cast(:schema as nvarchar(256)), current_schema)
    and c.table_name = cast(:table as nvarchar(256));

---- schemasOf
-- Finds the schemas with such a table, for messages about a table that is missing.
select schema_name as "table_schema"
  from sys.tables
  where table_name = cast(:table as nvarchar(256)) order by schema_name;

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

---- The table: repair, each statement if the check of the table advises it
create table "SHEDLOCK" (
  "NAME" nvarchar(64) not null,
  "LOCK_UNTIL" timestamp not null,
  "LOCKED_AT" timestamp not null,
  "LOCKED_BY" nvarchar(255) not null,
  primary key ("NAME")
);
alter table "SHEDLOCK" alter ("NAME" nvarchar(64) not null);
alter table "SHEDLOCK" add ("LOCK_UNTIL" timestamp default '1970-01-01 00:00:00' not null);
alter table "SHEDLOCK" add ("LOCKED_AT" timestamp default '1970-01-01 00:00:00' not null);
alter table "SHEDLOCK" add ("LOCKED_BY" nvarchar(255) default '-' not null);
create unique index "SHEDLOCK_name" on "SHEDLOCK" ("NAME");
alter table "SHEDLOCK" alter ("LOCK_UNTIL" timestamp not null);
alter table "SHEDLOCK" alter ("LOCKED_AT" timestamp not null);
alter table "SHEDLOCK" alter ("LOCKED_BY" nvarchar(255) not null);
