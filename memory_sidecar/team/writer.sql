-- The role that logged in is who wrote a row, and whose an agent's files are: SET ROLE has no say.

CREATE OR REPLACE FUNCTION stamp_mirrored() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.owner || '/' || NEW.agent, 0));
    NEW.changed := nextval('memory_sidecar.mirrored_changes');
    NEW.written_by := session_user;
    NEW.written_at := now();
    RETURN NEW;
END $$;
ALTER POLICY own ON mirrored USING (owner = session_user) WITH CHECK (owner = session_user);
