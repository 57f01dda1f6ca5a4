---------- Default names

-- create table
create table [shedlock] (
  [name] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [lock_until] datetime2(3) not null,
  [locked_at] datetime2(3) not null,
  [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [shedlock_pkey] primary key ([name])
);

-- acquire, step 1: take
if not exists (select 1 from [shedlock] with (nolock) where [name] = :name and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) begin if exists (select 1 from [shedlock] with (nolock) where [name] = :name) update [shedlock] set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [locked_at] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [locked_by] = :lockedBy where [name] = :name and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) else insert into [shedlock] ([name], [lock_until], [locked_at], [locked_by]) values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), :lockedBy) end;

-- extend
update [shedlock] set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) where [name] = :name and [locked_by] = :lockedBy and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- unlock
update [shedlock] set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) where [name] = :name and [locked_by] = :lockedBy;

-- unlockAtLeast
update [shedlock] set [lock_until] = case when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [locked_at])) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [locked_at])) else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end where [name] = :name and [locked_by] = :lockedBy;

-- release
update [shedlock] set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) where [name] = :name and [locked_by] = :lockedBy and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- list
select [name] as [lock_name], [locked_by] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now], case when [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 1 else 0 end as [is_held] from [shedlock] order by [name];

-- describe
select name as column_name, type_name(system_type_id) + case when scale > 0 then concat('(', scale, ')') else '' end as column_type from sys.columns where object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

-- pin: read
select 1 from [shedlock] with (repeatableread) where [name] = :name and [locked_by] = :lockedBy and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- drop table
drop table [shedlock];

---------- Custom names

-- create table
create table [app].[JobLock] (
  [id] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [until] datetime2(3) not null,
  [at] datetime2(3) not null,
  [Who] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [JobLock_pkey] primary key ([id])
);

-- acquire, step 1: take
if not exists (select 1 from [app].[JobLock] with (nolock) where [id] = :name and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) begin if exists (select 1 from [app].[JobLock] with (nolock) where [id] = :name) update [app].[JobLock] set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :lockedBy where [id] = :name and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) else insert into [app].[JobLock] ([id], [until], [at], [Who]) values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), :lockedBy) end;

-- extend
update [app].[JobLock] set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) where [id] = :name and [Who] = :lockedBy and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- unlock
update [app].[JobLock] set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) where [id] = :name and [Who] = :lockedBy;

-- unlockAtLeast
update [app].[JobLock] set [until] = case when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [at])) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [at])) else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end where [id] = :name and [Who] = :lockedBy;

-- release
update [app].[JobLock] set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) where [id] = :name and [Who] = :lockedBy and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- list
select [id] as [lock_name], [Who] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now], case when [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 1 else 0 end as [is_held] from [app].[JobLock] order by [id];

-- describe
select name as column_name, type_name(system_type_id) + case when scale > 0 then concat('(', scale, ')') else '' end as column_type from sys.columns where object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

-- pin: read
select 1 from [app].[JobLock] with (repeatableread) where [id] = :name and [Who] = :lockedBy and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- drop table
drop table [app].[JobLock];
