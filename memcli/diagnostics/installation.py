"""Root, configuration, git, index, providers, and other memory beside this one."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from memcli.diagnostics.scene import (
    Check,
    Scene,
    failure,
    passed,
    remark,
    text_of,
    warning,
)
from memcli.errors import DataError
from memcli.history.record import opened
from memcli.memory.words import count
from memcli.project import elsewhere, levels_on_disk, roots
from memcli.project.config import Settings
from memcli.project.listing import CLAUDE_BYTES, CLAUDE_LINES
from memcli.project.record import FOLDER, path_of
from memcli.providers.embed.wire import shown
from memcli.storage import sqlite
from memcli.storage.files import state_dir
from memcli.user_folders import VARIABLES, moved_to


def check_root(scene: Scene) -> Iterator[Check]:
    """Where the root is, and whether it is writable."""
    root = scene.app.project.root
    if root is None:
        hint = "run it inside a repository, or name one with --root"
        repository = roots.passed_over(scene.app.project.cwd)
        if repository:
            detail = f"{repository.reason}: only the global level is in view"
            yield warning("root", detail, hint=repository.advice)
        else:
            detail = "no project here: only the global level is in view"
            yield remark("root", detail, hint=hint)
    elif not os.access(root, os.W_OK):
        hint = "make it writable to add memory; recall works anyway"
        yield warning("root", "the root is not writable", hint=hint, path=str(root))
    else:
        yield passed("root", str(root))
    state = state_dir()
    nearest = next(path for path in (state, *state.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        hint = "make it writable: otherwise nothing can be written or undone"
        yield warning(
            "state", "the state folder is not writable", hint=hint, path=str(state)
        )


def check_configuration(scene: Scene) -> Iterator[Check]:
    """Errors in the configuration; each setting that is not a default, with its
    origin."""
    settings = scene.app.project.settings
    for fault in settings.faults:
        place = re.fullmatch(r"(.*):(\d+)", fault.where, re.DOTALL)
        # Leave out the value: it may be part of a secret, which no rule would
        # recognise.
        bare = re.fullmatch(r"(\w+) = .* cannot be used", fault.what, re.DOTALL)
        detail = f"the value of {bare[1]} cannot be used" if bare else fault.what
        yield failure(
            "configuration",
            detail,
            hint=fault.hint,
            path=place[1] if place else fault.where,
            line=int(place[2]) if place else 0,
        )
    if not settings.faults:
        yield passed("configuration", "all keys are known and allowed")
    environ = scene.app.project.environ
    for name in VARIABLES:
        if environ.get(name, "").strip() and not moved_to(name, environ):
            hint = f"unset {name}, or set it to a path that begins with /"
            detail = f"{name} is a relative path, and is ignored"
            yield warning("configuration", detail, hint=hint)
    yield from _settings(settings, are_defaults=False)


def check_defaults(scene: Scene) -> Iterator[Check]:
    """Each setting that is a default."""
    return _settings(scene.app.project.settings, are_defaults=True)


def _settings(settings: Settings, *, are_defaults: bool) -> Iterator[Check]:
    for key, origin in settings.origins.items():
        if (origin == "default") is not are_defaults:
            continue
        value = getattr(settings.config, key)
        text = value
        if not isinstance(value, str):
            text = json.dumps(value, ensure_ascii=False)
        elif key in ("embed_url", "store_url"):
            text = shown(value)
        yield remark("setting", f"{key} = {text} ({origin})")


def check_found(scene: Scene) -> Iterator[Check]:
    """Files in found places, and files that look like memory but are not in view."""
    project = scene.app.project
    found = sum(file.found for file in project.listing.files)
    if found:
        files = count(found, "file")
        detail = f"{files} that people or other tools keep, in view as they are"
        yield remark("found", detail)
    root = project.root
    others = elsewhere.others(root, project.listing) if root is not None else ()
    if others:
        detail = f"looks like memory but is not in view: {', '.join(others[:20])}"
        yield remark(
            "found", detail, hint=f"in .mem.toml: {elsewhere.line_for(others)}"
        )


def check_other_memory(scene: Scene) -> Iterator[Check]:
    """Other tools' memory beside this one."""
    root = scene.app.project.root
    home = scene.app.project.home
    if root is not None:
        environ = scene.app.project.environ
        for folder in levels_on_disk.claude_folders(root, home, environ):
            yield from _auto_memory(folder / "MEMORY.md")
    for name in ("memsearch", "claude-mem", "basic-memory"):
        if (home / f".{name}").exists():
            detail = f"{name} has its own memory"
            yield remark("other-memory", detail, path=f"~/.{name}")
        if root is not None and (root / f".{name}").exists():
            detail = f"{name} has its own memory here"
            yield remark("other-memory", detail, path=f".{name}")


def _auto_memory(path: Path) -> Iterator[Check]:
    text = text_of(path)
    if text is None:
        return
    lines = len(text.splitlines())
    size = len(text.encode())
    is_long = lines > CLAUDE_LINES or size > CLAUDE_BYTES
    shorten = "Claude Code reads only its first 200 lines or 25 KB: shorten it"
    yield remark(
        "other-memory",
        f"Claude Code has its own auto memory: {lines} lines, {size / 1000:.1f} KB",
        hint=shorten if is_long else "",
        path=str(path),
    )


def check_history(scene: Scene) -> Iterator[Check]:
    """This repository's history; if there is none, the history of missing repositories,
    since this one may have been moved."""
    project = scene.app.project
    hint = "mem index --history"
    path = path_of(project.root)
    if not project.config.history:
        yield remark("history", "switched off (history = false)")
    elif path is None or not path.exists():
        message = "no chats or commits are indexed yet"
        yield remark("history", message, hint=hint)
        yield from _orphaned()
    else:
        yield _record(path)


def _orphaned() -> Iterator[Check]:
    """One row for the history of missing repositories."""
    orphaned = {}
    for record in sorted((state_dir() / FOLDER).glob("*.db")):
        root = _root(record)
        if root and not os.path.isdir(root):
            orphaned[record] = root
    if orphaned:
        records_named = [f"{record.stem} ({root})" for record, root in orphaned.items()]
        records = f"{count(len(orphaned), 'record')} of repositories that are gone"
        yield remark(
            "history",
            f"{records}: {', '.join(records_named[:5])}",
            hint="moved from there: mem index --history --from KEY; if nobody needs it, delete the file",
            path=str(next(iter(orphaned))),
        )


def _record(path: Path) -> Check:
    try:
        with opened(path, wait=2.0) as record:
            assert record is not None
            fault = sqlite.fault(record.db)
            counts = record.counts()
            sessions_out = record.forgotten("session")
            commits_out = record.forgotten("commit")
    except DataError as error:
        return failure("history", error.what, hint=error.hint, path=str(path))
    if fault:
        hint = "move it away; mem index --history reads what agents still have"
        return failure(
            "history",
            f"the history file is damaged: {fault}",
            hint=hint,
            path=str(path),
        )
    detail = f"{count(counts['sessions'], 'session')} and {count(counts['commits'], 'commit')}"
    if not (sessions_out or commits_out):
        return passed("history", detail, path=str(path))
    out = f"{count(sessions_out, 'session')} and {count(commits_out, 'commit')}"
    detail += f"; forgotten, so not read again: {out}"
    hint = (
        "mem index --history --rebuild reads the commits again" if commits_out else ""
    )
    return remark("history", detail, hint=hint, path=str(path))


def _root(path: Path) -> str:
    with suppress(DataError), opened(path, wait=0.2) as record:
        return record.note("root") if record is not None else ""
    return ""


def check_llm(scene: Scene) -> Iterator[Check]:
    """Whether a key is in the environment; with `--online`, whether the model
    answers."""
    from memcli.providers.llm import Ask

    environ = scene.app.project.environ
    llm = scene.app.project.config.llm
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        can_ask = not scene.online and llm != "none"
        hint = "mem doctor --online asks it once" if can_ask else ""
        key = "an Anthropic API key is in the environment (never shown)"
        yield remark("llm", f"{key}; llm = {llm}", hint=hint)
    if not scene.online:
        return
    model = scene.app.providers.model
    if model is None:
        yield remark("llm", "llm = none: no language model is configured")
    else:
        question = Ask(
            system="Answer in one word.",
            prompt="Say yes.",
            max_tokens=1000,
            purpose="doctor",
            timeout=30,
        )
        model.ask(question)
        yield passed("llm", f"llm = {llm} answers")
