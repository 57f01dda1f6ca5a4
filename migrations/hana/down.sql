drop table "SHEDLOCK";
