-- Prefix and phrase search in the texts of one table as they stand; a template for several tables.
-- The content is external, so the index must be told what it held; the triggers do that within
-- every transaction, cascades included.
-- version 1
CREATE VIRTUAL TABLE {table}_fts USING fts5 (
    {columns},
    content = '{table}', content_rowid = 'id', tokenize = 'porter unicode61'
);

CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN
    INSERT INTO {table}_fts (rowid, {columns}) VALUES (NEW.id, {new});
END;

CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN
    INSERT INTO {table}_fts ({table}_fts, rowid, {columns}) VALUES ('delete', OLD.id, {old});
END;

CREATE TRIGGER {table}_fts_update AFTER UPDATE ON {table} BEGIN
    INSERT INTO {table}_fts ({table}_fts, rowid, {columns}) VALUES ('delete', OLD.id, {old});
    INSERT INTO {table}_fts (rowid, {columns}) VALUES (NEW.id, {new});
END;

-- Every occurrence of a term, a view of the index above without rows of its own. FTS5 stems the
-- prefix of a query as if it were a word (`pay*` becomes `pai*`, which `payment` does not begin
-- with), so prefixes are looked up here as well.
CREATE VIRTUAL TABLE {table}_fts_terms USING fts5vocab ({table}_fts, instance);
