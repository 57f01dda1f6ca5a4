create table if not exists `shedlock` (
  `name` varchar(64) not null,
  `lock_until` datetime(3) not null,
  `locked_at` datetime(3) not null,
  `locked_by` varchar(255) not null,
  primary key (`name`)
) engine = InnoDB default character set = utf8mb4 collate = utf8mb4_bin;

-- Changes no row, but fails if there was a table of this name without these columns.
update `shedlock` set `lock_until` = `lock_until`, `locked_at` = `locked_at`, `locked_by` = `locked_by` where `name` = '';
