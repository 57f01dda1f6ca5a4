---------- Custom names

-- create table
create table "app"."JobLock" (
  "id" nvarchar(64) not null,
  "until" timestamp not null,
  "at" timestamp not null,
  "Who" nvarchar(255) not null,
  primary key ("id")
);

-- acquire, step 1: refusal
select "Who" as "owner",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "until") / 10000 as bigint) as "lock_until"
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255))
  and "until" > current_utctimestamp(3);

-- acquire, step 2: acquired
update "app"."JobLock"
  set "until" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), "at" =
  case
  when "at" < current_utctimestamp(3) then current_utctimestamp(3)
  else add_nano100("at", cast(1 as bigint) * 10000) end, "Who" = cast(:lockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "until" <= current_utctimestamp(3);

-- acquire, step 3: refusal
select "Who" as "owner",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "until") / 10000 as bigint) as "lock_until"
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255))
  and "until" > current_utctimestamp(3);

-- acquire, step 4: acquired
insert into "app"."JobLock" ("id", "until", "at", "Who")
  values (cast(:name as nvarchar(255)), add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), current_utctimestamp(3), cast(:lockedBy as nvarchar(255)));

-- acquire a slot, step 1: refusal
select
  case
  when max("until") > current_utctimestamp(3) then 'held'
  when max("at") >= add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then 'already-run'
  when add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) > add_nano100(current_utctimestamp(3), cast(60000 as bigint) * 10000) then 'slot-too-far-ahead'
  else 'free' end as "outcome"
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255));

-- acquire a slot, step 2: acquired
update "app"."JobLock"
  set "until" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), "at" = add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000), "Who" = cast(:lockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "until" <= current_utctimestamp(3)
  and "at" < add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000);

-- acquire a slot, step 3: refusal
select
  case
  when max("until") > current_utctimestamp(3) then 'held'
  when max("at") >= add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) then 'already-run'
  when add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000) > add_nano100(current_utctimestamp(3), cast(60000 as bigint) * 10000) then 'slot-too-far-ahead'
  else 'free' end as "outcome"
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255));

-- acquire a slot, step 4: acquired
insert into "app"."JobLock" ("id", "until", "at", "Who")
  values (cast(:name as nvarchar(255)), add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000), cast(:lockedBy as nvarchar(255)));

-- acquireAgain
update "app"."JobLock"
  set "until" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), "at" = add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:slot as bigint) * 10000), "Who" = cast(:lockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:seenBy as nvarchar(255))
  and  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "at") / 10000 as bigint) = :seenAt
  and "until" <= current_utctimestamp(3);

-- extend
update "app"."JobLock"
  set "until" =
  case
  when add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000) > "until" then add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000)
  else add_nano100("until", cast(1 as bigint) * 10000) end
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255))
  and "until" > current_utctimestamp(3);

-- release
update "app"."JobLock"
  set "until" = current_utctimestamp(3), "Who" = cast(:unlockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255));

-- releaseLater
update "app"."JobLock"
  set "until" =
  case
  when add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000) < "until" then add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000)
  else "until" end, "Who" = cast(:unlockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255));

-- releaseSlot
update "app"."JobLock"
  set "until" = current_utctimestamp(3), "Who" = cast(:unlockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255));

-- releaseSlotLater
update "app"."JobLock"
  set "until" =
  case
  when add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000) < "until" then add_nano100(current_utctimestamp(3), cast(:keepFor as bigint) * 10000)
  else "until" end, "Who" = cast(:unlockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255));

-- releaseUnused
update "app"."JobLock"
  set "until" = current_utctimestamp(3), "Who" = cast(:unlockedBy as nvarchar(255)), "at" = add_nano100("at", cast(-1 as bigint) * 10000)
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255));

-- releaseSeen
update "app"."JobLock"
  set "until" = current_utctimestamp(3), "Who" = cast(:unlockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255))
  and "until" > current_utctimestamp(3)
  and abs(coalesce( cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "until") / 10000 as bigint), 253402300799999) - ( cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), add_nano100(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), cast(:seenUntil as bigint) * 10000)) / 10000 as bigint))) < 1;

-- pause
update "app"."JobLock"
  set "until" = add_nano100(current_utctimestamp(3), cast(:lockAtMostFor as bigint) * 10000), "Who" = cast(:lockedBy as nvarchar(255))
  where "id" = cast(:name as nvarchar(255))
  and "until" <= current_utctimestamp(3);

-- fencingToken
select (select  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "at") / 10000 as bigint)
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255))
  and "until" > current_utctimestamp(3)) as "token"
  from dummy;

-- list
select "id" as "lock_name", "Who" as "owner",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "at") / 10000 as bigint) as "locked_at",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "until") / 10000 as bigint) as "lock_until",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now",
  case
  when "until" <= current_utctimestamp(3) then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where 1 = 1 order by "id";

-- find
select "id" as "lock_name", "Who" as "owner",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "at") / 10000 as bigint) as "locked_at",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), "until") / 10000 as bigint) as "lock_until",  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now",
  case
  when "until" <= current_utctimestamp(3) then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where "id" = cast(:name as nvarchar(255));

-- now
select  cast(nano100_between(to_timestamp('1970-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS'), current_utctimestamp(3)) / 10000 as bigint) as "now"
  from dummy;

-- describe
select c.column_name as "column_name", c.data_type_name as "column_type", c.length as "max_length",
  case c.is_nullable
  when 'TRUE' then 1
  else 0 end as "nullable",
  case
  when c.schema_name = current_user then (select count(*)
  from sys.index_columns k
  where k.table_oid = c.table_oid
  and k.column_name = c.column_name
  and (k."CONSTRAINT" like 'PRIMARY%'
  or k."CONSTRAINT" like '%UNIQUE')
  and not exists (
  select 1
  from sys.index_columns o
  where o.index_oid = k.index_oid
  and o.column_name <> k.column_name) ) end as "unique_keys"
  from sys.table_columns c
  where c.schema_name = coalesce(cast(:schema as nvarchar(256)), current_schema)
  and c.table_name = cast(:table as nvarchar(256));

-- schemasOf
select schema_name as "table_schema"
  from sys.tables
  where table_name = cast(:table as nvarchar(256)) order by schema_name;

-- pin: read
select 1
  from "app"."JobLock" 
  where "id" = cast(:name as nvarchar(255))
  and "Who" = cast(:lockedBy as nvarchar(255))
  and "until" > current_utctimestamp(3) for update;

-- drop table
drop table "app"."JobLock";

-- fix
create table "app"."JobLock" (
  "id" nvarchar(64) not null,
  "until" timestamp not null,
  "at" timestamp not null,
  "Who" nvarchar(255) not null,
  primary key ("id")
);

---------- Default names, where more than the names differs


---------- Only with custom names

