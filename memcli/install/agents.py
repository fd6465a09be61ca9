"""What mem init changes for agents: the files by which they call mem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from memcli.errors import UsageError
from memcli.install import agent_settings, harness
from memcli.install.repository import TEMPLATES
from memcli.install.targets import Left, Place, Target
from memcli.storage.files import Unreadable, read_text

NAMES = {**agent_settings.NAMES, "opencode": "opencode"}
OPENCODE_MARK = "// mem: written by mem init --opencode"


def targets(
    place: Place,
    names: Iterable[str],
    scopes: Iterable[str],
    top: Path | None,
    notes: list[str],
    *,
    remove: bool,
) -> list[Target]:
    """The files of these agents at these scopes (local, shared, user).

    An agent whose plug-in of mem is on gets none: its hooks would run twice.
    """
    places = [
        harness.settings_of(name, scope, place.root or Path(), place.environ)
        for name in names
        for scope in scopes
    ]
    found = []
    for each in places:
        on = "" if remove else harness.plugin(each.harness, place.root, place.environ)
        if on:
            notes.append(f"{NAMES[each.harness]} has the plug-in {on}, which calls mem: left alone")
            continue
        if not remove:
            notes += _doubled(place.root, place.environ, each)
        found.append(_target(each, top, place.home))
    return found


def _target(each: harness.Settings, top: Path | None, home: Path) -> Target:
    shared = each.scope == "shared" or (
        top is not None and each.path.exists() and harness.is_tracked(each.path, top)
    )
    name = NAMES[each.harness]
    next = f"start a new session of {name}: its hooks are read then"
    if each.harness == "codex":
        next = "approve the hooks in Codex, once: /hooks"
    made = Target(
        each.path,
        partial(agent_settings.with_hooks, harness=each.harness),
        agent_settings.without_hooks,
        (each.folder, home) if each.scope == "user" else (each.folder,),
        f"hooks of {name}",
        f"{next}; commit {each.path.name}" if shared else next,
        private=not shared and each.scope != "user",
        copied=True,
    )
    if each.harness == "opencode":
        return made._replace(put=_with_plugin, drop=_without_plugin, copied=False)
    return made


def _with_plugin(text: str | None) -> str:
    if text is not None and not text.startswith(OPENCODE_MARK):
        raise Left("not written by mem: left as it is")
    return (TEMPLATES / "opencode.js").read_text(encoding="utf-8")


def _without_plugin(text: str) -> str | None:
    return None if text.startswith(OPENCODE_MARK) else text


def _doubled(root: Path | None, environ: Mapping[str, str], each: harness.Settings) -> list[str]:
    """Where else the same agent finds hooks of mem: it would run both."""
    return [
        f"hooks of {NAMES[each.harness]} are in {other.path}, too, and may run twice:"
        f" mem init --{each.harness}{'' if other.scope == 'local' else f' --{other.scope}'} --remove"
        for other in harness.all_settings(root, environ)
        if other.harness == each.harness and other.path != each.path and calls_mem(other)
    ]


def calls_mem(each: harness.Settings) -> bool:
    """Whether a settings file has a call of mem; False when it cannot be read."""
    with suppress(UsageError, Unreadable, OSError):
        text = read_text(each.path) if each.path.exists() else ""
        if each.harness == "opencode":
            return text.startswith(OPENCODE_MARK)
        return bool(agent_settings.handlers(text))
    return False
