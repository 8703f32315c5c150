-- Before which generation no deleted file is known, nothing asks. `code.sql` makes no such column.
ALTER TABLE sources DROP COLUMN IF EXISTS folded_at;
