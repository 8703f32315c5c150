-- codebase.sqlite, beside derived.sql: the chunks of every registered source, and what finds them.
-- Lines are 1-based and inclusive.

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
    head       TEXT NOT NULL,           -- what the model sees: see code/document.py
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

-- The vector arm. A chunk has a row here or in chunk_pending, never in both, never in neither.
CREATE VIRTUAL TABLE chunk_vectors USING vec0 (
    id INTEGER PRIMARY KEY,
    embedding FLOAT[384] distance_metric=cosine
);

-- The static arm: vectors that come with the words, whole numbers of eight bits.
CREATE TABLE chunk_static (
    id        INTEGER PRIMARY KEY,
    embedding BLOB NOT NULL
);

-- The durable queue of chunks that wait for their vector.
CREATE TABLE chunk_pending (
    id        INTEGER PRIMARY KEY REFERENCES code_chunks (id) ON DELETE CASCADE,
    queued_at INTEGER NOT NULL          -- the latest come first; 0: can wait
);

-- The history arm: the newest commits of a source that lies in a repository, by what they say.
-- state tells what was read and how: see code/history.py.
CREATE TABLE histories (
    source  TEXT PRIMARY KEY,
    state   TEXT NOT NULL,
    commits INTEGER NOT NULL            -- those that changed files of the source, and have words
) WITHOUT ROWID;

-- Merges and commits that changed too much are here, too, so that none is read again, but without
-- words and paths.
CREATE TABLE commits (
    id      INTEGER PRIMARY KEY,
    source  TEXT NOT NULL,
    sha     TEXT NOT NULL,
    subject TEXT NOT NULL,
    changed INTEGER NOT NULL,           -- files, those outside of the source counted
    UNIQUE (source, sha)
);

CREATE TABLE commit_paths (
    id     INTEGER NOT NULL REFERENCES commits (id) ON DELETE CASCADE,
    path   TEXT NOT NULL,               -- relative to the source
    weight REAL NOT NULL DEFAULT 0,     -- of what the commit lends to that file
    PRIMARY KEY (id, path)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE commit_words USING fts5 (
    subject, body,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

CREATE VIRTUAL TABLE commit_vocabulary USING fts5vocab (commit_words, row);

-- Files that define or use names, so that the rows below need not repeat their paths.
CREATE TABLE code_files (
    id       INTEGER PRIMARY KEY,
    source   TEXT NOT NULL,
    filename TEXT NOT NULL,
    language TEXT NOT NULL,
    UNIQUE (source, filename)
);

CREATE TABLE code_definitions (
    file       INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,        -- in its file, from 0
    name       TEXT NOT NULL,
    path       TEXT NOT NULL,           -- dotted, with everything that encloses it
    kind       TEXT NOT NULL,
    signature  TEXT NOT NULL,
    start_line INTEGER NOT NULL,        -- of its name
    end_line   INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE INDEX code_definitions_by_name ON code_definitions (name);

-- Where a file uses a name: see code/document.py.
CREATE TABLE code_references (
    file   INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (file, name)
) WITHOUT ROWID;

CREATE INDEX code_references_by_name ON code_references (name);
