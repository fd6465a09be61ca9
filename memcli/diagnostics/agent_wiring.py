"""Whether the hooks of agents are whole, find mem, are trusted, and stand once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from memcli.diagnostics.document import INFO, PASS, WARN, Check
from memcli.diagnostics.scene import text_of
from memcli.errors import UsageError
from memcli.install import agent_settings, agents, harness

LONGEST_WAIT = 60
"""Seconds above which a timeout was meant as milliseconds."""


def installed(root: Path | None, environ: Mapping[str, str]) -> list[harness.Settings]:
    """The files by which agents call mem."""
    return [each for each in harness.all_settings(root, environ) if agents.calls_mem(each)]


def check_agents(
    wired: list[harness.Settings], root: Path | None, environ: Mapping[str, str]
) -> Iterator[Check]:
    """A row for each fault of a wiring, or one that says it is whole; and how mem is found."""
    names = [each.harness for each in wired]
    for each in wired:
        plugin = harness.plugin(each.harness, root, environ)
        twice = names.count(each.harness) > 1 or bool(plugin)
        yield from _wiring(each, root, environ, twice="the plug-in" if plugin else twice)
    if wired:
        fault, bare = harness.path_fault(), harness.desktop_fault()
        if fault or bare:
            back = "mem init --remove --all takes the wiring back"
            yield Check("hooks", WARN if fault else INFO, fault or bare, back)


def _wiring(
    each: harness.Settings, root: Path | None, environ: Mapping[str, str], *, twice: str | bool
) -> Iterator[Check]:
    name, path = agents.NAMES[each.harness], str(each.path)
    again = f"mem init --{each.harness}" + f" --{each.scope}" * (each.scope != "local")
    faults = list(_faults(each, name)) if each.harness != "opencode" else []
    for fault in faults:
        yield Check("hooks", WARN, fault, f"{again}; or mem init --remove --all", path)
    if twice:
        where = "by its plug-in, too," if twice == "the plug-in" else "in two files"
        yield Check("hooks", WARN, f"{name} has hooks of mem {where} and may run both",
                    f"{again} --remove", path)  # fmt: skip
    untrusted = list(_untrusted(each, root, environ)) if each.harness == "codex" else []
    for what in untrusted:
        yield Check("hooks", WARN, what, "start codex in this folder; approve them: /hooks", path)
    if not (faults or twice or untrusted):
        yield Check("hooks", PASS, f"{name} calls mem", path=path)


def _faults(each: harness.Settings, name: str) -> Iterator[str]:
    """What is wrong with the handlers in one settings file."""
    found = _handlers(each)
    unit = 1000 if each.harness == "gemini" else 1
    for program in sorted({one.program for one in found if not harness.is_runnable(one.program)}):
        yield f"{name} calls a program that is not there: {program}"
    for one in found:
        if isinstance(one.timeout, (int, float)) and one.timeout > LONGEST_WAIT * unit:
            yield f"a hook of {name} may take {one.timeout / unit:.0f} seconds ({one.event})"
    events = [one.event for one in found]
    missing = {hook.event for hook in agent_settings.HOOKS[each.harness]} - set(events)
    if missing:
        yield f"{name} does not call mem on {', '.join(sorted(missing))}"
    doubled = sorted({event for event in events if events.count(event) > 1})
    if doubled:
        yield f"{name} calls mem twice on {', '.join(doubled)}"


def _handlers(each: harness.Settings) -> list[agent_settings.Handler]:
    try:
        return agent_settings.handlers(text_of(str(each.path)) or "")
    except UsageError:
        return []  # whether it is JSON is the agent's business


def _untrusted(
    each: harness.Settings, root: Path | None, environ: Mapping[str, str]
) -> Iterator[str]:
    """What Codex skips without a word: a project or hooks that the person has not approved."""
    values = harness.read_toml(harness.agent_home("codex", environ) / "config.toml")
    projects, states = values.get("projects"), values.get("hooks", {})
    folders = {str(folder) for folder in (root, *(root.parents if root else ()))}
    trusted = {
        name
        for name, project in (projects.items() if isinstance(projects, dict) else ())
        if isinstance(project, dict) and project.get("trust_level") == "trusted"
    }
    if each.scope != "user" and not folders & trusted:
        yield "Codex does not trust this project yet, and skips its hooks without a word"
    known = states.get("state") if isinstance(states, dict) else None
    approved = {
        name for name, state in (known.items() if isinstance(known, dict) else ())
        if isinstance(state, dict) and state.get("trusted_hash")
    }  # fmt: skip
    waiting = [event for key, event in _keys(each) if key not in approved]
    if waiting:
        yield f"Codex does not trust these hooks yet, and skips them: {', '.join(waiting)}"


def _keys(each: harness.Settings) -> Iterator[tuple[str, str]]:
    """(how Codex calls a handler of ours, its event)."""
    try:
        hooks = agent_settings.parse(text_of(str(each.path)) or "").get("hooks", {})
    except UsageError:
        return
    for event, groups in hooks.items():
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        for number, group in enumerate(groups):
            listed = group.get("hooks") if isinstance(group, dict) else None
            for place, handler in enumerate(listed if isinstance(listed, list) else ()):
                if agent_settings.is_ours(handler):
                    yield f"{each.path}:{snake}:{number}:{place}", event
