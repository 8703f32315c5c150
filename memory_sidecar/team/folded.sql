-- Nothing reads folded_at any more, the generation before which no deleted file is known. `code.sql`
-- does not create it.
ALTER TABLE sources DROP COLUMN IF EXISTS folded_at;
