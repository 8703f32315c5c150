-- The indexes of vectors are created once there are many: building one takes a tenth of the time of
-- maintaining it row by row, and few vectors are compared as fast without one. Meanwhile readers
-- use the indexes that an earlier version made, if there are any.
CREATE OR REPLACE FUNCTION declare_nearest() RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = memory_sidecar, public, pg_temp SET maintenance_work_mem = '1GB'
AS $$
    CREATE INDEX IF NOT EXISTS chunk_static_nearest ON chunk_static
        USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 256);
    CREATE INDEX IF NOT EXISTS chunk_vectors_nearest ON chunk_vectors
        USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 256);
    DROP INDEX IF EXISTS chunk_static_before, chunk_vectors_before;
$$;
REVOKE ALL ON FUNCTION declare_nearest() FROM PUBLIC;
ALTER INDEX IF EXISTS chunk_static_nearest RENAME TO chunk_static_before;
ALTER INDEX IF EXISTS chunk_vectors_nearest RENAME TO chunk_vectors_before;
