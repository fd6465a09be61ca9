"""Plumbing: what git and agents call. `mem hook` and `mem merge-driver` run on every
prompt and merge, so `__main__` calls them before Typer is imported; only their help
comes from here."""

from memcli.cli.options import argument, command, option

EVENTS = (
    "session-start, subagent-start, prompt, pre-tool, tool-failed, instructions-loaded,"
    " pre-compact or session-end; or git post-merge, git post-rewrite, git post-commit."
)


@command("hook", bare=True, context_settings={"ignore_unknown_options": True})
def hook(event: list[str] = argument("EVENT [ARGUMENT]...", EVENTS)) -> int:
    """Answer a hook of an agent or git; mem init sets up the calls.

    Reads the agent's JSON from standard input and prints JSON or nothing. The exit
    status is always 0; failures are logged to hooks.log in the state folder.
    MEM_HOOK=off switches every hook off."""
    from memcli.hooks import protocol

    return protocol.main(event)


@command("merge-driver", bare=True)
def merge_driver(
    files: list[str] = argument(
        "BASE OURS THEIRS [PATH [SIZE]]", "As git passes %O %A %B %P %L."
    ),
) -> int:
    """Merge memory files by entry id, for git."""
    from memcli.commands import merge_driver as command

    return command.main(files)


@command("mcp", bare=True)
def mcp(
    root: str = option("DIR", "The project's root; found by itself without."),
) -> int:
    """Serve agents over MCP (stdio); needs the extra mcp.

    Tools: recall, list, show, health, check, add, episode, reinforce, retire, inbox,
    keep, drop, consolidate."""
    from memcli.cli import mcp as server

    return server.serve(root)
