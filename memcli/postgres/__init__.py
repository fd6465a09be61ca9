"""One memory for many repositories: an index on PostgreSQL with pgvector (extra
`postgres`)."""
