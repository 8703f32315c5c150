-- What a team's database has besides what each domain puts there. Delete the schema and each
-- machine's files make it again.

CREATE TABLE identity (
    key   text PRIMARY KEY,
    value text NOT NULL
);
