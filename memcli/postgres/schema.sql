-- The tables of the shared index: projects, files and chunks, row-level security by team, and the
-- searches for candidates. Derived from memory files like the local index: another version is made
-- anew.
--
-- `<vector>` is the schema of pgvector: what is called from there is named with it, and with exact
-- types, so that whatever others create in any schema is never called here.

CREATE TABLE mem.version (version integer NOT NULL);

CREATE TABLE mem.projects (
  project uuid PRIMARY KEY,       -- drawn by the first push
  team text COLLATE "C" NOT NULL, -- the role that may see it
  name text NOT NULL,
  root_commit text NOT NULL,
  path text NOT NULL,             -- of the root in the repository, "." for its top
  remote text NOT NULL,
  commit text NOT NULL,           -- what was pushed is as of this commit
  archived boolean NOT NULL,      -- whether the archives were pushed, too
  model text NOT NULL,            -- of its vectors, "" for none
  dim integer NOT NULL,
  chunks integer NOT NULL,        -- how many there are
  version bigint NOT NULL,        -- counts the pushes
  pushed_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (team, root_commit, path), -- no team can take the place of another's project
  UNIQUE (project, team)            -- what the rows of a project refer to: they are of its team
);

CREATE TABLE mem.files (
  project uuid NOT NULL,
  file bigint NOT NULL,           -- hash of the path
  team text COLLATE "C" NOT NULL,
  path text NOT NULL,             -- relative to the root
  hash text NOT NULL,
  level text NOT NULL,
  store text NOT NULL,
  job text NOT NULL,
  task text NOT NULL,
  of text NOT NULL,
  heads bigint[] NOT NULL,        -- the first chunk of every entry, in their order
  lines integer[] NOT NULL,       -- and its first body line: here, so that an edit moves no chunk
  PRIMARY KEY (project, file),
  FOREIGN KEY (project, team) REFERENCES mem.projects (project, team) ON DELETE CASCADE
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
  store text NOT NULL,
  level text NOT NULL,
  job text NOT NULL,
  task text NOT NULL,
  type text NOT NULL,
  kind text NOT NULL,
  date text NOT NULL,
  begins text COLLATE "C" NOT NULL,
  ends text COLLATE "C" NOT NULL,
  title text NOT NULL,
  text text NOT NULL,
  tags text NOT NULL,
  parts text NOT NULL,            -- sub-words of identifiers, bigrams of scripts without spaces
  around text NOT NULL,           -- of a bullet: what it stands among, as it is searched and shown
  metadata jsonb NOT NULL,
  words tsvector NOT NULL,        -- title A, text, tags and date B, parts C; =t: team, =p: project
  model text NOT NULL,            -- of the vector, "" for none
  dim integer NOT NULL,
  vector <vector>.halfvec,
  PRIMARY KEY (project, id),
  FOREIGN KEY (project, team) REFERENCES mem.projects (project, team) ON DELETE CASCADE,
  CHECK (<vector>.vector_dims(vector) = dim) -- else one row would keep all others from an index
);
CREATE INDEX chunks_words ON mem.chunks USING gin (words);
CREATE INDEX chunks_entry ON mem.chunks (project, entry);
CREATE INDEX chunks_file ON mem.chunks (project, file);

-- The words of a text, stemmed as the local index stems them, without any stop words. Texts and
-- queries come as words with blanks between, so that the parser has nothing to tell apart.
CREATE TEXT SEARCH DICTIONARY mem.stem (TEMPLATE = pg_catalog.snowball, LANGUAGE = porter);
CREATE TEXT SEARCH CONFIGURATION mem.words (PARSER = pg_catalog."default");
ALTER TEXT SEARCH CONFIGURATION mem.words
  ADD MAPPING FOR asciiword, word, numword, int, uint, float, sfloat, version WITH mem.stem;

-- A policy may hold no subquery where tables are distributed. A team that is no role any more is
-- nobody's.
ALTER TABLE mem.projects ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON mem.projects
  USING (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false))
  WITH CHECK (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false));
ALTER TABLE mem.files ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON mem.files
  USING (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false))
  WITH CHECK (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false));
ALTER TABLE mem.chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY team ON mem.chunks
  USING (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false))
  WITH CHECK (coalesce(pg_has_role(to_regrole(quote_ident(team))::oid, 'USAGE'), false));

-- What a search may show, of a chunk `c`, as the text of a condition; `f` are the filters, and `p`
-- is the parameter that holds them there. A filter that is not set is not asked.
CREATE FUNCTION mem.passes(f jsonb, p text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT string_agg(replace(condition, '{f}', p), ' AND ' ORDER BY place) FROM (VALUES
    (1, f->'project' IS NOT NULL, '{f}->''project'' ? c.project::text'),
    (2, f->'store' = '["memory"]', 'c.store = ''memory'' AND c.live'),
    (3, f->'store' IS DISTINCT FROM '["memory"]', 'CASE c.store
        WHEN ''memory'' THEN {f}->''store'' ? ''memory'' AND (c.live OR {f}->''store'' ? ''archive'')
        WHEN ''institutional'' THEN
          {f}->''store'' ? ''institutional'' AND c.metadata->>''status'' <> ''retired''
        ELSE {f}->''store'' ? c.store END'),
    (4, f->'level' IS NOT NULL, '{f}->''level'' ? c.level'),
    (5, f->'job' IS NOT NULL, '(c.level = ''project'' OR {f}->''job'' ? c.job)'),
    (6, f->'task' IS NOT NULL, '(c.level = ''project'' OR {f}->''task'' ? c.task
        OR (c.level = ''job'' AND EXISTS (SELECT 1 FROM mem.files s
          WHERE s.project = c.project AND s.job = c.job AND {f}->''task'' ? s.task)))'),
    (7, f->'type' IS NOT NULL, '{f}->''type'' ? c.type'),
    (8, f->'kind' IS NOT NULL, '{f}->''kind'' ? c.kind'),
    (9, f->'tag' IS NOT NULL, 'EXISTS (
        SELECT 1 FROM jsonb_array_elements_text(coalesce(c.metadata->''tags'', ''[]'')) t(tag)
        WHERE {f}->''tag'' ? lower(t.tag))'),
    (10, f->'path' IS NOT NULL, 'c.metadata ? ''paths'''),
    (11, f->>'since' IS NOT NULL, 'c.ends >= {f}->>''since'''),
    (12, f->>'until' IS NOT NULL, '(c.begins >= ''0'' AND c.begins <= {f}->>''until'')'),
    (13, f->'scope' IS NOT NULL, '{f}->''scope'' ? (c.metadata->>''scope'')')
  ) v(place, asked, condition) WHERE asked
$$;

-- Who asks is looked up before any table is read: what a worker of a cluster is asked it answers as
-- the owner of the function.
CREATE FUNCTION mem.teams() RETURNS text[] LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  caller name := CASE current_setting('role')
    WHEN 'none' THEN session_user ELSE current_setting('role')::name END;
  every text[];
BEGIN
  SELECT array_agg(DISTINCT p.team) INTO every FROM mem.projects p;
  RETURN coalesce((SELECT array_agg(t) FROM unnest(every) t
    WHERE pg_has_role(caller, to_regrole(quote_ident(t))::oid, 'USAGE')), '{}');
END $$;

-- The words that a chunk has for being of a team, or of a project: with them a search passes over
-- what others have many of. Null where there is nothing to pass over.
CREATE FUNCTION mem.within(teams text[], f jsonb) RETURNS tsquery
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF f->'project' IS NOT NULL THEN
    RETURN (SELECT string_agg('''=p:' || p || '''', ' | ')::tsquery
      FROM jsonb_array_elements_text(f->'project') p WHERE p ~ '^[0-9a-f-]{36}$');
  ELSIF EXISTS (SELECT FROM mem.projects p WHERE p.team <> ALL (teams)) THEN
    RETURN (SELECT string_agg(
        '''=t:' || replace(replace(t, E'\\', E'\\\\'), '''', '''''') || '''', ' | ')::tsquery
      FROM unnest(teams) t);
  END IF;
  RETURN NULL;
END $$;

-- Row-level security keeps an index from being asked with any operator that is not leakproof, and
-- neither the match of a tsquery nor a distance is. So these run as the owner of the tables and look
-- at the teams of whoever called them: the role that was set, else the one that logged in.

-- In how many chunks each term stands, `most` at most.
CREATE FUNCTION mem.counts(terms text[], most int, f jsonb) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine text[] := mem.teams();
  narrow tsquery := mem.within(mine, f);
  term text;
  query tsquery;
  n bigint;
  found bigint[] := '{}';
BEGIN
  FOREACH term IN ARRAY terms LOOP
    query := to_tsquery('mem.words', term);
    -- A query without words meets nothing; joined with another it would meet what that one does.
    SELECT count(*) INTO n FROM (
      SELECT FROM mem.chunks c WHERE c.words @@ coalesce(narrow && query, query)
        AND numnode(query) > 0 AND c.team = ANY (mine)
        AND (f->'project' IS NULL OR f->'project' ? c.project::text) LIMIT most
    ) m;
    found := found || n;
  END LOOP;
  RETURN found;
END $$;

-- The entries whose chunks have any of the words of `gate` and meet the terms best, by how often,
-- where and in how long a text each stands, and how rare it is.
CREATE FUNCTION mem.lexical(
  gate text, terms text[], rarity float8[], looked_at int, most int, f jsonb
) RETURNS TABLE (project uuid, entry text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine text[] := mem.teams();
  narrow tsquery := mem.within(mine, f);
  wanted tsquery := to_tsquery('mem.words', gate);
  queries tsquery[];
BEGIN
  IF numnode(wanted) = 0 THEN RETURN; END IF;
  SELECT array_agg(to_tsquery('mem.words', t.term) ORDER BY t.place) INTO queries
    FROM unnest(terms) WITH ORDINALITY t(term, place);
  -- Joined with nothing, so that a long vector is fetched once and not for every term.
  RETURN QUERY EXECUTE format($q$
    SELECT m.project, m.entry FROM (
      SELECT c.project, c.entry, (
          SELECT sum(t.rarity * ts_rank('{0.1, 0.47, 0.67, 1.0}', d.words, t.query, 1))
          FROM unnest($4, $5) t(query, rarity)
        ) AS score
      FROM mem.chunks c, LATERAL (SELECT c.words || ''::tsvector AS words OFFSET 0) d
      WHERE c.words @@ $1 AND c.team = ANY ($2) AND %s LIMIT %s
    ) m GROUP BY m.project, m.entry ORDER BY max(m.score) DESC, m.project, m.entry LIMIT %s
  $q$, mem.passes(f, '$3'), looked_at, most)
  USING coalesce(narrow && wanted, wanted), mine, f, queries, rarity;
END $$;

-- The entries whose vectors are nearest.
CREATE FUNCTION mem.nearest(near text, of_model text, of_dim int, most int, f jsonb)
RETURNS TABLE (project uuid, entry text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  mine text[] := mem.teams();
  searched uuid[];
  few boolean;
BEGIN
  SELECT array_agg(p.project) FILTER (WHERE a.asked),
      (sum(p.chunks) FILTER (WHERE a.asked))::float8 ^ 2 < 20.0 * most * sum(p.chunks)
    INTO searched, few
    FROM mem.projects p, LATERAL (
      SELECT p.team = ANY (mine) AND (f->'project' IS NULL OR f->'project' ? p.project::text)
    ) a(asked);
  IF searched IS NULL THEN RETURN; END IF;
  -- An index over the vectors of all passes over those of the others, one by one, and gives up after
  -- 20,000; a vector costs a twentieth where it is compared without one.
  IF few THEN
    RETURN QUERY EXECUTE format($q$
      SELECT c.project, c.entry FROM mem.chunks c
      WHERE c.project = ANY ($4) AND c.model = %L AND c.dim = %s AND c.team = ANY ($1) AND %s
      ORDER BY c.vector OPERATOR(<vector>.<=>) $3::<vector>.halfvec(%s) LIMIT %s
    $q$, of_model, of_dim, mem.passes(f, '$2'), of_dim, most) USING mine, f, near, searched;
    RETURN;
  END IF;
  RETURN QUERY EXECUTE format($q$
    SELECT c.project, c.entry FROM mem.chunks c
    WHERE c.model = %L AND c.dim = %s AND c.team = ANY ($1) AND %s
    ORDER BY c.vector::<vector>.halfvec(%s) OPERATOR(<vector>.<=>) $3::<vector>.halfvec(%s)
    LIMIT %s
  $q$, of_model, of_dim, mem.passes(f, '$2'), of_dim, of_dim, most) USING mine, f, near;
END $$;

-- All chunks of these entries that may be shown, as whoever asks: what the searches above have
-- found passes row-level security once more.
CREATE FUNCTION mem.standing(of_projects uuid[], entries text[], f jsonb)
RETURNS SETOF mem.chunks
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN QUERY EXECUTE format($q$
    SELECT c.* FROM (SELECT DISTINCT * FROM unnest($1, $2)) e(project, entry)
    JOIN mem.chunks c ON c.project = e.project AND c.entry = e.entry
    WHERE %s
  $q$, mem.passes(f, '$3')) USING of_projects, entries, f;
END $$;

GRANT USAGE ON SCHEMA mem TO PUBLIC;
GRANT SELECT ON mem.version, mem.projects, mem.files, mem.chunks TO PUBLIC;
