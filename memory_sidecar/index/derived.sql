-- The tables of every database that is derived from files. A deleted database is rebuilt from them.
-- Times are epoch milliseconds, file times nanoseconds.
-- version 1

-- The versions that this database was built with. On a mismatch it is rebuilt (schema, chunker) or
-- its rows are embedded again (model): an index is never mixed.
CREATE TABLE identity (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The sources that have rows here. The CocoIndex state folder of a source has its state_id, too: if
-- the two differ, one of them was lost or replaced, and the source is indexed again.
CREATE TABLE sources (
    name       TEXT PRIMARY KEY,
    root       TEXT NOT NULL,
    state_id   TEXT NOT NULL,
    chunker    TEXT NOT NULL,           -- version of the builder of its rows; '' during a rebuild
    scanned_at INTEGER                  -- end of the last complete scan; null: none yet
) WITHOUT ROWID;

-- Every file that a scan found, and why it was not indexed. This is also the manifest that a scan
-- compares with the disk: a file whose size and times are unchanged is not read.
CREATE TABLE files (
    source      TEXT NOT NULL,
    path        TEXT NOT NULL,          -- relative to the source, with /
    size        INTEGER NOT NULL,       -- bytes
    mtime_ns    INTEGER NOT NULL,
    ctime_ns    INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,          -- hex, over content and chunker version; '' if never read
    language    TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('indexed', 'skipped', 'failed')),
    reason      TEXT NOT NULL,          -- why skipped or failed, or a note on how it was indexed; or ''
    chunks      INTEGER NOT NULL,
    indexed_at  INTEGER NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE INDEX files_not_indexed ON files (source, status) WHERE status <> 'indexed';
