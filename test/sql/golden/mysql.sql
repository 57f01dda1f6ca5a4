-- The SQL of the dialect mysql. Values are bound; here each has its name after a colon.

-- The driver adds settings that hold for the statement alone:

--   /*M! set statement lock_wait_timeout=0,sql_select_limit=18446744073709551615 for */ select /*+ SET_VAR(lock_wait_timeout=1) SET_VAR(sql_select_limit=18446744073709551615) */ …

--   /*M! set statement lock_wait_timeout=0,innodb_lock_wait_timeout=0,sql_select_limit=18446744073709551615 for */ update /*+ SET_VAR(lock_wait_timeout=1) SET_VAR(sql_select_limit=18446744073709551615) */ … for update nowait …

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select hex(convert(rtrim(max(`locked_by`)) using utf8mb4)) as `owner_hex`,
    timestampdiff(microsecond, '1970-01-01', max(`lock_until`)) div 1000 as `lock_until`,
    @@global.read_only not in ('0', 'OFF') as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from `shedlock`
  where `name` = :name
    and `lock_until` > utc_timestamp(3);
-- Step 2 of 4: if it changes a row, the lock is acquired
update `shedlock`
  set `lock_until` = case
    when `lock_until` > utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond then `lock_until`
    else utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond end,
    `locked_at` = case
    when `locked_at` >= utc_timestamp(3) then `locked_at` + interval 1 * 1000 microsecond
    else utc_timestamp(3) end,
    `locked_by` = :lockedBy
  where `name` = :name
    and (`lock_until` <= utc_timestamp(3) or `locked_by` = :lockedBy)
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select hex(convert(rtrim(max(`locked_by`)) using utf8mb4)) as `owner_hex`,
    timestampdiff(microsecond, '1970-01-01', max(`lock_until`)) div 1000 as `lock_until`,
    @@global.read_only not in ('0', 'OFF') as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from `shedlock`
  where `name` = :name
    and `lock_until` > utc_timestamp(3);
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into `shedlock` (`name`, `lock_until`, `locked_at`, `locked_by`)
  values (:name, utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, utc_timestamp(3), :lockedBy);

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 2 if its row is free, 4 if it has no row yet.
-- Step 1 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max(`lock_until`) > utc_timestamp(3) then case
    when max(`locked_by`) = :lockedBy then 'free'
    else 'held' end
    when max(`locked_at`) >= timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond then 'already-run'
    when timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond > utc_timestamp(3) + interval 60000 * 1000 microsecond then 'slot-too-far-ahead'
    else 'free' end as `outcome`,
    @@global.read_only not in ('0', 'OFF') as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from `shedlock`
  where `name` = :name;
-- Step 2 of 4: if it changes a row, the lock is acquired
update `shedlock`
  set `lock_until` = case
    when `lock_until` > utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond then `lock_until`
    else utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond end,
    `locked_at` = case
    when `locked_at` > timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond then `locked_at`
    else timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond end,
    `locked_by` = :lockedBy
  where `name` = :name
    and (`lock_until` <= utc_timestamp(3)
      and `locked_at` < timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond or `lock_until` > utc_timestamp(3)
      and `locked_by` = :lockedBy)
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;
-- Step 3 of 4: reads whether something refuses the lock: if so, there is no further step
select case
    when max(`lock_until`) > utc_timestamp(3) then case
    when max(`locked_by`) = :lockedBy then 'free'
    else 'held' end
    when max(`locked_at`) >= timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond then 'already-run'
    when timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond > utc_timestamp(3) + interval 60000 * 1000 microsecond then 'slot-too-far-ahead'
    else 'free' end as `outcome`,
    @@global.read_only not in ('0', 'OFF') as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from `shedlock`
  where `name` = :name;
-- Step 4 of 4: if it changes a row, the lock is acquired
insert into `shedlock` (`name`, `lock_until`, `locked_at`, `locked_by`)
  values (:name,
      utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond,
      timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond,
      :lockedBy);

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update `shedlock`
  set `lock_until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond,
    `locked_at` = timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond,
    `locked_by` = :lockedBy
  where `name` = :name
    and `locked_by` = :seenBy
    and timestampdiff(microsecond, '1970-01-01', `locked_at`) div 1000 = :seenAt
    and `lock_until` <= utc_timestamp(3)
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update `shedlock`
  set `lock_until` = case
    when utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond > `lock_until` then utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond
    else `lock_until` + interval 1 * 1000 microsecond end
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > utc_timestamp(3)
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- release
-- Releases a lock without a slot, at the end of a run.
update `shedlock`
  set `lock_until` = case
    when utc_timestamp(3) + interval :keepFor * 1000 microsecond < `lock_until` + interval (0 - :unexpired) * 1000 microsecond then utc_timestamp(3) + interval :keepFor * 1000 microsecond
    else `lock_until` + interval (0 - :unexpired) * 1000 microsecond end,
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update `shedlock`
  set `lock_until` = case
    when utc_timestamp(3) + interval :keepFor * 1000 microsecond < `lock_until` + interval (0 - :unexpired) * 1000 microsecond then utc_timestamp(3) + interval :keepFor * 1000 microsecond
    else `lock_until` + interval (0 - :unexpired) * 1000 microsecond end,
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update `shedlock`
  set `lock_until` = case
    when utc_timestamp(3) + interval :keepFor * 1000 microsecond < `lock_until` + interval (0 - :unexpired) * 1000 microsecond then utc_timestamp(3) + interval :keepFor * 1000 microsecond
    else `lock_until` + interval (0 - :unexpired) * 1000 microsecond end,
    `locked_by` = :unlockedBy,
    `locked_at` = `locked_at` + interval -1 * 1000 microsecond
  where `name` = :name
    and `locked_by` = :lockedBy
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- releaseSeen
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update `shedlock`
  set `lock_until` = utc_timestamp(3),
    `locked_by` = :unlockedBy
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > utc_timestamp(3)
    and abs(coalesce(timestampdiff(microsecond, '1970-01-01', `lock_until`) div 1000, 253402300799999) - (timestampdiff(microsecond, '1970-01-01', timestamp '1970-01-01 00:00:00' + interval :seenUntil * 1000 microsecond) div 1000)) < 1
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update `shedlock`
  set `lock_until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond,
    `locked_by` = :lockedBy
  where `name` = :name
    and `lock_until` <= utc_timestamp(3)
    and @@autocommit = 1
    and /*!80000 exists (select 1
    from (select `name` from `shedlock` where */ `name` = :name /*!80000 for update nowait) shedlock_row) */;

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select timestampdiff(microsecond, '1970-01-01', `locked_at`) div 1000
    from `shedlock`
    where `name` = :name
      and `locked_by` = :lockedBy
      and `lock_until` > utc_timestamp(3)) as `token`,
    @@global.read_only not in ('0', 'OFF') as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`;

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
select hex(convert(rtrim(`name`) using utf8mb4)) as `lock_name_hex`,
    hex(convert(rtrim(`locked_by`) using utf8mb4)) as `owner_hex`,
    timestampdiff(microsecond, '1970-01-01', `locked_at`) div 1000 as `locked_at`,
    timestampdiff(microsecond, '1970-01-01', `lock_until`) div 1000 as `lock_until`,
    timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`,
    case
    when `lock_until` <= utc_timestamp(3) then 0
    else 1 end as `is_held`,
    case
    when `name` is null then @@global.read_only not in ('0', 'OFF')
    else 0 end as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from (select 1 as shedlock_one ) shedlock_one left join `shedlock` on 1 = 1 order by `name`;

---- find
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
select hex(convert(rtrim(`name`) using utf8mb4)) as `lock_name_hex`,
    hex(convert(rtrim(`locked_by`) using utf8mb4)) as `owner_hex`,
    timestampdiff(microsecond, '1970-01-01', `locked_at`) div 1000 as `locked_at`,
    timestampdiff(microsecond, '1970-01-01', `lock_until`) div 1000 as `lock_until`,
    timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`,
    case
    when `lock_until` <= utc_timestamp(3) then 0
    else 1 end as `is_held`,
    case
    when `name` is null then @@global.read_only not in ('0', 'OFF')
    else 0 end as `read_only`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`
  from (select 1 as shedlock_one ) shedlock_one left join `shedlock` on `name` = :name;

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`,
    case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end as `unfit`;

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
select 1
  from `shedlock`
  where `name` = :name
    and `locked_by` = :lockedBy
    and `lock_until` > utc_timestamp(3)
    and case
    when @@autocommit + 0 = 0 then 1
    when abs(timestampdiff(microsecond, now(6), sysdate(6))) >= 1000000 then 2 /*M!
    when @@in_transaction + 0 = 1 then 3 */
    else 0 end <> 2 lock in share mode;

---- The table: create
create table if not exists `shedlock` (
  `name` varchar(64) not null,
  `lock_until` datetime(3) not null,
  `locked_at` datetime(3) not null,
  `locked_by` varchar(255) not null,
  primary key (`name`)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
update `shedlock` set `lock_until` = `lock_until`, `locked_at` = `locked_at`, `locked_by` = `locked_by` where `name` = '';

---- The table: drop
drop table if exists `shedlock`;

---- The table in a schema: create, as the check advises where it is missing
create schema if not exists `app`;
create table if not exists `app`.`shedlock` (
  `name` varchar(64) not null,
  `lock_until` datetime(3) not null,
  `locked_at` datetime(3) not null,
  `locked_by` varchar(255) not null,
  primary key (`name`)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;
