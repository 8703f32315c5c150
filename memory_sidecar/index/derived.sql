-- What every database that is derived from files has. Delete the file and it is made again.
-- Times are epoch milliseconds, file times nanoseconds.

-- What this database was made with. A mismatch means rebuild (schema, chunker) or embed again
-- (model), never a mixed index.
CREATE TABLE identity (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The sources that have rows here. state_id also lies in the source's CocoIndex state folder:
-- when the two differ, one of them was lost or replaced, and the source is indexed anew.
CREATE TABLE sources (
    name       TEXT PRIMARY KEY,
    root       TEXT NOT NULL,
    state_id   TEXT NOT NULL,
    chunker    TEXT NOT NULL,           -- that made its rows; '' while all of them are made anew
    scanned_at INTEGER                  -- end of the last complete scan; null: none yet
) WITHOUT ROWID;

-- Every file that a scan saw, indexed or not, with the reason. It is also the manifest that a
-- scan compares the disk with: a file whose size and times are unchanged is not read.
CREATE TABLE files (
    source      TEXT NOT NULL,
    path        TEXT NOT NULL,          -- relative to the source, with /
    size        INTEGER NOT NULL,       -- bytes
    mtime_ns    INTEGER NOT NULL,
    ctime_ns    INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,          -- hex, over content and chunker version; '' if never read
    language    TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('indexed', 'skipped', 'failed')),
    reason      TEXT NOT NULL,          -- '' when indexed
    chunks      INTEGER NOT NULL,
    indexed_at  INTEGER NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE INDEX files_not_indexed ON files (source, status) WHERE status <> 'indexed';
