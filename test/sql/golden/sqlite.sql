---------- Custom names

-- create table
create table if not exists "app"."JobLock" (
  "id" varchar(64) not null,
  "until" datetime(3) not null,
  "at" datetime(3) not null,
  "Who" varchar(255) not null,
  primary key ("id")
);

-- create table
update "app"."JobLock" set "until" = "until", "at" = "at", "Who" = "Who" where "id" = '';

-- acquire, step 1: refusal
select "Who" as "owner", cast(round((julianday("until") - 2440587.5) * 86400000) as integer) as "lock_until"
  from "app"."JobLock"
  where "id" = :name
  and "until" > strftime('%Y-%m-%d %H:%M:%f', 'now');

-- acquire, step 2: acquired or held
insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  values (:name, strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), strftime('%Y-%m-%d %H:%M:%f', 'now'), :lockedBy)
  on conflict ("id")
  do update
  set "until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), "at" =
  case
  when held."at" < strftime('%Y-%m-%d %H:%M:%f', 'now') then strftime('%Y-%m-%d %H:%M:%f', 'now')
  else strftime('%Y-%m-%d %H:%M:%f', held."at", (1 / 1000.0) || ' seconds') end, "Who" = :lockedBy
  where held."until" <= strftime('%Y-%m-%d %H:%M:%f', 'now');

-- acquire a slot, step 1: refusal
select
  case
  when max("until") > strftime('%Y-%m-%d %H:%M:%f', 'now') then 'held'
  when max("at") >= strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') then 'already-run'
  when strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds') > strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (60000 / 1000.0) || ' seconds') then 'slot-too-far-ahead'
  else 'free' end as "outcome"
  from "app"."JobLock"
  where "id" = :name;

-- acquire a slot, step 2: acquired
insert into "app"."JobLock" as held ("id", "until", "at", "Who")
  values (:name, strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds'), :lockedBy)
  on conflict ("id")
  do update
  set "until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), "at" = strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds'), "Who" = :lockedBy
  where held."until" <= strftime('%Y-%m-%d %H:%M:%f', 'now')
  and held."at" < strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds');

-- acquireAgain
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), "at" = strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:slot / 1000.0) || ' seconds'), "Who" = :lockedBy
  where "id" = :name
  and "Who" = :seenBy
  and cast(round((julianday("at") - 2440587.5) * 86400000) as integer) = :seenAt
  and "until" <= strftime('%Y-%m-%d %H:%M:%f', 'now');

-- extend
update "app"."JobLock"
  set "until" =
  case
  when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds') > "until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds')
  else strftime('%Y-%m-%d %H:%M:%f', "until", (1 / 1000.0) || ' seconds') end
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > strftime('%Y-%m-%d %H:%M:%f', 'now');

-- release
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', 'now'), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseLater
update "app"."JobLock"
  set "until" =
  case
  when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds') < "until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds')
  else "until" end, "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSlot
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', 'now'), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSlotLater
update "app"."JobLock"
  set "until" =
  case
  when strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds') < "until" then strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:keepFor / 1000.0) || ' seconds')
  else "until" end, "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseUnused
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', 'now'), "Who" = :unlockedBy, "at" = strftime('%Y-%m-%d %H:%M:%f', "at", (-1 / 1000.0) || ' seconds')
  where "id" = :name
  and "Who" = :lockedBy;

-- releaseSeen
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', 'now'), "Who" = :unlockedBy
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > strftime('%Y-%m-%d %H:%M:%f', 'now')
  and abs(coalesce(cast(round((julianday("until") - 2440587.5) * 86400000) as integer), 253402300799999) - (cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', '1970-01-01 00:00:00.000', (:seenUntil / 1000.0) || ' seconds')) - 2440587.5) * 86400000) as integer))) < 1;

-- pause
update "app"."JobLock"
  set "until" = strftime('%Y-%m-%d %H:%M:%f', strftime('%Y-%m-%d %H:%M:%f', 'now'), (:lockAtMostFor / 1000.0) || ' seconds'), "Who" = :lockedBy
  where "id" = :name
  and "until" <= strftime('%Y-%m-%d %H:%M:%f', 'now');

-- fencingToken
select (select cast(round((julianday("at") - 2440587.5) * 86400000) as integer)
  from "app"."JobLock"
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > strftime('%Y-%m-%d %H:%M:%f', 'now')) as "token";

-- list
select "id" as "lock_name", "Who" as "owner", cast(round((julianday("at") - 2440587.5) * 86400000) as integer) as "locked_at", cast(round((julianday("until") - 2440587.5) * 86400000) as integer) as "lock_until", cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now",
  case
  when "until" <= strftime('%Y-%m-%d %H:%M:%f', 'now') then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where 1 = 1 order by "id";

-- find
select "id" as "lock_name", "Who" as "owner", cast(round((julianday("at") - 2440587.5) * 86400000) as integer) as "locked_at", cast(round((julianday("until") - 2440587.5) * 86400000) as integer) as "lock_until", cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now",
  case
  when "until" <= strftime('%Y-%m-%d %H:%M:%f', 'now') then 0
  else 1 end as "is_held"
  from "app"."JobLock"
  where "id" = :name;

-- now
select cast(round((julianday(strftime('%Y-%m-%d %H:%M:%f', 'now')) - 2440587.5) * 86400000) as integer) as "now";

-- describe
select c.name as column_name, c.type as column_type, c."notnull" = 0 as nullable, (select count(*)
  from pragma_index_list(:table, coalesce(:schema, 'main')) l
  where l."unique"
  and not l.partial
  and (select group_concat(i.name, char(0))
  from pragma_index_info(l.name, coalesce(:schema, 'main')) i) = c.name) as unique_keys
  from pragma_table_info(:table, coalesce(:schema, 'main')) c;

-- pin: write
update "app"."JobLock"
  set "Who" = "Who"
  where "id" = :name
  and "Who" = :lockedBy
  and "until" > strftime('%Y-%m-%d %H:%M:%f', 'now');

-- drop table
drop table if exists "app"."JobLock";

-- fix
create table if not exists "app"."JobLock" (
  "id" varchar(64) not null,
  "until" datetime(3) not null,
  "at" datetime(3) not null,
  "Who" varchar(255) not null,
  primary key ("id")
);

-- fix
alter table "app"."JobLock" add "until" datetime(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table "app"."JobLock" add "at" datetime(3) default '1970-01-01 00:00:00' not null;

-- fix
alter table "app"."JobLock" add "Who" varchar(255) default '-' not null;

-- fix
create table if not exists "app"."JobLock_new" (
  "id" varchar(64) not null,
  "until" datetime(3) not null,
  "at" datetime(3) not null,
  "Who" varchar(255) not null,
  primary key ("id")
);

-- fix
insert into "app"."JobLock_new" ("id", "until", "at", "Who") select "id", "until", "at", "Who" from "app"."JobLock";

-- fix
drop table "app"."JobLock";

-- fix
alter table "app"."JobLock_new" rename to "JobLock";

-- fix
create unique index "JobLock_name" on "app"."JobLock" ("id");

---------- Default names, where more than the names differs


---------- Only with custom names

