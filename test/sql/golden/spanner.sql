-- The SQL of the dialect spanner. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select `locked_by` as `owner`,
    unix_millis(`lock_until`) as `lock_until`
  from `shedlock`
  where `name` = :name
    and `lock_until` > timestamp_trunc(current_timestamp(), millisecond);
-- Step 2 of 4: if it changes a row, the lock is acquired
update `shedlock`
  set `lock_until` = case
    when `lock_until` > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) then `lock_until`
    else timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) end,
    `locked_at` = case
    when `locked_at` >= timestamp_trunc(current_timestamp(), millisecond) then timestamp_add(`locked_at`, interval 1 millisecond)
    else timestamp_trunc(current_timestamp(), millisecond) end,
    `locked_by` = :lockedBy
  where `name` = :name
    and (`lock_until` <= timestamp_trunc(current_timestamp(), millisecond) or `locked_by` = :lockedBy);
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select `locked_by` as `owner`,
    unix_millis(`lock_until`) as `lock_until`
  from `shedlock`
  where `name` = :name
    and `lock_until` > timestamp_trunc(current_timestamp(), millisecond);
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into `shedlock` (`name`, `lock_until`, `locked_at`, `locked_by`)
  values (:name,
      timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond),
      timestamp_trunc(current_timestamp(), millisecond),
      :lockedBy);

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max(`lock_until`) > timestamp_trunc(current_timestamp(), millisecond) then case
    when max(`locked_by`) = :lockedBy then 'free'
    else 'held' end
    when max(`locked_at`) >= timestamp_add(timestamp_seconds(0), interval :slot millisecond) then 'already-run'
    when timestamp_add(timestamp_seconds(0), interval :slot millisecond) > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval 60000 millisecond) then 'slot-too-far-ahead'
    else 'free' end as `outcome`
  from `shedlock`
  where `name` = :name;
-- Step 2 of 4: if it changes a row, the lock is acquired
update `shedlock`
  set `lock_until` = case
    when `lock_until` > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) then `lock_until`
    else timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) end,
    `locked_at` = case
    when `locked_at` > timestamp_add(timestamp_seconds(0), interval :slot millisecond) then `locked_at`
    else timestamp_add(timestamp_seconds(0), interval :slot millisecond) end,
    `locked_by` = :lockedBy
  where `name` = :name
    and (`lock_until` <= timestamp_trunc(current_timestamp(), millisecond)
      and `locked_at` < timestamp_add(timestamp_seconds(0), interval :slot millisecond) or `lock_until` > timestamp_trunc(current_timestamp(), millisecond)
      and `locked_by` = :lockedBy);
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max(`lock_until`) > timestamp_trunc(current_timestamp(), millisecond) then case
    when max(`locked_by`) = :lockedBy then 'free'
    else 'held' end
    when max(`locked_at`) >= timestamp_add(timestamp_seconds(0), interval :slot millisecond) then 'already-run'
    when timestamp_add(timestamp_seconds(0), interval :slot millisecond) > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval 60000 millisecond) then 'slot-too-far-ahead'
    else 'free' end as `outcome`
  from `shedlock`
  where `name` = :name;
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into `shedlock` (`name`, `lock_until`, `locked_at`, `locked_by`)
  values (:name,
      timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond),
      timestamp_add(timestamp_seconds(0), interval :slot millisecond),
      :lockedBy);

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update `shedlock`
  set `lock_until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond),
    `locked_at` = timestamp_add(timestamp_seconds(0), interval :slot millisecond),
    `locked_by` = :lockedBy
  where `name` = :name
    and `locked_by` = :seenBy
    and unix_millis(`locked_at`) = :seenAt
    and `lock_until` <= timestamp_trunc(current_timestamp(), millisecond);

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update `shedlock`
  set `lock_until` = case
    when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) > `lock_until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond)
    else timestamp_add(`lock_until`, interval 1 millisecond) end
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > timestamp_trunc(current_timestamp(), millisecond);

---- release
-- Releases a lock without a slot, at the end of a run.
update `shedlock`
  set `lock_until` = case
    when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond) < `lock_until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond)
    when `lock_until` > timestamp_trunc(current_timestamp(), millisecond) then `lock_until`
    else timestamp_trunc(current_timestamp(), millisecond) end,
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update `shedlock`
  set `lock_until` = case
    when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond) < `lock_until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond)
    when `lock_until` > timestamp_trunc(current_timestamp(), millisecond) then `lock_until`
    else timestamp_trunc(current_timestamp(), millisecond) end,
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update `shedlock`
  set `lock_until` = case
    when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond) < `lock_until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond)
    when `lock_until` > timestamp_trunc(current_timestamp(), millisecond) then `lock_until`
    else timestamp_trunc(current_timestamp(), millisecond) end,
    `locked_by` = :unlockedBy,
    `locked_at` = timestamp_add(`locked_at`, interval -1 millisecond)
  where `name` = :name
    and `locked_by` = :lockedBy;

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update `shedlock`
  set `lock_until` = timestamp_trunc(current_timestamp(), millisecond),
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > timestamp_trunc(current_timestamp(), millisecond)
    and abs(coalesce(unix_millis(`lock_until`), 253402300799999) - (unix_millis(timestamp_add(timestamp_seconds(0), interval :seenUntil millisecond)))) < 1;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update `shedlock`
  set `lock_until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond),
    `locked_by` = :lockedBy
  where `name` = :name
    and `lock_until` <= timestamp_trunc(current_timestamp(), millisecond);

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select unix_millis(`locked_at`)
    from `shedlock`
    where `name` = :name
      and `locked_by` = :lockedBy
      and `lock_until` > timestamp_trunc(current_timestamp(), millisecond)) as `token`;

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update `shedlock`
  set `locked_by` = `locked_by`
  where `name` = :name
    and `locked_by` = :lockedBy;

---- list
-- Reads all locks: `table.list`, the page and the command line.
select `name` as `lock_name`,
    `locked_by` as `owner`,
    unix_millis(`locked_at`) as `locked_at`,
    unix_millis(`lock_until`) as `lock_until`,
    unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`,
    case
    when `lock_until` <= timestamp_trunc(current_timestamp(), millisecond) then 0
    else 1 end as `is_held`
  from `shedlock`
  where 1 = 1 order by `name`;

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select `name` as `lock_name`,
    `locked_by` as `owner`,
    unix_millis(`locked_at`) as `locked_at`,
    unix_millis(`lock_until`) as `lock_until`,
    unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`,
    case
    when `lock_until` <= timestamp_trunc(current_timestamp(), millisecond) then 0
    else 1 end as `is_held`
  from `shedlock`
  where `name` = :name;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`;

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
update `shedlock`
  set `locked_by` = `locked_by`
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > timestamp_trunc(current_timestamp(), millisecond);

---- The table: create
create table if not exists `shedlock` (
  `name` string(64) not null,
  `lock_until` timestamp not null,
  `locked_at` timestamp not null,
  `locked_by` string(255) not null
) primary key (`name`);
update `shedlock` set `lock_until` = `lock_until`, `locked_at` = `locked_at`, `locked_by` = `locked_by` where `name` = '';

---- The table: drop
drop table if exists `shedlock`;

---- The table in a schema: create, as the check advises where it is missing
create table if not exists `app`.`shedlock` (
  `name` string(64) not null,
  `lock_until` timestamp not null,
  `locked_at` timestamp not null,
  `locked_by` string(255) not null
) primary key (`name`);
