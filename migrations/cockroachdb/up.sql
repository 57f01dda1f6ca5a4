-- liquibase formatted sql

-- changeset shedlock-orm:create-shedlock
create table if not exists "shedlock" (
  "name" varchar(64) not null,
  "lock_until" timestamp(3) not null,
  "locked_at" timestamp(3) not null,
  "locked_by" varchar(255) not null,
  primary key ("name")
);

-- Changes no row, but fails if there was a table of this name without these columns.
update "shedlock" set "lock_until" = "lock_until", "locked_at" = "locked_at", "locked_by" = "locked_by" where "name" = '';

-- rollback drop table if exists "shedlock";
