-- codebase.sqlite, in addition to derived.sql and corpus.sql: the chunks of all registered sources,
-- their names and commits.
-- Lines are 1-based and inclusive.
-- version 8

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
    symbols    TEXT NOT NULL,           -- names defined in these lines: see join_symbols
    scope      TEXT NOT NULL,
    signature  TEXT NOT NULL,
    head       TEXT NOT NULL,           -- what the model sees: see code/document.py
    updated_at INTEGER NOT NULL,
    UNIQUE (source, filename, location)
);

-- The static arm: vectors of chunks that are written together with the words, as 8-bit integers.
CREATE TABLE chunk_static (
    id        INTEGER PRIMARY KEY,
    embedding BLOB NOT NULL
);

-- The history arm: the newest commits of a source in a git repository, searched by their messages.
-- state identifies the commit and the version of the reader: see code/history.py.
CREATE TABLE histories (
    source  TEXT PRIMARY KEY,
    state   TEXT NOT NULL,
    commits INTEGER NOT NULL            -- that changed files of the source and have words
) WITHOUT ROWID;

-- Merges, and commits that changed many files or none of the source, have no words and paths; their
-- rows only keep them from being read again.
CREATE TABLE commits (
    id      INTEGER PRIMARY KEY,
    source  TEXT NOT NULL,
    sha     TEXT NOT NULL,
    subject TEXT NOT NULL,
    changed INTEGER NOT NULL,           -- number of files, also outside of the source
    UNIQUE (source, sha)
);

CREATE TABLE commit_paths (
    id     INTEGER NOT NULL REFERENCES commits (id) ON DELETE CASCADE,
    path   TEXT NOT NULL,               -- relative to the source
    weight REAL NOT NULL DEFAULT 0,     -- how much the commit counts for that file
    PRIMARY KEY (id, path)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE commit_words USING fts5 (
    subject, body,
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 categories ''L* N* Co M*'''
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
    path       TEXT NOT NULL,           -- dotted, with the enclosing definitions
    kind       TEXT NOT NULL,
    signature  TEXT NOT NULL,
    start_line INTEGER NOT NULL,        -- of its name
    end_line   INTEGER NOT NULL,
    PRIMARY KEY (file, number)
) WITHOUT ROWID;

CREATE INDEX code_definitions_by_name ON code_definitions (name);

-- The places where a file uses a name, in the format of code/document.py.
CREATE TABLE code_references (
    file   INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    name   TEXT NOT NULL,
    places TEXT NOT NULL,
    PRIMARY KEY (file, name)
) WITHOUT ROWID;

CREATE INDEX code_references_by_name ON code_references (name);

-- What a file of JavaScript exports or imports under another name: see chunking/renames.py.
CREATE TABLE code_renames (
    file   INTEGER NOT NULL REFERENCES code_files (id) ON DELETE CASCADE,
    alias  TEXT NOT NULL,
    name   TEXT NOT NULL,               -- `default`: what a module is by itself
    module TEXT NOT NULL,               -- that it is imported from, or empty
    PRIMARY KEY (file, alias)
) WITHOUT ROWID;

CREATE INDEX code_renames_by_name ON code_renames (name);
