-- The SQL of the dialect mssql. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 1 if its row is free, 1 if it has no row yet.
-- Step 1 of 1: returns the outcome
declare @outcome varchar(20) = (case
      when exists (select 1
      from [shedlock] with (nolock)
      where [name] = :name
        and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) then 'held'
      else 'free' end);
  if @outcome = 'free'
  begin
  if exists (select 1 from [shedlock] with (nolock) where [name] = :name)
  update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
    [locked_at] = case
    when [locked_at] < cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
    else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [locked_at])) end,
    [locked_by] = :lockedBy
  where [name] = :name
    and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
    else
  insert into [shedlock] ([name], [lock_until], [locked_at], [locked_by])
  values (:name,
      dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
      cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)),
      :lockedBy);
  if @@rowcount > 0
  set @outcome = 'acquired'; end;
  select @outcome as outcome;

---- acquireSlot
-- Acquires a lock with a slot.
-- Round trips: 1 if it is refused, 1 if its row is free, 1 if it has no row yet.
-- Step 1 of 1: returns the outcome
declare @outcome varchar(20) = (select case
      when max([lock_until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 'held'
      when max([locked_at]) >= dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then 'already-run'
      when dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) > dateadd(millisecond, cast(60000 % 86400000 as int), dateadd(day, cast(60000 / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then 'slot-too-far-ahead'
      else 'free' end as [outcome]
    from [shedlock] with (nolock)
    where [name] = :name);
  if @outcome = 'free'
  begin
  if exists (select 1 from [shedlock] with (nolock) where [name] = :name)
  update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
    [locked_at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))),
    [locked_by] = :lockedBy
  where [name] = :name
    and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
    and [locked_at] < dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3))))
    else
  insert into [shedlock] ([name], [lock_until], [locked_at], [locked_by])
  values (:name,
      dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
      dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))),
      :lockedBy);
  if @@rowcount > 0
  set @outcome = 'acquired'; end;
  select @outcome as outcome;

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
    [locked_at] = dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))),
    [locked_by] = :lockedBy
  where [name] = :name
    and [locked_by] = :seenBy
    and datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) = :seenAt
    and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

---- extend
-- Extends a lock that is held: `extend`, and `keepAlive` again and again.
update [shedlock]
  set [lock_until] = case
    when dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) > [lock_until] then dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
    else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [lock_until])) end
  where [name] = :name
    and [locked_by] = :lockedBy
    and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

---- release
-- Releases a lock without a slot, at the end of a run.
update [shedlock]
  set [lock_until] = case
    when dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) < [lock_until] then dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
    when [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then [lock_until]
    else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end,
    [locked_by] = :unlockedBy
  where [name] = :name
    and [locked_by] = :lockedBy;
  select @@rowcount as changed;

---- releaseSlot
-- Releases a lock with a slot, at the end of a run.
update [shedlock]
  set [lock_until] = case
    when dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) < [lock_until] then dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
    when [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then [lock_until]
    else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end,
    [locked_by] = :unlockedBy
  where [name] = :name
    and [locked_by] = :lockedBy;
  select @@rowcount as changed;

---- releaseUnused
-- Releases a lock with a slot if nothing ran, so that the slot can be acquired again.
update [shedlock]
  set [lock_until] = case
    when dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) < [lock_until] then dateadd(millisecond, cast(:keepFor % 86400000 as int), dateadd(day, cast(:keepFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
    when [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then [lock_until]
    else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end,
    [locked_by] = :unlockedBy,
    [locked_at] = dateadd(millisecond, cast(-1 % 86400000 as int), dateadd(day, cast(-1 / 86400000 as int), [locked_at]))
  where [name] = :name
    and [locked_by] = :lockedBy;
  select @@rowcount as changed;

---- releaseSeen
-- Releases another holder's lock: `releaseLock`, and `resumeLock` for a pause.
update [shedlock]
  set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)),
    [locked_by] = :unlockedBy
  where [name] = :name
    and [locked_by] = :lockedBy
    and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
    and abs(coalesce(datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]), 253402300799999) - (datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), dateadd(millisecond, cast(:seenUntil % 86400000 as int), dateadd(day, cast(:seenUntil / 86400000 as int), cast('1970-01-01' as datetime2(3))))))) < 1;
  select @@rowcount as changed;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update [shedlock]
  set [lock_until] = dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
    [locked_by] = :lockedBy
  where [name] = :name
    and [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

---- fencingToken
-- Reads the fencing token of a lock that is held.
select (select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at])
    from [shedlock]
    where [name] = :name
      and [locked_by] = :lockedBy
      and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [token],
    case
    when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
    else 0 end as [read_only];

---- list
-- Reads all locks: `listLocks`, the page and the command line.
select [name] as [lock_name],
    [locked_by] as [owner],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [locked_at],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]) as [lock_until],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
    case
    when [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 0
    else 1 end as [is_held],
    case
    when [name] is null then case
    when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
    else 0 end
    else 0 end as [read_only]
  from (select 1 as shedlock_one ) shedlock_one left join [shedlock] on 1 = 1 order by [name];

---- find
-- Reads one lock: `findLock`, and `untilSucceeded` before it acquires a slot again.
select [name] as [lock_name],
    [locked_by] as [owner],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [locked_at],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]) as [lock_until],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
    case
    when [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 0
    else 1 end as [is_held],
    case
    when [name] is null then case
    when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
    else 0 end
    else 0 end as [read_only]
  from (select 1 as shedlock_one ) shedlock_one left join [shedlock] on [name] = :name;

---- findSeveral
-- Reads several locks: `overdueLocks`.
select [name] as [lock_name],
    [locked_by] as [owner],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [locked_at]) as [locked_at],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]) as [lock_until],
    datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now],
    case
    when [lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then 0
    else 1 end as [is_held],
    case
    when [name] is null then case
    when databasepropertyex(db_name(), 'Updateability') = 'READ_ONLY' then 1
    else 0 end
    else 0 end as [read_only]
  from (select 1 as shedlock_one ) shedlock_one left join [shedlock] on [name] in (:name1, :name2, :name3, :name4, :name5, :name6, :name7, :name8, :name9, :name10);

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now];

---- describe
-- Reads the columns of the table, once for each provider before its first lock.
select c.name as column_name,
    type_name(c.system_type_id) + case
    when c.scale > 0 then concat('(', c.scale, ')')
    else '' end as column_type,
    case
    when c.max_length > 0
    and type_name(c.system_type_id) like 'n%' then c.max_length / 2
    else c.max_length end as max_length,
    cast(c.is_nullable as int) as nullable,
    case
    when @@options & 2 = 2 then 0
    else 1 end as autocommit,
    (select count(*)
    from sys.indexes i
    where i.object_id = c.object_id
      and i.is_unique = 1
      and i.is_disabled = 0
      and i.has_filter = 0
      and exists (select 1
      from sys.index_columns k
      where k.object_id = i.object_id
        and k.index_id = i.index_id
        and k.key_ordinal = 1
        and k.column_id = c.column_id)
      and not exists (select 1
      from sys.index_columns o
      where o.object_id = i.object_id
        and o.index_id = i.index_id
        and o.key_ordinal > 1)) as unique_keys,
    object_schema_name(c.object_id) as table_schema
  from sys.columns c
  where c.object_id = object_id(coalesce(quotename(:schema) + '.', '') + quotename(:table));

---- schemasOf
-- Finds the schemas with such a table, for messages about a table that is missing.
select object_schema_name(t.object_id) as table_schema
  from sys.tables t
  where t.name = :table order by table_schema;

---- pin
-- Guards a transaction: runs inside it, and keeps the lock's row from changing until it ends.
select 1
  from [shedlock] with (updlock)
  where [name] = :name
    and [locked_by] = :lockedBy
    and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));

---- The table: create
create table [shedlock] (
  [name] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [lock_until] datetime2(3) not null,
  [locked_at] datetime2(3) not null,
  [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [shedlock_pkey] primary key ([name])
);

---- The table: drop
drop table [shedlock];

---- The table: repair, each statement if the check of the table advises it
if not exists (select 1 from sys.schemas where quotename(name) = N'[app]') exec (N'create schema [app]');
create table [shedlock] (
  [name] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [lock_until] datetime2(3) not null,
  [locked_at] datetime2(3) not null,
  [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [shedlock_pkey] primary key ([name])
);
declare @drop nvarchar(max) = N''
select @drop += case when 1 in (i.is_primary_key, i.is_unique_constraint) then N'alter table ' + N'[shedlock]' + N' drop constraint ' + quotename(i.name)
  else N'drop index ' + quotename(i.name) + N' on ' + N'[shedlock]' end + N'; '
  from sys.indexes i join sys.index_columns c on c.object_id = i.object_id and c.index_id = i.index_id
  where i.object_id = object_id(N'[shedlock]') and i.is_unique = 1 and c.key_ordinal > 0
    and quotename(col_name(c.object_id, c.column_id)) = N'[name]'
exec (@drop);
alter table [shedlock] alter column [name] nvarchar(64) collate Latin1_General_100_BIN2 not null;
if exists (select 1 from sys.key_constraints where type = 'PK' and parent_object_id = object_id(N'[shedlock]'))
  create unique index [shedlock_name] on [shedlock] ([name])
else alter table [shedlock] add constraint [shedlock_pkey] primary key ([name]);
alter table [shedlock] add [lock_until] datetime2(3) default '1970-01-01 00:00:00' not null;
alter table [shedlock] add [locked_at] datetime2(3) default '1970-01-01 00:00:00' not null;
alter table [shedlock] add [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 default '-' not null;
create unique index [shedlock_name] on [shedlock] ([name]);
alter table [shedlock] alter column [lock_until] datetime2(3) not null;
alter table [shedlock] alter column [locked_at] datetime2(3) not null;
alter table [shedlock] alter column [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null;
