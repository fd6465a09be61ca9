"""The acceptance tests of the Agent Memory Atlas, as tests of `mem`.

Each is named by its id there and has its positive control in the same test: what must
still be told beside what must not. docs/acceptance.md lists them."""
