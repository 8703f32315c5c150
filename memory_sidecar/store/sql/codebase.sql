-- codebase.sqlite: the chunks of every registered source, and what finds them.
-- All of it is derived: delete the file and `index` makes it again from the sources.
-- Times are epoch milliseconds, file times nanoseconds; lines are 1-based and inclusive.

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
    chunker    TEXT NOT NULL,           -- oldest version that made any of its chunks
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
    fingerprint TEXT NOT NULL,          -- hex, over content and chunker version
    language    TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('indexed', 'skipped', 'failed')),
    reason      TEXT NOT NULL,          -- '' when indexed
    chunks      INTEGER NOT NULL,
    indexed_at  INTEGER NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE INDEX files_not_indexed ON files (source, status) WHERE status <> 'indexed';

-- AUTOINCREMENT: an id is never used twice, so a vector that was computed for a chunk which has
-- since been replaced can never land on its successor.
CREATE TABLE code_chunks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    source     TEXT NOT NULL,
    filename   TEXT NOT NULL,
    location   TEXT NOT NULL,           -- start_line-end_line
    language   TEXT NOT NULL,
    code       TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line   INTEGER NOT NULL,
    symbols    TEXT NOT NULL,           -- names defined in these lines, separated by spaces
    scope      TEXT NOT NULL,
    signature  TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (source, filename, location)
);

-- The keyword arm: the words of a chunk, identifiers split into their parts. Contentless: the
-- text is in code_chunks, and what is indexed is not that text but the words drawn from it.
CREATE VIRTUAL TABLE chunk_words USING fts5 (
    body, symbols, path,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

-- How many chunks hold a word: a view of the index above, without rows of its own.
CREATE VIRTUAL TABLE chunk_vocabulary USING fts5vocab (chunk_words, row);

-- The vector arm. A chunk has a row here or in pending_vectors, never in both, never in neither.
CREATE VIRTUAL TABLE chunk_vectors USING vec0 (
    chunk_id INTEGER PRIMARY KEY,
    embedding FLOAT[384] distance_metric=cosine
);

-- The durable queue of chunks that wait for their vector.
CREATE TABLE pending_vectors (
    chunk_id  INTEGER PRIMARY KEY REFERENCES code_chunks (id) ON DELETE CASCADE,
    queued_at INTEGER NOT NULL
);
