---------- Default names

-- create table
create table "SHEDLOCK" (
  "NAME" varchar2(64 char) not null,
  "LOCK_UNTIL" timestamp(3) not null,
  "LOCKED_AT" timestamp(3) not null,
  "LOCKED_BY" varchar2(255 char) not null,
  primary key ("NAME")
);

-- acquire, step 1: look
select 1 from "SHEDLOCK" where "NAME" = :name and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 2: take
update "SHEDLOCK" set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "LOCKED_AT" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "LOCKED_BY" = :lockedBy where "NAME" = :name and "LOCK_UNTIL" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 3: take
insert into "SHEDLOCK" ("NAME", "LOCK_UNTIL", "LOCKED_AT", "LOCKED_BY") select :name, cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), :lockedBy from dual where not exists (select 1 from "SHEDLOCK" where "NAME" = :name);

-- extend
update "SHEDLOCK" set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') where "NAME" = :name and "LOCKED_BY" = :lockedBy and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- unlock
update "SHEDLOCK" set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) where "NAME" = :name and "LOCKED_BY" = :lockedBy;

-- unlockAtLeast
update "SHEDLOCK" set "LOCK_UNTIL" = case when "LOCKED_AT" + numtodsinterval(:lockAtLeastFor / 1000, 'second') > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "LOCKED_AT" + numtodsinterval(:lockAtLeastFor / 1000, 'second') else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end where "NAME" = :name and "LOCKED_BY" = :lockedBy;

-- release
update "SHEDLOCK" set "LOCK_UNTIL" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) where "NAME" = :name and "LOCKED_BY" = :lockedBy and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- list
select "NAME" as "lock_name", "LOCKED_BY" as "owner",  extract(day from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCKED_AT" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",  extract(day from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("LOCK_UNTIL" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",  extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now", case when "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 1 else 0 end as "is_held" from "SHEDLOCK" order by "NAME";

-- describe
select column_name as "column_name", data_type as "column_type" from all_tab_columns where (owner, table_name) in ( select coalesce(:schema, sys_context('userenv', 'current_schema')), :table from dual union all select table_owner, table_name from all_synonyms where synonym_name = :table and owner in (coalesce(:schema, sys_context('userenv', 'current_schema')), 'PUBLIC'));

-- pin: read
select 1 from "SHEDLOCK"  where "NAME" = :name and "LOCKED_BY" = :lockedBy and "LOCK_UNTIL" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) for update;

-- drop table
drop table "SHEDLOCK";

---------- Custom names

-- create table
create table "app"."JobLock" (
  "id" varchar2(64 char) not null,
  "until" timestamp(3) not null,
  "at" timestamp(3) not null,
  "Who" varchar2(255 char) not null,
  primary key ("id")
);

-- acquire, step 1: look
select 1 from "app"."JobLock" where "id" = :name and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 2: take
update "app"."JobLock" set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), "at" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), "Who" = :lockedBy where "id" = :name and "until" <= cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- acquire, step 3: take
insert into "app"."JobLock" ("id", "until", "at", "Who") select :name, cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second'), cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)), :lockedBy from dual where not exists (select 1 from "app"."JobLock" where "id" = :name);

-- extend
update "app"."JobLock" set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) + numtodsinterval(:lockAtMostFor / 1000, 'second') where "id" = :name and "Who" = :lockedBy and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- unlock
update "app"."JobLock" set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) where "id" = :name and "Who" = :lockedBy;

-- unlockAtLeast
update "app"."JobLock" set "until" = case when "at" + numtodsinterval(:lockAtLeastFor / 1000, 'second') > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then "at" + numtodsinterval(:lockAtLeastFor / 1000, 'second') else cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) end where "id" = :name and "Who" = :lockedBy;

-- release
update "app"."JobLock" set "until" = cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) where "id" = :name and "Who" = :lockedBy and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3));

-- list
select "id" as "lock_name", "Who" as "owner",  extract(day from ("at" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("at" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("at" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("at" - timestamp '1970-01-01 00:00:00')) * 1000 as "locked_at",  extract(day from ("until" - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from ("until" - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from ("until" - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from ("until" - timestamp '1970-01-01 00:00:00')) * 1000 as "lock_until",  extract(day from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 86400000 + extract(hour from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 3600000 + extract(minute from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 60000 + extract(second from (cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) - timestamp '1970-01-01 00:00:00')) * 1000 as "now", case when "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) then 1 else 0 end as "is_held" from "app"."JobLock" order by "id";

-- describe
select column_name as "column_name", data_type as "column_type" from all_tab_columns where (owner, table_name) in ( select coalesce(:schema, sys_context('userenv', 'current_schema')), :table from dual union all select table_owner, table_name from all_synonyms where synonym_name = :table and owner in (coalesce(:schema, sys_context('userenv', 'current_schema')), 'PUBLIC'));

-- pin: read
select 1 from "app"."JobLock"  where "id" = :name and "Who" = :lockedBy and "until" > cast(sys_extract_utc(systimestamp) - numtodsinterval(0.0005, 'second') as timestamp(3)) for update;

-- drop table
drop table "app"."JobLock";
