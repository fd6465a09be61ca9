-- The state file; see state.py.
CREATE TABLE IF NOT EXISTS recalls (
  project TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL, layer TEXT NOT NULL,
  place INTEGER NOT NULL, score REAL, day TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS recalls_session ON recalls (project, session);
CREATE TABLE IF NOT EXISTS reinforced (
  project TEXT NOT NULL, session TEXT NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (project, session, entry)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS health (
  project TEXT NOT NULL, day TEXT NOT NULL, score REAL NOT NULL, entries INTEGER NOT NULL,
  tokens INTEGER NOT NULL, metrics TEXT NOT NULL, -- JSON {name: value or null}
  PRIMARY KEY (project, day)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ledger (
  project TEXT NOT NULL, day TEXT NOT NULL,
  purpose TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
  input INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, output INTEGER NOT NULL,
  cost REAL NOT NULL -- USD
);
CREATE INDEX IF NOT EXISTS ledger_day ON ledger (day);
CREATE TABLE IF NOT EXISTS condensed (
  task TEXT PRIMARY KEY, terms TEXT NOT NULL -- task is a digest of it and of the model
);
CREATE TABLE IF NOT EXISTS extracted (
  project TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
  end INTEGER NOT NULL, head TEXT NOT NULL, session TEXT NOT NULL, task TEXT NOT NULL, last TEXT NOT NULL,
  PRIMARY KEY (project, path)
) WITHOUT ROWID;

-- guards of the repository that this person lets refuse, by the digest of their words
CREATE TABLE IF NOT EXISTS trusted (
  project TEXT NOT NULL, digest TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, digest)
) WITHOUT ROWID;

-- entries that were forgotten: salted digests, no words
CREATE TABLE IF NOT EXISTS tombstones (
  project TEXT NOT NULL, salt TEXT NOT NULL, digest TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, digest)
) WITHOUT ROWID;

-- what hooks did in the sessions of a project
CREATE TABLE IF NOT EXISTS shown ( -- what stands in a session's context
  project TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, entry TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, session, event, entry)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told ( -- what was ever told, and why
  project TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, entry TEXT NOT NULL,
  title TEXT NOT NULL, why TEXT NOT NULL, at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS told_session ON told (project, session);
CREATE TABLE IF NOT EXISTS waiting ( -- uses that no memory file counts yet
  project TEXT NOT NULL, entry TEXT NOT NULL, session TEXT NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, entry, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS news ( -- lines that a person has not seen yet
  project TEXT NOT NULL, line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS starts (
  project TEXT NOT NULL, session TEXT NOT NULL, source TEXT NOT NULL,
  size INTEGER NOT NULL, day TEXT NOT NULL, -- size of the transcript then
  PRIMARY KEY (project, session, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turns (
  project TEXT NOT NULL, session TEXT NOT NULL, count INTEGER NOT NULL, newest INTEGER NOT NULL,
  nudged INTEGER NOT NULL, day TEXT NOT NULL,
  PRIMARY KEY (project, session)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spool (
  project TEXT NOT NULL, session TEXT NOT NULL, path TEXT NOT NULL, ended INTEGER NOT NULL,
  size INTEGER NOT NULL, tries INTEGER NOT NULL,
  PRIMARY KEY (project, session, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS beats (
  project TEXT NOT NULL, event TEXT NOT NULL, at INTEGER NOT NULL, -- seconds since 1970
  PRIMARY KEY (project, event)
) WITHOUT ROWID;

-- what sessions proposed; what is over (dropped, kept, run out) is not proposed again
CREATE TABLE IF NOT EXISTS proposals (
  project TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL,
  became TEXT NOT NULL, -- "" while it waits, else kept, dropped or over
  since TEXT NOT NULL, named TEXT NOT NULL, -- the day, and the session that was told
  text TEXT NOT NULL, -- JSON
  PRIMARY KEY (project, id)
) WITHOUT ROWID;
