-- schemas
SELECT quote_ident(nspname), nspname = 'mem' AND NOT pg_has_role(nspowner, 'USAGE'),
    EXISTS (SELECT FROM aclexplode(nspacl) WHERE grantee = 0 AND privilege_type = 'CREATE')
FROM pg_namespace
WHERE nspname = 'mem' OR oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector')

-- vector schema
SELECT quote_ident(nspname) FROM pg_namespace
WHERE oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector')

-- opening
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL jit = off;
SET LOCAL hnsw.iterative_scan = relaxed_order;
SET LOCAL hnsw.ef_search = 300;
SELECT version, (SELECT quote_ident(nspname) FROM pg_namespace
    WHERE oid = (SELECT extnamespace FROM pg_extension WHERE extname = 'vector'))
FROM mem.version;
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
SELECT p.team, current_user, p.project, p.version, p.commit, p.remote, p.name, p.model, p.dim,
    (SELECT array_agg(ARRAY[f.path, f.hash]) FROM mem.files f WHERE f.project = p.project)
FROM (SELECT) AS role LEFT JOIN mem.projects p ON p.root_commit = %s AND p.path = %s

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
UPDATE mem.projects SET name = %s, remote = %s, commit = %s, archived = %s, model = %s, dim = %s,
    chunks = chunks + %s, length = length + %s, pushed_at = now()
WHERE project = %s

-- emptied
UPDATE mem.projects SET chunks = 0, length = 0 WHERE project = %s

-- first push
INSERT INTO mem.projects (project, team, root_commit, path, name, remote, commit, archived,
    model, dim, chunks, length, version)
VALUES (%s, %s, %s, %s, '', '', '', false, '', 0, 0, 0, 1)
ON CONFLICT (team, root_commit, path) DO NOTHING RETURNING version

-- next push
UPDATE mem.projects SET version = version + 1 WHERE project = %s AND version = %s
RETURNING version

-- remove files
DELETE FROM mem.files WHERE project = %s AND file = ANY (%s)

-- remove chunks
DELETE FROM mem.chunks WHERE project = %s AND id = ANY (%s)
RETURNING length, tsvector_to_array(words)

-- remove terms
DELETE FROM mem.terms WHERE project = %s AND term = ANY (%s) AND n <= 0

-- vectors
CREATE INDEX IF NOT EXISTS {name} ON mem.chunks
USING hnsw ((vector::{vector}.halfvec({dim})) {vector}.halfvec_cosine_ops) WHERE model = {model} AND dim = {dim}
