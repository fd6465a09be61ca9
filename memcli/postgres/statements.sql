-- opening
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL jit = off;
SET LOCAL hnsw.iterative_scan = relaxed_order;
SET LOCAL hnsw.ef_search = 300;
SELECT version FROM mem.version;
SELECT project::text, name, team, remote, path, commit, model, dim, chunks, length
FROM mem.projects;

-- prefix
SELECT coalesce(sum(n), 0) FROM mem.terms WHERE term >= %s AND term < %s
AND (%s::uuid[] IS NULL OR project = ANY (%s::uuid[]))

-- lexical
SELECT project::text, id, length, paths, lexemes, places, marks
FROM mem.lexical(%s::tsquery, %s::tsquery[], %s, %s, %s, %s, %s, %s, %s)

-- candidates
SELECT <value>, c.project::text, c.id, c.file, c.head, c.entry, c.part, c.type, c.kind, c.date,
    c.title, c.text, c.metadata, f.path, f.level, f.store, f.job, f.task, f.of
FROM unnest(%s::uuid[], %s::bigint[]) k(project, id)
JOIN mem.chunks c ON c.project = k.project AND c.id = k.id
JOIN mem.files f ON f.project = c.project AND f.file = c.file

-- whole
SELECT text FROM mem.chunks WHERE project = %s AND head = %s
AND file = (SELECT file FROM mem.chunks WHERE project = %s AND id = %s) ORDER BY part

-- beside
WITH near AS MATERIALIZED (
    SELECT c.project, c.id, s.place - h.place AS apart, f.heads[s.place] AS other
    FROM unnest(%s::uuid[], %s::bigint[]) k(project, id)
    JOIN mem.chunks c ON c.project = k.project AND c.id = k.id
    JOIN mem.files f ON f.project = c.project AND f.file = c.file
    CROSS JOIN LATERAL (SELECT array_position(f.heads, c.id)) h(place)
    CROSS JOIN LATERAL generate_series(greatest(h.place - 2, 1), h.place + 2) s(place))
SELECT near.project::text, near.id, near.apart, o.entry FROM near
JOIN mem.chunks o ON o.project = near.project AND o.id = near.other WHERE apart <> 0

-- lines
SELECT c.project::text, c.id, f.lines[array_position(f.heads, c.id)]
FROM unnest(%s::uuid[], %s::bigint[]) k(project, id)
JOIN mem.chunks c ON c.project = k.project AND c.id = k.id
JOIN mem.files f ON f.project = c.project AND f.file = c.file

-- known
SELECT p.version, p.team, p.commit, p.remote, p.name, p.model, p.dim,
    (SELECT array_agg(ARRAY[f.path, f.hash]) FROM mem.files f WHERE f.project = p.project)
FROM mem.projects p WHERE p.project = %s

-- write file
INSERT INTO mem.files VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (project, file) DO UPDATE SET hash = excluded.hash, level = excluded.level,
    store = excluded.store, job = excluded.job, task = excluded.task, of = excluded.of,
    heads = excluded.heads, lines = excluded.lines

-- write chunk
INSERT INTO mem.chunks (project, id, team, file, head, entry, part, live, store, level, job, task,
    type, kind, date, begins, ends, title, text, metadata, words, length, model, dim, vector)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
    %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)

-- write term
INSERT INTO mem.terms AS t VALUES (%s, %s, %s, %s)
ON CONFLICT (project, term) DO UPDATE SET n = t.n + excluded.n

-- write project
INSERT INTO mem.projects AS p (project, team, name, root_commit, path, remote, commit, archived,
    model, dim, chunks, length, version)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (project) DO UPDATE SET name = excluded.name, remote = excluded.remote,
    commit = excluded.commit, archived = excluded.archived, chunks = p.chunks + excluded.chunks,
    length = p.length + excluded.length, version = excluded.version, pushed_at = now()

-- remove files
DELETE FROM mem.files WHERE project = %s AND file = ANY (%s)

-- remove chunks
DELETE FROM mem.chunks WHERE project = %s AND id = ANY (%s)
RETURNING length, tsvector_to_array(words)

-- remove terms
DELETE FROM mem.terms WHERE project = %s AND term = ANY (%s) AND n <= 0

-- vectors
CREATE INDEX IF NOT EXISTS {name} ON mem.chunks
USING hnsw ((vector::halfvec({dim})) halfvec_cosine_ops) WHERE model = {model} AND dim = {dim}
