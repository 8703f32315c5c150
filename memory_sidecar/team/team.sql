-- What a team's database has besides the tables of each domain. If the schema is deleted, it is
-- made again from each machine's files.

CREATE TABLE identity (
    key   text PRIMARY KEY,
    value text NOT NULL
);
