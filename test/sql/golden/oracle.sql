-- The SQL of the dialect oracle. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 3 if it has no row yet.
-- Step 1 of 3: reads whether something refuses the lock: if so, there is no further step
select "LOCKED_BY" as "owner",
    extract(day from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",
    case
    when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
    else 0 end as "read_only"
  from "SHEDLOCK"
  where "NAME" = :name
    and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));
-- Step 2 of 3: if it changes a row, the lock is acquired
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') then "LOCK_UNTIL"
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') end,
    "LOCKED_AT" = case
    when "LOCKED_AT" >= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "LOCKED_AT" + numtodsinterval(1 / 1000, 'second')
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end,
    "LOCKED_BY" = :lockedBy
  where "NAME" = :name
    and ("LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) or "LOCKED_BY" = :lockedBy);
-- Step 3 of 3: if it changes a row, the lock is acquired
insert into "SHEDLOCK" ("NAME", "LOCK_UNTIL", "LOCKED_AT", "LOCKED_BY")
  select :name,
    cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'),
    cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)),
    :lockedBy
  from dual
  where not exists (select 1 from "SHEDLOCK" where "NAME" = :name);

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 3 if it has no row yet.
-- Step 1 of 3: reads whether something refuses the lock: if so, there is no further step
select case
    when max("LOCK_UNTIL") > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then case
    when max("LOCKED_BY") = :lockedBy then 'free'
    else 'held' end
    when max("LOCKED_AT") >= timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') then 'already-run'
    when timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(60000 / 1000, 'second') then 'slot-too-far-ahead'
    else 'free' end as "outcome",
    case
    when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
    else 0 end as "read_only"
  from "SHEDLOCK"
  where "NAME" = :name;
-- Step 2 of 3: if it changes a row, the lock is acquired
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') then "LOCK_UNTIL"
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') end,
    "LOCKED_AT" = case
    when "LOCKED_AT" > timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') then "LOCKED_AT"
    else timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') end,
    "LOCKED_BY" = :lockedBy
  where "NAME" = :name
    and ("LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
      and "LOCKED_AT" < timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') or "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
      and "LOCKED_BY" = :lockedBy);
-- Step 3 of 3: if it changes a row, the lock is acquired
insert into "SHEDLOCK" ("NAME", "LOCK_UNTIL", "LOCKED_AT", "LOCKED_BY")
  select :name,
    cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'),
    timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second'),
    :lockedBy
  from dual
  where not exists (select 1 from "SHEDLOCK" where "NAME" = :name);

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update "SHEDLOCK"
  set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'),
    "LOCKED_AT" = timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second'),
    "LOCKED_BY" = :lockedBy
  where "NAME" = :name
    and "LOCKED_BY" = :seenBy
    and extract(day from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 1000 = :seenAt
    and "LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') > "LOCK_UNTIL" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second')
    else "LOCK_UNTIL" + numtodsinterval(1 / 1000, 'second') end
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy
    and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

---- release
-- Releases a lock without a slot, at the end of a run.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second') < "LOCK_UNTIL" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second')
    when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "LOCK_UNTIL"
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end,
    "LOCKED_BY" = :unlockedBy
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second') < "LOCK_UNTIL" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second')
    when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "LOCK_UNTIL"
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end,
    "LOCKED_BY" = :unlockedBy
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update "SHEDLOCK"
  set "LOCK_UNTIL" = case
    when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second') < "LOCK_UNTIL" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second')
    when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "LOCK_UNTIL"
    else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end,
    "LOCKED_BY" = :unlockedBy,
    "LOCKED_AT" = "LOCKED_AT" + numtodsinterval(-1 / 1000, 'second')
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy;

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update "SHEDLOCK"
  set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)),
    "LOCKED_BY" = :unlockedBy
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy
    and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
    and abs(coalesce(extract(day from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 1000, 253402300799999) - (extract(day from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 1000)) < 1;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update "SHEDLOCK"
  set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'),
    "LOCKED_BY" = :lockedBy
  where "NAME" = :name
    and "LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select extract(day from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 1000
    from "SHEDLOCK"
    where "NAME" = :name
      and "LOCKED_BY" = :lockedBy
      and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))) as "token",
    case
    when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
    else 0 end as "read_only"
  from dual;

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one
  from dual;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update "SHEDLOCK"
  set "LOCKED_BY" = "LOCKED_BY"
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy;

---- list
-- Reads all locks: `table.list`, the page and the command line.
select "NAME" as "lock_name",
    "LOCKED_BY" as "owner",
    extract(day from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",
    extract(day from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",
    extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now",
    case
    when "LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 0
    else 1 end as "is_held",
    case
    when "NAME" is null then case
    when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
    else 0 end
    else 0 end as "read_only"
  from (select 1 as shedlock_one from dual) shedlock_one left join "SHEDLOCK" on 1 = 1 order by "NAME";

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select "NAME" as "lock_name",
    "LOCKED_BY" as "owner",
    extract(day from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",
    extract(day from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",
    extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now",
    case
    when "LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 0
    else 1 end as "is_held",
    case
    when "NAME" is null then case
    when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
    else 0 end
    else 0 end as "read_only"
  from (select 1 as shedlock_one from dual) shedlock_one left join "SHEDLOCK" on "NAME" = :name;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now"
  from dual;

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
select 1
  from "SHEDLOCK"
  where "NAME" = :name
    and "LOCKED_BY" = :lockedBy
    and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) for
  update;

---- The table: create
create table "SHEDLOCK" (
  "NAME" varchar2(64 char) not null,
  "LOCK_UNTIL" timestamp(3) not null,
  "LOCKED_AT" timestamp(3) not null,
  "LOCKED_BY" varchar2(255 char) not null,
  primary key ("NAME")
);

---- The table: drop
drop table "SHEDLOCK";

---- The table in a schema: create, as the check advises where it is missing
create table "app"."SHEDLOCK" (
  "NAME" varchar2(64 char) not null,
  "LOCK_UNTIL" timestamp(3) not null,
  "LOCKED_AT" timestamp(3) not null,
  "LOCKED_BY" varchar2(255 char) not null,
  primary key ("NAME")
);
