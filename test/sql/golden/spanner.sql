---------- Custom names

-- create table
create table if not exists `app`.`JobLock` (
  `id` string(64) not null,
  `until` timestamp not null,
  `at` timestamp not null,
  `Who` string(255) not null
) primary key (`id`);

-- create table
update `app`.`JobLock` set `until` = `until`, `at` = `at`, `Who` = `Who` where `id` = '';

-- acquire, step 1: refusal
select `Who` as `owner`, unix_millis(`until`) as `lock_until`
  from `app`.`JobLock`
  where `id` = :name
  and `until` > timestamp_trunc(current_timestamp(), millisecond);

-- acquire, step 2: acquired
update `app`.`JobLock`
  set `until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), `at` =
  case
  when `at` < timestamp_trunc(current_timestamp(), millisecond) then timestamp_trunc(current_timestamp(), millisecond)
  else timestamp_add(`at`, interval 1 millisecond) end, `Who` = :lockedBy
  where `id` = :name
  and `until` <= timestamp_trunc(current_timestamp(), millisecond);

-- acquire, step 3: refusal
select `Who` as `owner`, unix_millis(`until`) as `lock_until`
  from `app`.`JobLock`
  where `id` = :name
  and `until` > timestamp_trunc(current_timestamp(), millisecond);

-- acquire, step 4: acquired
insert into `app`.`JobLock` (`id`, `until`, `at`, `Who`)
  values (:name, timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), timestamp_trunc(current_timestamp(), millisecond), :lockedBy);

-- acquire a slot, step 1: refusal
select
  case
  when max(`until`) > timestamp_trunc(current_timestamp(), millisecond) then 'held'
  when max(`at`) >= timestamp_add(timestamp_seconds(0), interval :slot millisecond) then 'already-run'
  when timestamp_add(timestamp_seconds(0), interval :slot millisecond) > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval 60000 millisecond) then 'slot-too-far-ahead'
  else 'free' end as `outcome`
  from `app`.`JobLock`
  where `id` = :name;

-- acquire a slot, step 2: acquired
update `app`.`JobLock`
  set `until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), `at` = timestamp_add(timestamp_seconds(0), interval :slot millisecond), `Who` = :lockedBy
  where `id` = :name
  and `until` <= timestamp_trunc(current_timestamp(), millisecond)
  and `at` < timestamp_add(timestamp_seconds(0), interval :slot millisecond);

-- acquire a slot, step 3: refusal
select
  case
  when max(`until`) > timestamp_trunc(current_timestamp(), millisecond) then 'held'
  when max(`at`) >= timestamp_add(timestamp_seconds(0), interval :slot millisecond) then 'already-run'
  when timestamp_add(timestamp_seconds(0), interval :slot millisecond) > timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval 60000 millisecond) then 'slot-too-far-ahead'
  else 'free' end as `outcome`
  from `app`.`JobLock`
  where `id` = :name;

-- acquire a slot, step 4: acquired
insert into `app`.`JobLock` (`id`, `until`, `at`, `Who`)
  values (:name, timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), timestamp_add(timestamp_seconds(0), interval :slot millisecond), :lockedBy);

-- acquireAgain
update `app`.`JobLock`
  set `until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), `at` = timestamp_add(timestamp_seconds(0), interval :slot millisecond), `Who` = :lockedBy
  where `id` = :name
  and `Who` = :seenBy
  and unix_millis(`at`) = :seenAt
  and `until` <= timestamp_trunc(current_timestamp(), millisecond);

-- extend
update `app`.`JobLock`
  set `until` =
  case
  when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond) > `until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond)
  else timestamp_add(`until`, interval 1 millisecond) end
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > timestamp_trunc(current_timestamp(), millisecond);

-- release
update `app`.`JobLock`
  set `until` = timestamp_trunc(current_timestamp(), millisecond), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseLater
update `app`.`JobLock`
  set `until` =
  case
  when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond) < `until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond)
  else `until` end, `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSlot
update `app`.`JobLock`
  set `until` = timestamp_trunc(current_timestamp(), millisecond), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSlotLater
update `app`.`JobLock`
  set `until` =
  case
  when timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond) < `until` then timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :keepFor millisecond)
  else `until` end, `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseUnused
update `app`.`JobLock`
  set `until` = timestamp_trunc(current_timestamp(), millisecond), `Who` = :unlockedBy, `at` = timestamp_add(`at`, interval -1 millisecond)
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSeen
update `app`.`JobLock`
  set `until` = timestamp_trunc(current_timestamp(), millisecond), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > timestamp_trunc(current_timestamp(), millisecond)
  and abs(coalesce(unix_millis(`until`), 253402300799999) - (unix_millis(timestamp_add(timestamp_seconds(0), interval :seenUntil millisecond)))) < 1;

-- pause
update `app`.`JobLock`
  set `until` = timestamp_add(timestamp_trunc(current_timestamp(), millisecond), interval :lockAtMostFor millisecond), `Who` = :lockedBy
  where `id` = :name
  and `until` <= timestamp_trunc(current_timestamp(), millisecond);

-- fencingToken
select (select unix_millis(`at`)
  from `app`.`JobLock`
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > timestamp_trunc(current_timestamp(), millisecond)) as `token`;

-- list
select `id` as `lock_name`, `Who` as `owner`, unix_millis(`at`) as `locked_at`, unix_millis(`until`) as `lock_until`, unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`,
  case
  when `until` <= timestamp_trunc(current_timestamp(), millisecond) then 0
  else 1 end as `is_held`
  from `app`.`JobLock`
  where 1 = 1 order by `id`;

-- find
select `id` as `lock_name`, `Who` as `owner`, unix_millis(`at`) as `locked_at`, unix_millis(`until`) as `lock_until`, unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`,
  case
  when `until` <= timestamp_trunc(current_timestamp(), millisecond) then 0
  else 1 end as `is_held`
  from `app`.`JobLock`
  where `id` = :name;

-- now
select unix_millis(timestamp_trunc(current_timestamp(), millisecond)) as `now`;

-- describe
SELECT c.column_name as column_name, c.spanner_type as column_type, safe_cast(regexp_extract(c.spanner_type, '[0-9]+') as int64) as max_length,
  case c.is_nullable
  when 'YES' then 1
  else 0 end as nullable, (select count(*)
  from information_schema.indexes i
  where i.table_schema = c.table_schema
  and i.table_name = c.table_name
  and i.is_unique
  and exists (
  select 1
  from information_schema.index_columns k
  where k.table_schema = i.table_schema
  and k.table_name = i.table_name
  and k.index_name = i.index_name
  and k.column_name = c.column_name
  and k.ordinal_position = 1)
  and not exists (
  select 1
  from information_schema.index_columns o
  where o.table_schema = i.table_schema
  and o.table_name = i.table_name
  and o.index_name = i.index_name
  and o.ordinal_position > 1)) as unique_keys
  from information_schema.columns c
  where c.table_schema = :schema
  and c.table_name = :table;

-- pin: write
update `app`.`JobLock`
  set `Who` = `Who`
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > timestamp_trunc(current_timestamp(), millisecond);

-- drop table
drop table if exists `app`.`JobLock`;

-- fix
create table if not exists `app`.`JobLock` (
  `id` string(64) not null,
  `until` timestamp not null,
  `at` timestamp not null,
  `Who` string(255) not null
) primary key (`id`);

---------- Default names, where more than the names differs

-- describe
SELECT c.column_name as column_name, c.spanner_type as column_type, safe_cast(regexp_extract(c.spanner_type, '[0-9]+') as int64) as max_length,
  case c.is_nullable
  when 'YES' then 1
  else 0 end as nullable, (select count(*)
  from information_schema.indexes i
  where i.table_schema = c.table_schema
  and i.table_name = c.table_name
  and i.is_unique
  and exists (
  select 1
  from information_schema.index_columns k
  where k.table_schema = i.table_schema
  and k.table_name = i.table_name
  and k.index_name = i.index_name
  and k.column_name = c.column_name
  and k.ordinal_position = 1)
  and not exists (
  select 1
  from information_schema.index_columns o
  where o.table_schema = i.table_schema
  and o.table_name = i.table_name
  and o.index_name = i.index_name
  and o.ordinal_position > 1)) as unique_keys
  from information_schema.columns c
  where c.table_schema = ''
  and c.table_name = :table;

---------- Only with custom names

-- describe
SELECT c.column_name as column_name, c.spanner_type as column_type, safe_cast(regexp_extract(c.spanner_type, '[0-9]+') as int64) as max_length,
  case c.is_nullable
  when 'YES' then 1
  else 0 end as nullable, (select count(*)
  from information_schema.indexes i
  where i.table_schema = c.table_schema
  and i.table_name = c.table_name
  and i.is_unique
  and exists (
  select 1
  from information_schema.index_columns k
  where k.table_schema = i.table_schema
  and k.table_name = i.table_name
  and k.index_name = i.index_name
  and k.column_name = c.column_name
  and k.ordinal_position = 1)
  and not exists (
  select 1
  from information_schema.index_columns o
  where o.table_schema = i.table_schema
  and o.table_name = i.table_name
  and o.index_name = i.index_name
  and o.ordinal_position > 1)) as unique_keys
  from information_schema.columns c
  where c.table_schema = :schema
  and c.table_name = :table;
