CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (
  path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  end INTEGER NOT NULL, head TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE docs (
  id INTEGER PRIMARY KEY, source TEXT NOT NULL, unit TEXT NOT NULL, turn INTEGER NOT NULL,
  key TEXT NOT NULL,
  who TEXT NOT NULL, date TEXT NOT NULL, title TEXT NOT NULL, about TEXT NOT NULL,
  parts INTEGER NOT NULL,
  live INTEGER NOT NULL, body BLOB NOT NULL, size INTEGER NOT NULL, UNIQUE (key)
);
CREATE INDEX docs_unit ON docs (unit, turn);
CREATE INDEX docs_date ON docs (date);
CREATE TABLE superseded (
  unit TEXT NOT NULL, by TEXT NOT NULL, PRIMARY KEY (unit, by)
) WITHOUT ROWID;
CREATE TABLE forgotten (unit TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
  person, agent, content='', tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);
