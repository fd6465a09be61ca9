"""mem recall over several repositories at once."""

import os
from pathlib import Path


def two(project):
    """A shop and a bank beside it, the bank with a private store."""
    project.remembers("Cart clock", "Freeze the clock in cart tests.")
    bank = project.root.parent / "bank"
    project.write(
        "MEMORY.md",
        project.entry("Transfers", "Transfers are idempotent by their key."),
        at=bank,
    )
    project.write("proxy.md", "Transfers are told to me in short words.\n", at=bank)
    project.git("init", "-q", cwd=bank)
    return ["--root", str(project.root), "--root", str(bank)]


def test_each_is_asked_and_named(project):
    """The best of both by relevance, each called by its repository; no proxy, no
    history."""
    roots = two(project)
    hits = project.mem("recall", "are transfers idempotent", *roots, "--json").hits
    assert [(hit["project"], hit["title"]) for hit in hits[:1]] == [
        ("bank", "Transfers")
    ]
    text = project.mem(
        "recall", "freeze the clock, are transfers idempotent", *roots
    ).out
    assert "repo: Cart clock" in text
    assert "bank: Transfers" in text
    assert "short words" not in text
    project.ends(2, "list", *roots)


def test_a_user_may_list_them(project):
    """`roots` of the user's file are asked outside of a project, never what a
    repository says."""
    _, shop, _, bank = two(project)
    settings = Path(os.environ["XDG_CONFIG_HOME"]) / "mem" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'roots = ["{shop}", "{bank}"]\n')
    outside = project.home / "elsewhere"
    outside.mkdir()
    assert (
        "bank: Transfers"
        in project.mem("recall", "transfers idempotent", cwd=outside).out
    )
    assert "bank" not in project.mem("recall", "transfers idempotent").out
    project.write(".mem.toml", f'roots = ["{bank}"]\n')
    project.ends(2, "recall", "transfers")
