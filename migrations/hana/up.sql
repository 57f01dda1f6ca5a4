-- liquibase formatted sql

-- changeset shedlock-orm:create-shedlock
create table "SHEDLOCK" (
  "NAME" nvarchar(64) not null,
  "LOCK_UNTIL" timestamp not null,
  "LOCKED_AT" timestamp not null,
  "LOCKED_BY" nvarchar(255) not null,
  primary key ("NAME")
);

-- rollback drop table "SHEDLOCK";
