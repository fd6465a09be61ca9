-- The index: derived from the memory files, disposable. Another version is rebuilt, never migrated.
CREATE TABLE file_meta (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,    -- relative to the root, or ~/...
  place TEXT NOT NULL,          -- JSON [level, store, job, task, of, tree]
  mtime INTEGER NOT NULL,       -- ns; 0: too fresh to trust, look at the hash
  size INTEGER NOT NULL,
  hash TEXT NOT NULL,
  entries INTEGER NOT NULL,
  linked TEXT NOT NULL DEFAULT '', -- what index lines of other files say of it: searched with it
  sound INTEGER NOT NULL,       -- 1: an archive of which no entry is only text
  problems TEXT NOT NULL        -- JSON [[line, message, severity], ...]
);
CREATE INDEX file_places ON file_meta(place, entries);
CREATE INDEX file_problems ON file_meta(path) WHERE problems != '[]';
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: vectors are due from a number on
  source INTEGER NOT NULL,      -- file_meta.id
  entry TEXT NOT NULL,          -- id of the entry or section
  part INTEGER NOT NULL,        -- 0, 1, ... of a long one
  offset INTEGER NOT NULL,      -- of the entry in the file, characters
  line INTEGER NOT NULL,        -- of its first one
  live INTEGER NOT NULL,        -- 1: ranked by default (memory store, not retired)
  type TEXT NOT NULL,
  kind TEXT NOT NULL,
  date TEXT NOT NULL,
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  tags TEXT NOT NULL,
  parts TEXT NOT NULL,          -- sub-words of identifiers, bigrams of scripts without spaces
  around TEXT NOT NULL,         -- of a bullet: the bullets that it stands among, as they are searched
  metadata TEXT NOT NULL,       -- JSON: the values of the entry
  rank INTEGER NOT NULL,        -- how pressing its priority is, 0 to 4
  importance REAL NOT NULL,
  moment TEXT NOT NULL,         -- when it ended or was made
  seal INTEGER NOT NULL         -- checksum of title, text and metadata: a flipped byte is found
);
CREATE INDEX chunks_source ON chunks(source, offset, part);
CREATE INDEX chunks_entry ON chunks(entry);
CREATE INDEX chunks_around ON chunks(id) WHERE around != '';
CREATE INDEX chunks_linking ON chunks(source) WHERE instr(text, '](') > 0;
CREATE INDEX chunks_dead ON chunks(id) WHERE live = 0;
-- in the orders in which standing entries are asked for: the first of many cost as the first of few
CREATE INDEX chunks_pressing ON chunks(rank, importance DESC, date DESC, entry) WHERE part = 0 AND kind != '' AND rank <= 2;
CREATE INDEX chunks_episodes ON chunks(moment DESC, entry) WHERE part = 0 AND kind = 'episode';
CREATE INDEX chunks_important ON chunks(importance DESC, date DESC, entry) WHERE part = 0;
CREATE INDEX chunks_date ON chunks(date) WHERE part = 0;
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  title, text, tags, date, parts, around,
  content = 'chunks', content_rowid = 'id',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE embedding_cache (
  hash TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
  vector BLOB NOT NULL,         -- little-endian float32
  PRIMARY KEY (hash, provider, model)
) WITHOUT ROWID;
CREATE TABLE vectors (
  chunk INTEGER PRIMARY KEY,    -- chunks.id
  vector BLOB NOT NULL,         -- a signed byte a dimension: the unit vector times 127
  words BLOB NOT NULL           -- words.id of its distinct content words, 4 bytes each; local embedder only
);
CREATE TABLE signs (
  block INTEGER PRIMARY KEY,    -- 0, 1, ...: chunks 0 to 1023, ...; -1, -2, ...: words 0 to 1023, ...
  bits BLOB NOT NULL            -- the sign bits of their vectors; all 0 where there is none
);
CREATE TABLE words (
  id INTEGER PRIMARY KEY,
  word TEXT NOT NULL UNIQUE,
  weight INTEGER NOT NULL,
  vector BLOB NOT NULL
);
CREATE TABLE occasions (        -- keys of the files and commands that a rule is about
  what TEXT NOT NULL, key TEXT NOT NULL,
  chunk INTEGER NOT NULL,       -- chunks.id of the entry's first chunk, of words of their own
  said TEXT NOT NULL DEFAULT '', -- of words: the glob of a file, or a command and exceptions
  PRIMARY KEY (what, key, chunk, said)
) WITHOUT ROWID;
CREATE INDEX occasions_chunk ON occasions(chunk);
CREATE TABLE relations (
  entry TEXT NOT NULL, other TEXT NOT NULL,
  relation TEXT NOT NULL CHECK (relation IN ('supports', 'contradicts')),
  weight REAL NOT NULL,
  source INTEGER NOT NULL,      -- file_meta.id of the file that says so
  PRIMARY KEY (entry, other, relation, source)
);
CREATE INDEX relations_other ON relations(other);
CREATE TABLE anchored (         -- what entries name in the code
  entry TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  since INTEGER NOT NULL,       -- the place of the commit that brought it in, or -1
  PRIMARY KEY (entry, kind, name)
) WITHOUT ROWID;
CREATE TABLE anchors (          -- what has become of each name
  kind TEXT NOT NULL, name TEXT NOT NULL,
  state TEXT NOT NULL,          -- here, gone, moved, never (in this history) or untold
  witness TEXT NOT NULL,        -- a file where an identifier stands
  removed TEXT NOT NULL, day TEXT NOT NULL, -- the commit that took it away
  now TEXT NOT NULL,            -- where it has moved to
  at INTEGER NOT NULL,          -- the place of that commit on the main line, or -1
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX anchors_gone ON anchors(kind, name) WHERE state IN ('gone', 'moved');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
