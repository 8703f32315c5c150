-- A template of the tables of one corpus: `Corpus.script` fills in the names.
-- version 1

-- The keyword arm: the words of a row, with identifiers split into their parts. Contentless, since
-- they are derived from the row, which has the text.
CREATE VIRTUAL TABLE {words} USING fts5 (
    {columns},
    content = '', contentless_delete = 1,
    tokenize = 'porter unicode61 categories ''L* N* Co M*'''
);

-- The number of rows that hold a word: a view of the index above, without rows of its own.
CREATE VIRTUAL TABLE {vocabulary} USING fts5vocab ({words}, row);

-- The vector arm. Each row of the corpus has a row in exactly one of this table and the next.
CREATE VIRTUAL TABLE {vectors} USING vec0 (
    id INTEGER PRIMARY KEY,
    embedding FLOAT[{dimension}] distance_metric=cosine
);

-- The durable queue of rows that wait for their vector.
CREATE TABLE {pending} (
    id        INTEGER PRIMARY KEY REFERENCES {rows} (id) ON DELETE CASCADE,
    queued_at INTEGER NOT NULL          -- the latest are embedded first; 0: last
);
