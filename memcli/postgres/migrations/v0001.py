"""Projects, files, chunks and terms; row-level security by team; the two searches."""

from __future__ import annotations

from typing import Any

from alembic import op

revision = "0001"
down_revision: str | None = None

TABLES = """
CREATE TABLE mem.projects (
  project uuid PRIMARY KEY,       -- from the root commit and the path in the repository
  team text COLLATE "C" NOT NULL, -- the role that may see it
  name text NOT NULL,
  root_commit text NOT NULL,
  path text NOT NULL,             -- of the root in the repository, "." for its top
  remote text NOT NULL,
  commit text NOT NULL,           -- what was pushed is as of this commit
  archived boolean NOT NULL,      -- whether the archives were pushed, too
  model text NOT NULL,            -- of its vectors, "" for none
  dim integer NOT NULL,
  chunks integer NOT NULL,
  length bigint NOT NULL,         -- of all chunks, in words
  version bigint NOT NULL,        -- counts the pushes
  pushed_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE mem.files (
  project uuid NOT NULL,
  file bigint NOT NULL,           -- hash of the path
  team text COLLATE "C" NOT NULL,
  path text NOT NULL,             -- relative to the root
  hash text NOT NULL,
  level text NOT NULL, store text NOT NULL, job text NOT NULL, task text NOT NULL, of text NOT NULL,
  heads bigint[] NOT NULL,        -- the first chunk of every entry, in their order
  lines integer[] NOT NULL,       -- and its first body line: here, so that an edit moves no chunk
  PRIMARY KEY (project, file)
);
CREATE TABLE mem.chunks (
  project uuid NOT NULL,
  id bigint NOT NULL,             -- hash of the file and of all that is searched or weighed
  team text COLLATE "C" NOT NULL,
  file bigint NOT NULL,
  head bigint NOT NULL,           -- the first chunk of the same entry
  entry text COLLATE "C" NOT NULL,
  part integer NOT NULL,
  live boolean NOT NULL,
  store text NOT NULL, level text NOT NULL, job text NOT NULL, task text NOT NULL,
  type text NOT NULL, kind text NOT NULL, date text NOT NULL,
  begins text COLLATE "C" NOT NULL, ends text COLLATE "C" NOT NULL,
  title text NOT NULL, text text NOT NULL,
  metadata jsonb NOT NULL,
  words tsvector NOT NULL,        -- title A, text, tags and date B, parts of words C; =t: team, =p: project
  length integer NOT NULL,
  model text NOT NULL,            -- of the vector, "" for none
  dim integer NOT NULL,
  vector halfvec,
  PRIMARY KEY (project, id)
);
CREATE INDEX chunks_words ON mem.chunks USING gin (words);
CREATE INDEX chunks_entry ON mem.chunks (project, entry);
CREATE INDEX chunks_file ON mem.chunks (project, file);
CREATE TABLE mem.terms (
  project uuid NOT NULL,
  term text COLLATE "C" NOT NULL,
  team text COLLATE "C" NOT NULL,
  n integer NOT NULL,             -- in how many chunks of the project it stands
  PRIMARY KEY (project, term)
);
CREATE INDEX terms_term ON mem.terms (term) INCLUDE (project, team, n);
"""

# A policy may hold no subquery where tables are distributed. A team that is no role any more is
# nobody's.
POLICY = """
ALTER TABLE mem.{table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON mem.{table}
  USING (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false))
  WITH CHECK (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false));
GRANT SELECT ON mem.{table} TO PUBLIC;
"""

# What a search may show, of a chunk `c`; `{f}` is the parameter that holds the filters as JSON.
PASSES = """({f}->'project' IS NULL OR {f}->'project' ? c.project::text)
        AND CASE c.store
          WHEN 'memory' THEN {f}->'store' ? 'memory' AND (c.live OR {f}->'store' ? 'archive')
          WHEN 'institutional' THEN {f}->'store' ? 'institutional' AND c.metadata->>'status' <> 'retired'
          ELSE {f}->'store' ? c.store END
        AND ({f}->'level' IS NULL OR {f}->'level' ? c.level)
        AND (c.level = 'project' OR (
          ({f}->'job' IS NULL OR {f}->'job' ? c.job)
          AND ({f}->'task' IS NULL OR {f}->'task' ? c.task OR (c.level = 'job' AND EXISTS (
            SELECT 1 FROM mem.files s
            WHERE s.project = c.project AND s.job = c.job AND {f}->'task' ? s.task)))))
        AND ({f}->'type' IS NULL OR {f}->'type' ? c.type)
        AND ({f}->'kind' IS NULL OR {f}->'kind' ? c.kind)
        AND ({f}->'tag' IS NULL OR EXISTS (
          SELECT 1 FROM jsonb_array_elements_text(coalesce(c.metadata->'tags', '[]')) t(tag)
          WHERE {f}->'tag' ? lower(t.tag)))
        AND ({f}->'path' IS NULL OR c.metadata ? 'paths')
        AND ({f}->>'since' IS NULL OR c.ends >= {f}->>'since')
        AND ({f}->>'until' IS NULL OR (c.begins >= '0' AND c.begins <= {f}->>'until'))"""

# Row-level security keeps an index from being asked with any operator that is not leakproof, and
# neither the match of a tsquery nor a distance is. So these two run as the owner of the tables and
# look at the teams of whoever called them: the role that was set, else the one that logged in.
SEARCHES = """
CREATE FUNCTION mem.teams() RETURNS text[] LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce(array_agg(DISTINCT p.team), '{}') FROM mem.projects p
  WHERE pg_has_role(
    CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role')::name END,
    to_regrole(quote_ident(p.team))::oid, 'USAGE')
$$;

CREATE FUNCTION mem.lexical(
  gate tsquery, terms tsquery[], idf float8[], tokens text[], heads text[], most int, scored int, leaders int,
  f jsonb
) RETURNS TABLE (
  project uuid, id bigint, length int, paths jsonb, lexemes text[], places text[], marks text[]
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  mine text[] := mem.teams();
  narrow tsquery := gate;
  only_of tsquery;
  covered text;
BEGIN
  IF cardinality(mine) = 0 THEN RETURN; END IF;
  IF f->'project' IS NOT NULL THEN
    SELECT string_agg('''=p:' || p || '''', ' | ')::tsquery INTO only_of
      FROM jsonb_array_elements_text(f->'project') p
      WHERE p ~ '^[0-9a-f-]{36}$';
    narrow := only_of && narrow;
  ELSIF EXISTS (SELECT 1 FROM mem.projects p WHERE p.team <> ALL (mine)) THEN
    SELECT string_agg(
        '''=t:' || replace(replace(t, E'\\\\', E'\\\\\\\\'), '''', '''''') || '''', ' | ')::tsquery
      INTO only_of FROM unnest(mine) t;
    narrow := only_of && narrow;
  END IF;
  SELECT string_agg(format('CASE WHEN c.words @@ $3[%s] THEN $4[%s] ELSE 0 END', i, i), ' + ') INTO covered
    FROM generate_subscripts(terms, 1) i;
  RETURN QUERY EXECUTE format($q$
    WITH met AS MATERIALIZED (
      SELECT c.project, c.id, %s AS covered FROM mem.chunks c
      WHERE c.words @@ $1 AND c.team = ANY ($2) AND [passes $5] LIMIT $6
    ), best AS MATERIALIZED (
      SELECT m.project, m.id FROM met m ORDER BY m.covered DESC, m.project, m.id
      LIMIT CASE WHEN (SELECT count(*) FROM met) <= $7 THEN $7 ELSE $8 END
    )
    SELECT c.project, c.id, c.length, c.metadata->'paths', u.lexemes, u.places, u.marks
    FROM best b JOIN mem.chunks c USING (project, id), LATERAL (
      SELECT array_agg(w.lexeme) AS lexemes,
        array_agg(array_to_string(w.positions, ',')) AS places,
        array_agg(array_to_string(w.weights, '')) AS marks
      FROM unnest(c.words) w
      WHERE w.lexeme = ANY ($9) OR EXISTS (SELECT 1 FROM unnest($10) h WHERE starts_with(w.lexeme, h))
    ) u WHERE u.lexemes IS NOT NULL
  $q$, covered) USING narrow, mine, terms, idf, f, most, scored, leaders, tokens, heads;
END $$;

CREATE FUNCTION mem.nearest(near text, of_model text, of_dim int, most int, f jsonb)
RETURNS TABLE (project uuid, id bigint, paths jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  mine text[] := mem.teams();
BEGIN
  RETURN QUERY EXECUTE format($q$
    SELECT c.project, c.id, c.metadata->'paths' FROM mem.chunks c
    WHERE c.model = %L AND c.dim = %s AND c.team = ANY ($1) AND [passes $2]
    ORDER BY c.vector::halfvec(%s) <=> $3::halfvec(%s) LIMIT $4
  $q$, of_model, of_dim, of_dim, of_dim) USING mine, f, near, most;
END $$;

CREATE FUNCTION mem.standing(of_projects uuid[], entries text[], f jsonb)
RETURNS TABLE (project uuid, id bigint, entry text) LANGUAGE sql STABLE AS $$
  SELECT c.project, c.id, c.entry FROM mem.chunks c
  WHERE c.project = ANY (of_projects) AND c.entry = ANY (entries) AND c.part = 0 AND [passes f]
$$;
"""


def searches() -> str:
    """The functions, with the filters written out in both."""
    text = SEARCHES
    for parameter in ("$5", "$2", "f"):
        text = text.replace(f"[passes {parameter}]", PASSES.format(f=parameter))
    return text


def upgrade() -> None:
    """Make everything, in the transaction that alembic has open."""
    driver: Any = (
        op.get_bind().connection.driver_connection
    )  # SQLAlchemy would read : and % in a text
    driver.execute(TABLES)
    for table in ("projects", "files", "chunks", "terms"):
        driver.execute(POLICY.format(table=table))
    driver.execute(searches())
    driver.execute("GRANT USAGE ON SCHEMA mem TO PUBLIC")
    driver.execute("GRANT SELECT ON mem.version TO PUBLIC")
