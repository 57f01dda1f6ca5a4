-- liquibase formatted sql

-- changeset shedlock-orm:create-shedlock
create table [shedlock] (
  [name] nvarchar(64) collate Latin1_General_100_BIN2 not null,
  [lock_until] datetime2(3) not null,
  [locked_at] datetime2(3) not null,
  [locked_by] nvarchar(255) collate Latin1_General_100_BIN2 not null,
  constraint [shedlock_pkey] primary key ([name])
);

-- rollback drop table [shedlock];
