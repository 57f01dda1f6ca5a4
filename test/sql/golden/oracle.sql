---------- Custom names

-- create table
create table "app"."JobLock" (
  "id" varchar2(64 char) not null,
  "until" timestamp(3) not null,
  "at" timestamp(3) not null,
  "Who" varchar2(255 char) not null,
  primary key ("id")
);

-- acquire, step 1: refusal
select "Who" as "owner",  extract(day from ("until" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("until" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("until" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("until" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",
  case
  when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
  else 0 end as "read_only"
  from "app"."JobLock"
  where "id" = :name
  and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 2: acquired
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "at" =
  case
  when "at" < cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
  else "at" + numtodsinterval(1 / 1000, 'second') end, "Who" = :lockedBy
  where "id" = :name
  and "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 3: acquired
insert into "app"."JobLock" ("id", "until", "at", "Who")
  select :name, cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), :lockedBy
  from dual
  where not exists (select 1
  from "app"."JobLock"
  where "id" = :name);

-- acquire a slot, step 1: refusal
select
  case
  when max("until") > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 'held'
  when max("at") >= timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') then 'already-run'
  when timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second') > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(60000 / 1000, 'second') then 'slot-too-far-ahead'
  else 'free' end as "outcome",
  case
  when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
  else 0 end as "read_only"
  from "app"."JobLock"
  where "id" = :name;

-- acquire a slot, step 2: acquired
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "at" = timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second'), "Who" = :lockedBy
  where "id" = :name
  and "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
  and "at" < timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second');

-- acquire a slot, step 3: acquired
insert into "app"."JobLock" ("id", "until", "at", "Who")
  select :name, cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second'), :lockedBy
  from dual
  where not exists (select 1
  from "app"."JobLock"
  where "id" = :name);

-- acquireAgain
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "at" = timestamp '1970-01-01 00:00:00' + numtodsinterval(:slot / 1000, 'second'), "Who" = :lockedBy
  where "id" = :name
  and "Who" = :seenBy
  and  extract(day from ("at" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("at" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("at" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("at" - timestamp '1970-01-01 00:00:00')) * 1000 = :seenAt
  and "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- extend
update "app"."JobLock"
  set "until" =
  case
  when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') > "until" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second')
  else "until" + numtodsinterval(1 / 1000, 'second') end
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- release
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseLater
update "app"."JobLock"
  set "until" =
  case
  when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second') < "until" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second')
  else "until" end, "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSlot
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSlotLater
update "app"."JobLock"
  set "until" =
  case
  when cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second') < "until" then cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:keepFor / 1000, 'second')
  else "until" end, "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseUnused
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "Who" = :unlockedBy, "at" = "at" + numtodsinterval(-1 / 1000, 'second')
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSeen
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))
  and abs(coalesce( extract(day from ("until" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("until" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("until" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("until" - timestamp '1970-01-01 00:00:00')) * 1000, 253402300799999) - ( extract(day from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (timestamp '1970-01-01 00:00:00' + numtodsinterval(:seenUntil / 1000, 'second') - timestamp '1970-01-01 00:00:00')) * 1000)) < 1;

-- pause
update "app"."JobLock"
  set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "Who" = :lockedBy
  where "id" = :name
  and "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- fencingToken
select (select  extract(day from ("at" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("at" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("at" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("at" - timestamp '1970-01-01 00:00:00')) * 1000
  from "app"."JobLock"
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3))) as "token",
  case
  when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
  else 0 end as "read_only"
  from dual;

-- list
select "id" as "lock_name", "Who" as "owner",  extract(day from ("at" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("at" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("at" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("at" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",  extract(day from ("until" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("until" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("until" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("until" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",  extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now",
  case
  when "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 0
  else 1 end as "is_held",
  case
  when "id" is null then
  case
  when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
  else 0 end
  else 0 end as "read_only"
  from (select 1 as shedlock_one
  from dual) shedlock_one left join "app"."JobLock" on 1 = 1 order by "id";

-- find
select "id" as "lock_name", "Who" as "owner",  extract(day from ("at" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("at" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("at" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("at" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",  extract(day from ("until" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("until" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("until" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("until" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",  extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now",
  case
  when "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 0
  else 1 end as "is_held",
  case
  when "id" is null then
  case
  when sys_context('userenv', 'database_role') like '%STANDBY%' then 1
  else 0 end
  else 0 end as "read_only"
  from (select 1 as shedlock_one
  from dual) shedlock_one left join "app"."JobLock" on "id" = :name;

-- now
select  extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now"
  from dual;

-- describe
select c.column_name as "column_name", c.data_type as "column_type", c.char_length as "max_length",
  case c.nullable
  when 'Y' then 1
  else 0 end as "nullable",
  case
  when c.owner = user then (
  select count(*)
  from all_ind_columns k join all_indexes i on i.owner = k.index_owner
  and i.index_name = k.index_name
  where k.table_owner = c.owner
  and k.table_name = c.table_name
  and k.column_name = c.column_name
  and k.column_position = 1
  and i.uniqueness = 'UNIQUE'
  and not exists (
  select 1
  from all_ind_columns o
  where o.index_owner = k.index_owner
  and o.index_name = k.index_name
  and o.column_position > 1) ) + (
  select count(*)
  from all_cons_columns k join all_constraints n on n.owner = k.owner
  and n.constraint_name = k.constraint_name
  where k.owner = c.owner
  and k.table_name = c.table_name
  and k.column_name = c.column_name
  and n.constraint_type in ('P', 'U')
  and n.status = 'ENABLED'
  and n.deferrable = 'NOT DEFERRABLE'
  and not exists (
  select 1
  from all_cons_columns o
  where o.owner = k.owner
  and o.constraint_name = k.constraint_name
  and o.column_name <> k.column_name) ) end as "unique_keys"
  from all_tab_columns c
  where (c.owner, c.table_name) in (
  select coalesce(:schema, sys_context('userenv', 'current_schema')), :table
  from dual
  union all
  select table_owner, table_name
  from all_synonyms
  where synonym_name = :table
  and owner in (coalesce(:schema, sys_context('userenv', 'current_schema')), 'PUBLIC'));

-- schemasOf
select owner as "table_schema"
  from all_tables
  where table_name = :table order by owner;

-- pin: read
select 1
  from "app"."JobLock" 
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) for update;

-- drop table
drop table "app"."JobLock";

-- fix
create table "app"."JobLock" (
  "id" varchar2(64 char) not null,
  "until" timestamp(3) not null,
  "at" timestamp(3) not null,
  "Who" varchar2(255 char) not null,
  primary key ("id")
);

---------- Default names, where more than the names differs


---------- Only with custom names

