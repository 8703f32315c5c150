-- The sessions of one agent, beside derived.sql, corpus.sql and texts.sql: their rows under the
-- names that hosts know. A row of sessions comes from one file, and everything else goes with it.
-- version 1

CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id    TEXT NOT NULL UNIQUE,
    source        TEXT NOT NULL,
    path          TEXT NOT NULL,        -- of its file, relative to the source
    project_path  TEXT NOT NULL,        -- normalised; '' where there was none
    project_hash  TEXT NOT NULL,        -- first 16 hex digits of SHA-256 over project_path
    project       TEXT NOT NULL,        -- its last part, what a person calls it
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL,
    first_message INTEGER NOT NULL,     -- messages.id; those of a session follow one another,
    end_message   INTEGER NOT NULL,     -- and have room up to this id, which no other session has
    title         TEXT NOT NULL,
    metadata      TEXT NOT NULL,        -- JSON object
    UNIQUE (source, path)
);

CREATE INDEX sessions_by_project ON sessions (project_hash);
CREATE INDEX sessions_by_creation ON sessions (created_at);
CREATE INDEX sessions_by_update ON sessions (updated_at);

-- An id is never used twice, here by what the identity knows as next_message and below by
-- AUTOINCREMENT: so a vector that was computed for a row which has since been replaced can never
-- land on its successor.
CREATE TABLE messages (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    role       TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'system')),
    content    TEXT NOT NULL,
    sequence   INTEGER NOT NULL,        -- from 0
    created_at INTEGER NOT NULL,
    stated     INTEGER NOT NULL,        -- words outside of its questions and code, and of a request
    answers    INTEGER NOT NULL,        -- how far before it another's question stands; 0: none
    heading    TEXT NOT NULL            -- date, project and speaker, as they are embedded
);

CREATE INDEX messages_by_session ON messages (session_id, sequence);
CREATE INDEX messages_by_creation ON messages (created_at);

-- Every session has a row here, so that tier 1 finds it: if it has no summary of its own, the row
-- holds its title or its first words, and made_by says so.
CREATE TABLE summaries (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id      INTEGER NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    brief           TEXT NOT NULL,
    detailed        TEXT,
    key_decisions   TEXT NOT NULL DEFAULT '[]',     -- JSON arrays of texts
    problems_solved TEXT NOT NULL DEFAULT '[]',
    technologies    TEXT NOT NULL DEFAULT '[]',
    outcome         TEXT CHECK (outcome IN ('success', 'partial', 'abandoned')),
    user_note       TEXT,
    created_at      INTEGER NOT NULL,
    made_by         TEXT NOT NULL DEFAULT '',       -- '' its author
    embedded        TEXT NOT NULL                   -- all of it with date, project and topics
);

CREATE INDEX summaries_by_outcome ON summaries (outcome);
CREATE INDEX summaries_by_creation ON summaries (created_at);

CREATE TABLE topics (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    topic      TEXT NOT NULL            -- lower case
);

CREATE INDEX topics_by_session ON topics (session_id);
CREATE INDEX topics_by_topic ON topics (topic);

CREATE TABLE code_snippets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    language    TEXT,
    code        TEXT NOT NULL,
    description TEXT,
    file_path   TEXT,
    created_at  INTEGER NOT NULL
);

CREATE INDEX code_snippets_by_session ON code_snippets (session_id);
CREATE INDEX code_snippets_by_language ON code_snippets (language);
CREATE INDEX code_snippets_by_creation ON code_snippets (created_at);

-- An update of a session that does not set updated_at counts as made now. Setting it fires this
-- trigger again, which then does nothing, because the time differs. The SQLite of a host may be too
-- old to know unixepoch('subsec'); 2440587.5 is the Julian day of 1970.
CREATE TRIGGER sessions_updated AFTER UPDATE ON sessions WHEN NEW.updated_at = OLD.updated_at BEGIN
    UPDATE sessions SET updated_at =
        max(OLD.updated_at + 1, CAST((julianday('now') - 2440587.5) * 86400000 AS INT))
    WHERE id = NEW.id;
END;

-- As in texts.sql, for the words of snippets.
CREATE VIRTUAL TABLE snippet_words_terms USING fts5vocab (snippet_words, instance);
