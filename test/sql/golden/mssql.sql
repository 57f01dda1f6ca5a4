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
declare @changed int = 0;
  if not exists (select 1
  from [shedlock] with (nolock)
  where [name] = :name
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))
  begin 
  if exists (select 1
  from [shedlock] with (nolock)
  where [name] = :name) update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [locked_at] =
  case
  when [locked_at] < cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [locked_at])) end, [locked_by] = :lockedBy
  where [name] = :name
  and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else
  insert into [shedlock] ([name], [lock_until], [locked_at], [locked_by])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), :lockedBy);
  set @changed = @@rowcount; end;
  select @changed as changed;

-- acquire a slot, step 1: decide
declare @outcome varchar(20) = (
  select
  case
  when max([lock_until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 'held'
  when max([locked_at]) >= dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then 'already-run'
  when dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) > dateadd(millisecond, cast(:slotAtMostAhead % 86400000 as int), dateadd(day, cast(:slotAtMostAhead / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then 'ahead'
  else 'free' end as [outcome]
  from [shedlock] with (nolock)
  where [name] = :name);
  if @outcome = 'free'
  begin 
  if exists (select 1
  from [shedlock] with (nolock)
  where [name] = :name) update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [locked_at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), [locked_by] = :lockedBy
  where [name] = :name
  and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  and [locked_at] < dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3))))
  else
  insert into [shedlock] ([name], [lock_until], [locked_at], [locked_by])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), :lockedBy);
  if @@rowcount > 0
  set @outcome = 'taken'; end;
  select @outcome as outcome;

-- extend
update [shedlock]
  set [lock_until] =
  case
  when dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) > [lock_until] then dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
  else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [lock_until])) end
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- unlock
update [shedlock]
  set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [locked_by] = :unlockedBy
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- unlockAtLeast
update [shedlock]
  set [lock_until] =
  case
  when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [locked_at])) <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [locked_at])) < [lock_until] then dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [locked_at]))
  else [lock_until] end, [locked_by] = :unlockedBy
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- giveBack
update [shedlock]
  set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [locked_by] = :unlockedBy, [locked_at] = dateadd(millisecond, cast(-1 % 86400000 as int), dateadd(day, cast(-1 / 86400000 as int), [locked_at]))
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- pause
update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [locked_by] = :lockedBy
  where [name] = :name
  and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- fencingToken
select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [token]
  from [shedlock]
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- list
select [name] as [lock_name], [locked_by] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
  case
  when [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 1
  else 0 end as [is_held]
  from [shedlock] order by [name];

-- describe
select c.name as column_name, type_name(c.system_type_id) +
  case
  when c.scale > 0 then concat('(', c.scale, ')')
  else '' end as column_type,
  case
  when c.max_length > 0
  and type_name(c.system_type_id) like 'n%' then c.max_length / 2
  else c.max_length end as max_length, cast(c.is_nullable as int) as nullable,
  case
  when @@options & 2 = 2 then 0
  else 1 end as autocommit, (select count(*)
  from sys.indexes i
  where i.object_id = c.object_id
  and i.is_unique = 1
  and i.is_disabled = 0
  and i.has_filter = 0
  and exists (
  select 1
  from sys.index_columns k
  where k.object_id = i.object_id
  and k.index_id = i.index_id
  and k.key_ordinal = 1
  and k.column_id = c.column_id)
  and not exists (
  select 1
  from sys.index_columns o
  where o.object_id = i.object_id
  and o.index_id = i.index_id
  and o.key_ordinal > 1)) as unique_keys
  from sys.columns c
  where c.object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

-- pin: read
select 1
  from [shedlock] with (repeatableread)
  where [name] = :name
  and [locked_by] = :lockedBy
  and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

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
declare @changed int = 0;
  if not exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))
  begin 
  if exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name) update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] =
  case
  when [at] < cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [at])) end, [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else
  insert into [app].[JobLock] ([id], [until], [at], [Who])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), :lockedBy);
  set @changed = @@rowcount; end;
  select @changed as changed;

-- acquire a slot, step 1: decide
declare @outcome varchar(20) = (
  select
  case
  when max([until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 'held'
  when max([at]) >= dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then 'already-run'
  when dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) > dateadd(millisecond, cast(:slotAtMostAhead % 86400000 as int), dateadd(day, cast(:slotAtMostAhead / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then 'ahead'
  else 'free' end as [outcome]
  from [app].[JobLock] with (nolock)
  where [id] = :name);
  if @outcome = 'free'
  begin 
  if exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name) update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  and [at] < dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3))))
  else
  insert into [app].[JobLock] ([id], [until], [at], [Who])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), :lockedBy);
  if @@rowcount > 0
  set @outcome = 'taken'; end;
  select @outcome as outcome;

-- extend
update [app].[JobLock]
  set [until] =
  case
  when dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) > [until] then dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
  else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [until])) end
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- unlock
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- unlockAtLeast
update [app].[JobLock]
  set [until] =
  case
  when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [at])) <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  when dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [at])) < [until] then dateadd(millisecond, cast(:lockAtLeastFor % 86400000 as int), dateadd(day, cast(:lockAtLeastFor / 86400000 as int), [at]))
  else [until] end, [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- giveBack
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy, [at] = dateadd(millisecond, cast(-1 % 86400000 as int), dateadd(day, cast(-1 / 86400000 as int), [at]))
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- pause
update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- fencingToken
select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) as [token]
  from [app].[JobLock]
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- list
select [id] as [lock_name], [Who] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
  case
  when [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 1
  else 0 end as [is_held]
  from [app].[JobLock] order by [id];

-- describe
select c.name as column_name, type_name(c.system_type_id) +
  case
  when c.scale > 0 then concat('(', c.scale, ')')
  else '' end as column_type,
  case
  when c.max_length > 0
  and type_name(c.system_type_id) like 'n%' then c.max_length / 2
  else c.max_length end as max_length, cast(c.is_nullable as int) as nullable,
  case
  when @@options & 2 = 2 then 0
  else 1 end as autocommit, (select count(*)
  from sys.indexes i
  where i.object_id = c.object_id
  and i.is_unique = 1
  and i.is_disabled = 0
  and i.has_filter = 0
  and exists (
  select 1
  from sys.index_columns k
  where k.object_id = i.object_id
  and k.index_id = i.index_id
  and k.key_ordinal = 1
  and k.column_id = c.column_id)
  and not exists (
  select 1
  from sys.index_columns o
  where o.object_id = i.object_id
  and o.index_id = i.index_id
  and o.key_ordinal > 1)) as unique_keys
  from sys.columns c
  where c.object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

-- pin: read
select 1
  from [app].[JobLock] with (repeatableread)
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- drop table
drop table [app].[JobLock];
