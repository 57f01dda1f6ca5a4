drop table if exists `shedlock`;
