"""One memory for many repositories: an index on PostgreSQL with pgvector, derived like the local
one.

`schema` makes its tables, `push` fills them from one project, `store` asks them; all SQL of it is
in `schema`, `store` and `writer`. psycopg comes with the extra `postgres`
and is imported on demand.
"""
