-- liquibase formatted sql

-- changeset shedlock-orm:create-shedlock
create table "SHEDLOCK" (
  "NAME" varchar2(64 char) not null,
  "LOCK_UNTIL" timestamp(3) not null,
  "LOCKED_AT" timestamp(3) not null,
  "LOCKED_BY" varchar2(255 char) not null,
  primary key ("NAME")
);

-- rollback drop table "SHEDLOCK";
