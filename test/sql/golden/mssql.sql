---------- Custom names

-- create table
create table [app].[JobLock] (
  [id] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [until] datetime2(3) not null,
  [at] datetime2(3) not null,
  [Who] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [JobLock_pkey] primary key ([id])
);

-- acquire, step 1: outcome
declare @outcome varchar(20) = (case
  when exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) then 'held'
  else 'free' end);
  if @outcome = 'free'
  begin 
  if exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name)  update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] =
  case
  when [at] < cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [at])) end, [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  else
  insert into [app].[JobLock] ([id], [until], [at], [Who])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), :lockedBy);
  if @@rowcount > 0
  set @outcome = 'acquired'; end;
  select @outcome as outcome;

-- acquire a slot, step 1: outcome
declare @outcome varchar(20) = (
  select
  case
  when max([until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 'held'
  when max([at]) >= dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then 'already-run'
  when dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) > dateadd(millisecond, cast(60000 % 86400000 as int), dateadd(day, cast(60000 / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then 'slot-too-far-ahead'
  else 'free' end as [outcome]
  from [app].[JobLock] with (nolock)
  where [id] = :name);
  if @outcome = 'free'
  begin 
  if exists (select 1
  from [app].[JobLock] with (nolock)
  where [id] = :name)  update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  and [at] < dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3))))
  else
  insert into [app].[JobLock] ([id], [until], [at], [Who])
  values (:name, dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), :lockedBy);
  if @@rowcount > 0
  set @outcome = 'acquired'; end;
  select @outcome as outcome;

-- acquireAgain
update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))), [Who] = :lockedBy
  where [id] = :name
  and [Who] = :seenBy
  and datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) = :seenAt
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

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

-- release
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy;
  select @@rowcount as changed;

-- releaseLater
update [app].[JobLock]
  set [until] =
  case
  when dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) < [until] then dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
  else [until] end, [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy;
  select @@rowcount as changed;

-- releaseSlot
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy;
  select @@rowcount as changed;

-- releaseSlotLater
update [app].[JobLock]
  set [until] =
  case
  when dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) < [until] then dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
  else [until] end, [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy;
  select @@rowcount as changed;

-- releaseUnused
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy, [at] = dateadd(millisecond, cast(-1 % 86400000 as int), dateadd(day, cast(-1 / 86400000 as int), [at]))
  where [id] = :name
  and [Who] = :lockedBy;
  select @@rowcount as changed;

-- releaseSeen
update [app].[JobLock]
  set [until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)), [Who] = :unlockedBy
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
  and abs(coalesce(datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [until]), 253402300799999) - (datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), dateadd(millisecond, cast(:seenUntil % 86400000 as int), dateadd(day, cast(:seenUntil / 86400000 as int), cast('1970-01-01' as datetime2(3))))))) < 1;
  select @@rowcount as changed;

-- pause
update [app].[JobLock]
  set [until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))), [Who] = :lockedBy
  where [id] = :name
  and [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

-- fencingToken
select (select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at])
  from [app].[JobLock]
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [token],
  case
  when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
  else 0 end as [read_only];

-- list
select [id] as [lock_name], [Who] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
  case
  when [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 0
  else 1 end as [is_held],
  case
  when [id] is null then
  case
  when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
  else 0 end
  else 0 end as [read_only]
  from (select 1 as shedlock_one ) shedlock_one left join [app].[JobLock] on 1 = 1 order by [id];

-- find
select [id] as [lock_name], [Who] as [owner], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [at]) as [locked_at], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [until]) as [lock_until], datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
  case
  when [until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 0
  else 1 end as [is_held],
  case
  when [id] is null then
  case
  when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
  else 0 end
  else 0 end as [read_only]
  from (select 1 as shedlock_one ) shedlock_one left join [app].[JobLock] on [id] = :name;

-- now
select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now];

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
  and o.key_ordinal > 1)) as unique_keys, object_schema_name(c.object_id) as table_schema
  from sys.columns c
  where c.object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

-- schemasOf
select object_schema_name(t.object_id) as table_schema
  from sys.tables t
  where t.name = :table order by table_schema;

-- pin: read
select 1
  from [app].[JobLock] with (updlock)
  where [id] = :name
  and [Who] = :lockedBy
  and [until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

-- drop table
drop table [app].[JobLock];

-- fix
create table [app].[JobLock] (
  [id] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [until] datetime2(3) not null,
  [at] datetime2(3) not null,
  [Who] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [JobLock_pkey] primary key ([id])
);

---------- Default names, where more than the names differs


---------- Only with custom names

