-- Files of agents as their machines have them: memories, sessions. A file stays the truth where it
-- was written; from a row, other machines bring their files up to date.

CREATE TABLE mirrored (
    owner      name NOT NULL,           -- the role whose it is; '' for what everyone shares
    agent      text NOT NULL,
    path       text NOT NULL,           -- memories/pitfall/cycle.md, sessions/2026-03/a1b2.json
    hash       text NOT NULL,           -- of the whole file; '' of one that was removed
    content    text,                    -- null of one that was removed
    changed    bigint NOT NULL,         -- numbers ascend in the order of commits, within an agent
    written_by name NOT NULL,
    written_at timestamptz NOT NULL,
    PRIMARY KEY (owner, agent, path),
    CHECK ((owner = '') = (agent = 'shared')),
    CHECK (path ~ '^(memories|sessions)/[^/.]' AND path !~ '(^|/)\.'),
    CHECK ((hash = '') = (content IS NULL))
);
CREATE INDEX mirrored_by_change ON mirrored (owner, agent, changed);
CREATE SEQUENCE mirrored_changes;

-- The server, not the writer, says who wrote a row and when. Writers of one agent take turns, so
-- that a reader who has seen a number never misses a lower one.
CREATE FUNCTION stamp_mirrored() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.owner || '/' || NEW.agent, 0));
    NEW.changed := nextval('memory_sidecar.mirrored_changes');
    NEW.written_by := session_user;
    NEW.written_at := now();
    RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON mirrored
    FOR EACH ROW EXECUTE FUNCTION stamp_mirrored();

-- An agent's files are its role's, whatever a client claims: no setting and no SET ROLE has a say,
-- only who logged in. The owner of the table is held to it too; a superuser is not.
ALTER TABLE mirrored ENABLE ROW LEVEL SECURITY;
ALTER TABLE mirrored FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON mirrored USING (owner = session_user) WITH CHECK (owner = session_user);
CREATE POLICY shared ON mirrored USING (owner = '') WITH CHECK (owner = '');

-- A copy of the database that is set up anew is another one: its numbers begin again.
INSERT INTO identity VALUES ('mirror', gen_random_uuid());
