---------- Custom names

-- create table
create table if not exists `app`.`JobLock` (
  `id` varchar(64) not null,
  `until` datetime(3) not null,
  `at` datetime(3) not null,
  `Who` varchar(255) not null,
  primary key (`id`)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- create table
update `app`.`JobLock` set `until` = `until`, `at` = `at`, `Who` = `Who` where `id` = '';

-- acquire, step 1: refusal
select hex(convert(rtrim(`Who`) using utf8mb4)) as `owner_hex`, timestampdiff(microsecond, '1970-01-01', `until`) div 1000 as `lock_until`, @@global.read_only not in ('0', 'OFF') as `read_only`
  from `app`.`JobLock`
  where `id` = :name
  and `until` > utc_timestamp(3);

-- acquire, step 2: acquired
update `app`.`JobLock`
  set `until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, `at` =
  case
  when `at` < utc_timestamp(3) then utc_timestamp(3)
  else `at` + interval 1 * 1000 microsecond end, `Who` = :lockedBy
  where `id` = :name
  and `until` <= utc_timestamp(3);

-- acquire, step 3: refusal
select hex(convert(rtrim(`Who`) using utf8mb4)) as `owner_hex`, timestampdiff(microsecond, '1970-01-01', `until`) div 1000 as `lock_until`, @@global.read_only not in ('0', 'OFF') as `read_only`
  from `app`.`JobLock`
  where `id` = :name
  and `until` > utc_timestamp(3);

-- acquire, step 4: acquired
insert into `app`.`JobLock` (`id`, `until`, `at`, `Who`)
  values (:name, utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, utc_timestamp(3), :lockedBy);

-- acquire a slot, step 1: refusal
select
  case
  when max(`until`) > utc_timestamp(3) then 'held'
  when max(`at`) >= timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond then 'already-run'
  when timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond > utc_timestamp(3) + interval 60000 * 1000 microsecond then 'slot-too-far-ahead'
  else 'free' end as `outcome`, @@global.read_only not in ('0', 'OFF') as `read_only`
  from `app`.`JobLock`
  where `id` = :name;

-- acquire a slot, step 2: acquired
update `app`.`JobLock`
  set `until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, `at` = timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond, `Who` = :lockedBy
  where `id` = :name
  and `until` <= utc_timestamp(3)
  and `at` < timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond;

-- acquire a slot, step 3: refusal
select
  case
  when max(`until`) > utc_timestamp(3) then 'held'
  when max(`at`) >= timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond then 'already-run'
  when timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond > utc_timestamp(3) + interval 60000 * 1000 microsecond then 'slot-too-far-ahead'
  else 'free' end as `outcome`, @@global.read_only not in ('0', 'OFF') as `read_only`
  from `app`.`JobLock`
  where `id` = :name;

-- acquire a slot, step 4: acquired
insert into `app`.`JobLock` (`id`, `until`, `at`, `Who`)
  values (:name, utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond, :lockedBy);

-- acquireAgain
update `app`.`JobLock`
  set `until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, `at` = timestamp '1970-01-01 00:00:00' + interval :slot * 1000 microsecond, `Who` = :lockedBy
  where `id` = :name
  and `Who` = :seenBy
  and timestampdiff(microsecond, '1970-01-01', `at`) div 1000 = :seenAt
  and `until` <= utc_timestamp(3);

-- extend
update `app`.`JobLock`
  set `until` =
  case
  when utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond > `until` then utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond
  else `until` + interval 1 * 1000 microsecond end
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > utc_timestamp(3);

-- release
update `app`.`JobLock`
  set `until` = utc_timestamp(3), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseLater
update `app`.`JobLock`
  set `until` =
  case
  when utc_timestamp(3) + interval :keepFor * 1000 microsecond < `until` then utc_timestamp(3) + interval :keepFor * 1000 microsecond
  else `until` end, `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSlot
update `app`.`JobLock`
  set `until` = utc_timestamp(3), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSlotLater
update `app`.`JobLock`
  set `until` =
  case
  when utc_timestamp(3) + interval :keepFor * 1000 microsecond < `until` then utc_timestamp(3) + interval :keepFor * 1000 microsecond
  else `until` end, `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseUnused
update `app`.`JobLock`
  set `until` = utc_timestamp(3), `Who` = :unlockedBy, `at` = `at` + interval -1 * 1000 microsecond
  where `id` = :name
  and `Who` = :lockedBy;

-- releaseSeen
update `app`.`JobLock`
  set `until` = utc_timestamp(3), `Who` = :unlockedBy
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > utc_timestamp(3)
  and abs(coalesce(timestampdiff(microsecond, '1970-01-01', `until`) div 1000, 253402300799999) - (timestampdiff(microsecond, '1970-01-01', timestamp '1970-01-01 00:00:00' + interval :seenUntil * 1000 microsecond) div 1000)) < 1;

-- pause
update `app`.`JobLock`
  set `until` = utc_timestamp(3) + interval :lockAtMostFor * 1000 microsecond, `Who` = :lockedBy
  where `id` = :name
  and `until` <= utc_timestamp(3);

-- fencingToken
select (select timestampdiff(microsecond, '1970-01-01', `at`) div 1000
  from `app`.`JobLock`
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > utc_timestamp(3)) as `token`, @@global.read_only not in ('0', 'OFF') as `read_only`;

-- list
select hex(convert(rtrim(`id`) using utf8mb4)) as `lock_name_hex`, hex(convert(rtrim(`Who`) using utf8mb4)) as `owner_hex`, timestampdiff(microsecond, '1970-01-01', `at`) div 1000 as `locked_at`, timestampdiff(microsecond, '1970-01-01', `until`) div 1000 as `lock_until`, timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`,
  case
  when `until` <= utc_timestamp(3) then 0
  else 1 end as `is_held`,
  case
  when `id` is null then @@global.read_only not in ('0', 'OFF')
  else 0 end as `read_only`
  from (select 1 as shedlock_one ) shedlock_one left join `app`.`JobLock` on 1 = 1 order by `id`;

-- find
select hex(convert(rtrim(`id`) using utf8mb4)) as `lock_name_hex`, hex(convert(rtrim(`Who`) using utf8mb4)) as `owner_hex`, timestampdiff(microsecond, '1970-01-01', `at`) div 1000 as `locked_at`, timestampdiff(microsecond, '1970-01-01', `until`) div 1000 as `lock_until`, timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`,
  case
  when `until` <= utc_timestamp(3) then 0
  else 1 end as `is_held`,
  case
  when `id` is null then @@global.read_only not in ('0', 'OFF')
  else 0 end as `read_only`
  from (select 1 as shedlock_one ) shedlock_one left join `app`.`JobLock` on `id` = :name;

-- now
select timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 as `now`;

-- describe
select c.column_name as column_name, c.column_type as column_type, c.character_maximum_length as max_length,
  case c.is_nullable
  when _utf8mb4'YES' then 1
  else 0 end as nullable, @@autocommit as autocommit, (select count(*)
  from information_schema.statistics s
  where s.table_schema = coalesce(:schema, database())
  and s.table_name = :table
  and s.non_unique = 0
  and s.sub_part is null
  and s.column_name = c.column_name
  and not exists (
  select 1
  from information_schema.statistics o
  where o.table_schema = coalesce(:schema, database())
  and o.table_name = :table
  and o.index_name = s.index_name
  and o.seq_in_index > 1)) as unique_keys
  from information_schema.columns c
  where c.table_schema = coalesce(:schema, database())
  and c.table_name = :table;

-- pin: read
select 1
  from `app`.`JobLock` 
  where `id` = :name
  and `Who` = :lockedBy
  and `until` > utc_timestamp(3) lock in share mode;

-- drop table
drop table if exists `app`.`JobLock`;

-- fix
create schema if not exists `app`;

-- fix
create table if not exists `app`.`JobLock` (
  `id` varchar(64) not null,
  `until` datetime(3) not null,
  `at` datetime(3) not null,
  `Who` varchar(255) not null,
  primary key (`id`)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- fix
alter table `app`.`JobLock` modify `id` varchar(64) character set utf8mb4 collate utf8mb4_bin not null;

-- fix
alter table `app`.`JobLock` add `until` datetime(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table `app`.`JobLock` add `at` datetime(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table `app`.`JobLock` add `Who` varchar(255) default '-' not null;

-- fix
create unique index `JobLock_name` on `app`.`JobLock` (`id`);

-- fix
alter table `app`.`JobLock` modify `until` datetime(3) not null;

-- fix
alter table `app`.`JobLock` modify `at` datetime(3) not null;

-- fix
alter table `app`.`JobLock` modify `Who` varchar(255) character set utf8mb4 collate utf8mb4_bin not null;

---------- Default names, where more than the names differs


---------- Only with custom names

-- fix
create schema if not exists `app`;
