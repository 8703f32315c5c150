-- Three roles without a login, for the roles of people and machines to be members of:
--   CREATE ROLE alice LOGIN PASSWORD '...' IN ROLE memory_sidecar_indexer, memory_sidecar_agent;
-- Run again after an update, by the owner of the schema.

DO $$
DECLARE
    each text;
BEGIN
    FOREACH each IN ARRAY ARRAY['reader', 'indexer', 'agent'] LOOP
        BEGIN
            EXECUTE 'CREATE ROLE memory_sidecar_' || each || ' NOLOGIN';
        EXCEPTION WHEN duplicate_object OR unique_violation THEN  -- another database has made it
        END;
    END LOOP;
    IF NOT pg_has_role('memory_sidecar_agent', 'memory_sidecar_reader', 'USAGE')
       OR NOT pg_has_role('memory_sidecar_indexer', 'memory_sidecar_reader', 'USAGE') THEN
        GRANT memory_sidecar_reader TO memory_sidecar_indexer, memory_sidecar_agent;
    END IF;
END $$;

-- Objects in a role's pg_temp or own schema must not stand in for those that functions name.
-- Earlier versions did not set these search paths, or lost them when they migrated the schema.
ALTER FUNCTION declare_nearest() SET search_path = memory_sidecar, public, pg_temp;
ALTER FUNCTION stamp_mirrored() SET search_path = pg_catalog, pg_temp;

-- reader: searches code, and reads what is shared
GRANT USAGE ON SCHEMA memory_sidecar TO memory_sidecar_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA memory_sidecar TO memory_sidecar_reader;

-- indexer: writes code besides
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA memory_sidecar TO memory_sidecar_indexer;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA memory_sidecar TO memory_sidecar_indexer;
GRANT EXECUTE ON FUNCTION declare_nearest() TO memory_sidecar_indexer;
REVOKE INSERT, UPDATE, DELETE ON identity, mirrored FROM memory_sidecar_indexer;
REVOKE USAGE ON SEQUENCE mirrored_changes FROM memory_sidecar_indexer;

-- agent: writes what is shared, and its own. A removed file leaves its row, where others learn of
-- it: there is no DELETE, and no row changes its owner, agent or path.
REVOKE UPDATE ON mirrored FROM memory_sidecar_agent;
GRANT INSERT, UPDATE (hash, content) ON mirrored TO memory_sidecar_agent;
GRANT USAGE ON SEQUENCE mirrored_changes TO memory_sidecar_agent;
