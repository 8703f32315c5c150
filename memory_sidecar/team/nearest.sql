-- The vectors' indexes are made when there are many: to fill one takes a tenth of the time that its
-- upkeep takes row by row, and few vectors are compared as fast without. Readers go on meanwhile.
CREATE OR REPLACE FUNCTION declare_nearest() RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = memory_sidecar, public SET maintenance_work_mem = '1GB'
AS $$
    CREATE INDEX IF NOT EXISTS chunk_static_nearest ON chunk_static
        USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);
    CREATE INDEX IF NOT EXISTS chunk_vectors_nearest ON chunk_vectors
        USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);
$$;
REVOKE ALL ON FUNCTION declare_nearest() FROM PUBLIC;
DROP INDEX IF EXISTS chunk_static_nearest, chunk_vectors_nearest;  -- which were made sparser before
