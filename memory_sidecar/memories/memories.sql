-- The agent's database, beside derived.sql and corpus.sql: its memories. Every row comes from a
-- Markdown file of a knowledge directory, but for `memory_uses`, which comes from the access log.
-- Times are epoch milliseconds.
-- version 3

CREATE TABLE memories (
    key            INTEGER PRIMARY KEY,     -- of this database; hosts see `id`
    id             INTEGER NOT NULL,        -- int32, made from the path: the same after a rebuild
    path           TEXT NOT NULL UNIQUE,    -- as it is shown and named
    directory      TEXT NOT NULL,           -- the source that its file lies in
    file           TEXT NOT NULL,           -- relative to that
    hash           TEXT NOT NULL,           -- of the whole file
    category       TEXT NOT NULL,           -- full parent path in its directory, '' at the root
    tags           TEXT NOT NULL DEFAULT '[]',      -- JSON array, in the order of the file
    token_estimate INTEGER NOT NULL,
    source         TEXT NOT NULL DEFAULT 'unknown', -- who or what wrote it
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    expires_at     INTEGER,
    summary        TEXT,
    status         TEXT NOT NULL DEFAULT '',
    standing       TEXT NOT NULL DEFAULT 'active',  -- by its own status
    superseded     INTEGER NOT NULL DEFAULT 0,      -- by a memory that is there
    pinned         INTEGER NOT NULL DEFAULT 0,
    evidence       INTEGER NOT NULL DEFAULT 0,      -- how many pieces of it
    uses           INTEGER NOT NULL DEFAULT 0,      -- reads that the access log knows of
    used_at        INTEGER NOT NULL DEFAULT 0,      -- the last of them
    kind           TEXT NOT NULL DEFAULT '',        -- of an atom, `page` for one around atoms, else ''
    atom_id        TEXT NOT NULL DEFAULT '',
    project        TEXT NOT NULL DEFAULT '',        -- of an atom its folder's, else where it was made
    refs           INTEGER NOT NULL DEFAULT 0,      -- reads that its file knows of
    last_ref       TEXT NOT NULL DEFAULT '',
    problem        TEXT NOT NULL DEFAULT '',        -- what is wrong with the file
    declared_id    TEXT NOT NULL DEFAULT '',        -- the id that its frontmatter gives
    UNIQUE (directory, file)
);

CREATE INDEX memories_by_category ON memories (category);
CREATE INDEX memories_by_update ON memories (updated_at);
CREATE INDEX memories_by_creation ON memories (created_at);
CREATE INDEX memories_by_size ON memories (token_estimate);
CREATE INDEX memories_by_source ON memories (source, updated_at);
CREATE INDEX memories_by_reads ON memories (uses + refs, updated_at);
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_by_project ON memories (project, kind) WHERE project <> '';
CREATE INDEX memories_by_kind ON memories (kind) WHERE kind <> '';
CREATE INDEX memories_by_atom ON memories (atom_id) WHERE atom_id <> '';
CREATE INDEX memories_by_status ON memories (status) WHERE status <> '';
CREATE INDEX memories_by_declared_id ON memories (declared_id) WHERE declared_id <> '';
CREATE INDEX memories_not_current ON memories (key) WHERE standing <> 'active' OR superseded;
CREATE INDEX memories_broken ON memories (path) WHERE problem <> '';

-- Kept out of `memories`, so that scanning that table touches few pages.
CREATE TABLE memory_contents (
    memory  INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
    content TEXT NOT NULL
);

-- The tags again, for lookups: the JSON would have to be read row by row. A tag with a key, like
-- area:build, has a row for its key, area:, too.
CREATE TABLE memory_tags (
    tag    TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
    PRIMARY KEY (tag, memory)
) WITHOUT ROWID;

CREATE INDEX memory_tags_by_memory ON memory_tags (memory);

-- What memories say of each other, of sessions and of files.
CREATE TABLE memory_relations (
    memory   INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
    relation TEXT NOT NULL,             -- supersedes, superseded_by, evidence, citations, links
    target   TEXT NOT NULL,             -- a memory's path, an atom's id, or anything else
    PRIMARY KEY (memory, relation, target)
) WITHOUT ROWID;

CREATE INDEX memory_relations_by_target ON memory_relations (target, relation);

-- Reads by path, from the access log: kept by path, since they outlast the row of a memory.
CREATE TABLE memory_uses (
    path    TEXT PRIMARY KEY,
    uses    INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Every folder that holds a memory or is described, and those above it.
CREATE TABLE categories (
    path        TEXT PRIMARY KEY,
    parent_path TEXT,                   -- null at the top
    description TEXT
) WITHOUT ROWID;

CREATE INDEX categories_by_parent ON categories (parent_path);

-- The pages that describe categories; several directories may describe the same one.
CREATE TABLE category_pages (
    directory   TEXT NOT NULL,
    file        TEXT NOT NULL,
    category    TEXT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (directory, file)
) WITHOUT ROWID;

CREATE INDEX category_pages_by_category ON category_pages (category);

-- What is searched: a memory's content cut at its headings. AUTOINCREMENT: an id is never used
-- twice, so a vector that was computed for a chunk which has since been replaced can never land
-- on its successor.
CREATE TABLE memory_chunks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    memory     INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
    text       TEXT NOT NULL,
    context    TEXT NOT NULL,           -- summary or headings that the text itself lacks
    heading    TEXT NOT NULL,           -- "Setup > Linux"
    start_line INTEGER NOT NULL,        -- of the file, from 1
    end_line   INTEGER NOT NULL
);

CREATE INDEX memory_chunks_by_memory ON memory_chunks (memory);
