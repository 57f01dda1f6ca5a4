-- The SQL of the dialect mssql. Values are bound; here each has its name after a colon.

---- acquire
-- Acquires a lock without a slot.
-- Round trips: 1 if it is refused, 1 if its row is free, 1 if it has no row yet.
-- Step 1 of 1: returns the outcome
declare @outcome varchar(20) = (select case
      when max([lock_until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then case
      when max([locked_by]) = :lockedBy then 'free'
      else 'held' end
      else 'free' end as [outcome]
    from [shedlock] with (nolock)
    where [name] = :name);
  if @outcome = 'free'
  begin
  if exists (select 1 from [shedlock] with (nolock) where [name] = :name)
  update [shedlock] with (nowait)
  set [lock_until] = case
    when [lock_until] > dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then [lock_until]
    else dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) end,
    [locked_at] = case
    when [locked_at] >= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [locked_at]))
    else cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) end,
    [locked_by] = :lockedBy
  where [name] = :name
    and ([lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) or [locked_by] = :lockedBy)
    else
  insert into [shedlock] with (nowait) ([name], [lock_until], [locked_at], [locked_by])
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
      when max([lock_until]) > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)) then case
      when max([locked_by]) = :lockedBy then 'free'
      else 'held' end
      when max([locked_at]) >= dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then 'already-run'
      when dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) > dateadd(millisecond, cast(60000 % 86400000 as int), dateadd(day, cast(60000 / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then 'slot-too-far-ahead'
      else 'free' end as [outcome]
    from [shedlock] with (nolock)
    where [name] = :name);
  if @outcome = 'free'
  begin
  if exists (select 1 from [shedlock] with (nolock) where [name] = :name)
  update [shedlock] with (nowait)
  set [lock_until] = case
    when [lock_until] > dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) then [lock_until]
    else dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) end,
    [locked_at] = case
    when [locked_at] > dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) then [locked_at]
    else dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) end,
    [locked_by] = :lockedBy
  where [name] = :name
    and ([lock_until] <= cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
      and [locked_at] < dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))) or [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
      and [locked_by] = :lockedBy)
    else
  insert into [shedlock] with (nowait) ([name], [lock_until], [locked_at], [locked_by])
  values (:name,
      dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))),
      dateadd(millisecond, cast(:slot % 86400000 as int), dateadd(day, cast(:slot / 86400000 as int), cast('1970-01-01' as datetime2(3)))),
      :lockedBy);
  if @@rowcount > 0
  set @outcome = 'acquired'; end;
  select @outcome as outcome;

---- acquireAgain
-- With `untilSucceeded`, after `find`: acquires a slot again whose last run did not succeed.
update [shedlock] with (nowait)
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
update [shedlock] with (nowait)
  set [lock_until] = case
    when dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)))) > [lock_until] then dateadd(millisecond, cast(:lockAtMostFor % 86400000 as int), dateadd(day, cast(:lockAtMostFor / 86400000 as int), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))))
    else dateadd(millisecond, cast(1 % 86400000 as int), dateadd(day, cast(1 / 86400000 as int), [lock_until])) end
  where [name] = :name
    and [locked_by] = :lockedBy
    and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3));
  select @@rowcount as changed;

---- release
-- Releases a lock without a slot, at the end of a run.
update [shedlock] with (nowait)
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
update [shedlock] with (nowait)
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
update [shedlock] with (nowait)
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
-- Releases another holder's lock: `table.release`, and `table.resume` for a pause.
update [shedlock] with (nowait)
  set [lock_until] = cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3)),
    [locked_by] = :unlockedBy
  where [name] = :name
    and [locked_by] = :lockedBy
    and [lock_until] > cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))
    and abs(coalesce(datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), [lock_until]), 253402300799999) - (datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), dateadd(millisecond, cast(:seenUntil % 86400000 as int), dateadd(day, cast(:seenUntil / 86400000 as int), cast('1970-01-01' as datetime2(3))))))) < 1;
  select @@rowcount as changed;

---- pause
-- Pauses a lock that has a row. If this changes nothing, the steps to a slot insert the row.
update [shedlock] with (nowait)
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

---- rowIfUnlocked
-- After an update that changed nothing: returns a row unless another session has locked the row.
select 1 as shedlock_one;

---- pinOwn
-- After a guard that found nothing: writes the row as it is. It fails if the row has changed since the snapshot of the transaction.
update [shedlock]
  set [locked_by] = [locked_by]
  where [name] = :name
    and [locked_by] = :lockedBy;

---- list
-- Reads all locks: `table.list`, the page and the command line.
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
-- Reads one lock: `table.find`, and `untilSucceeded` before it acquires a slot again.
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

---- now
-- Reads the clock, for the message that a slot is too far ahead.
select datediff_big(millisecond, cast('1970-01-01' as datetime2(3)), cast(dateadd(microsecond, -500, sysutcdatetime()) as datetime2(3))) as [now];

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

---- The table in a schema: create, as the check advises where it is missing
create table [app].[shedlock] (
  [name] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [lock_until] datetime2(3) not null,
  [locked_at] datetime2(3) not null,
  [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [shedlock_pkey] primary key ([name])
);
