"""The tables of the shared index, version by version; alembic keeps which one a server has."""
