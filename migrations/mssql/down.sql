drop table [shedlock];
