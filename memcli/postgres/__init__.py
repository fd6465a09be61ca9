"""One memory for many repositories: an index on PostgreSQL with pgvector, derived like the local
one.

`schema` makes its tables, `push` fills them from one project, `store` asks them; all SQL of it is
in `schema`, `migrations`, `store` and `writer`. psycopg and alembic come with the extra `postgres`
and are imported on demand.
"""
