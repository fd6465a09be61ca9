"""Root, configuration, git, index, providers, and other memory that lies beside this
one."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

from memcli.app import App
from memcli.diagnostics.content import (
    TEMPORARY,
    Check,
    Repository,
    Scene,
    Status,
    text_of,
)
from memcli.errors import DataError, MemError
from memcli.history import FOLDER, path_of
from memcli.history.record import opened
from memcli.index.database import Index
from memcli.memory.values import listed
from memcli.memory.words import count
from memcli.project import elsewhere, git, levels_on_disk
from memcli.project.context import read_known
from memcli.providers.embed import Embedder
from memcli.providers.embed.wire import shown
from memcli.storage import sqlite
from memcli.storage.files import state_dir

ASKED_FOR = 3.0  # seconds that an embedder has to answer


def check_root(scene: Scene) -> Iterator[Check]:
    """Where the root is, and whether it can be written."""
    root = scene.app.project.root
    if root is None:
        hint = "run it inside a repository, or name one with --root"
        yield Check(
            name="root",
            status="INFO",
            detail="no project here: the global level alone is in view",
            hint=hint,
        )
    elif not os.access(root, os.W_OK):
        hint = "make it writable to add memory; recall works without"
        yield Check(
            name="root",
            status="WARN",
            detail="the root cannot be written",
            hint=hint,
            path=str(root),
        )
    else:
        yield Check("root", "PASS", str(root))
    state = state_dir()
    if not os.access(next(p for p in (state, *state.parents) if p.exists()), os.W_OK):
        hint = "make it writable: without it nothing can be written or undone"
        yield Check(
            name="state",
            status="WARN",
            detail="the state folder cannot be written",
            hint=hint,
            path=str(state),
        )


def check_configuration(scene: Scene) -> Iterator[Check]:
    """Faults of the configuration; each setting that is no default, with its origin."""
    settings = scene.app.project.settings
    for fault in settings.faults:
        found = re.fullmatch(r"(.*):(\d+)", fault.where, re.DOTALL)
        path, line = (found[1], int(found[2])) if found else (fault.where, 0)
        # Without the value: it may be a secret cut short, which nothing would
        # recognise.
        bare = re.fullmatch(r"(\w+) = .* cannot be used", fault.what, re.DOTALL)
        what = f"the value of {bare[1]} cannot be used" if bare else fault.what
        yield Check(
            name="configuration",
            status="FAIL",
            detail=what,
            hint=fault.hint,
            path=path,
            line=line,
        )
    if not settings.faults:
        yield Check("configuration", "PASS", "every key is known and allowed")
    for key, origin in settings.origins.items():
        if origin != "default":
            value = getattr(settings.config, key)
            value = shown(value) if key in ("embed_url", "store_url") else value
            text = (
                value
                if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False)
            )
            yield Check("setting", "INFO", f"{key} = {text} ({origin})")


def check_found(scene: Scene) -> Iterator[Check]:
    """What lies in found places, and what looks like memory and is not in view."""
    project = scene.app.project
    if found := sum(file.found for file in project.listing.files):
        what = f"{count(found, 'file')} that people or other tools keep, in view as they are"
        yield Check("found", "INFO", what)
    if project.root is not None and (
        more := elsewhere.others(project.root, project.listing)
    ):
        what = "looks like memory and is not in view: " + ", ".join(more[:20])
        yield Check(
            name="found",
            status="INFO",
            detail=what,
            hint=f"in .mem.toml: {elsewhere.line_for(more)}",
        )


def check_other_memory(scene: Scene) -> Iterator[Check]:
    """Other memory that lies beside this one."""
    root = scene.app.project.root
    home = scene.app.project.home
    folders = (
        levels_on_disk.claude_folders(root, home, scene.app.project.environ)
        if root
        else ()
    )
    for path in (folder / "MEMORY.md" for folder in folders):
        if (text := text_of(path)) is not None:
            lines = len(text.splitlines())
            size = len(text.encode())
            what = f"Claude Code keeps auto memory, too: {lines} lines, {size / 1000:.1f} KB"
            over = (
                lines > levels_on_disk.CLAUDE_LINES
                or size > levels_on_disk.CLAUDE_BYTES
            )
            hint = (
                "Claude Code reads its first 200 lines or 25 KB only: shorten it"
                if over
                else ""
            )
            yield Check(
                name="other-memory",
                status="INFO",
                detail=what,
                hint=hint,
                path=str(path),
            )
    for name, where in product(("memsearch", "claude-mem", "basic-memory"), ("~", ".")):
        base = home if where == "~" else root
        if base is not None and (base / f".{name}").exists():
            what = f"{name} keeps memory{' here' if where == '.' else ''}, too"
            yield Check(
                "other-memory", "INFO", what, path=f"{where}/.{name}".removeprefix("./")
            )


def check_history(scene: Scene) -> Iterator[Check]:
    """This repository's record, and those of repositories that are gone."""
    project = scene.app.project
    hint = "mem index --history"
    path = path_of(project.root)
    if not project.config.history:
        yield Check("history", "INFO", "switched off (history = false)")
    elif path is None or not path.exists():
        yield Check(
            name="history",
            status="INFO",
            detail="nothing of what was said and committed is kept yet",
            hint=hint,
        )
    else:
        yield _record(path)
    roots = {name: _root(name) for name in sorted((state_dir() / FOLDER).glob("*.db"))}
    if gone := [
        n for n, root in roots.items() if n != path and root and not os.path.isdir(root)
    ]:
        names = ", ".join(f"{each.stem} ({roots[each]})" for each in gone[:5])
        hint = f"in the repository's new place: {hint} --from KEY; else delete the file"
        what = f"{count(len(gone), 'record')} of repositories that are gone: {names}"
        yield Check(
            name="history", status="INFO", detail=what, hint=hint, path=str(gone[0])
        )


def _record(path: Path) -> Check:
    try:
        with opened(path, wait=2.0) as record:
            assert record is not None
            fault = sqlite.fault(record.db)
            counts = record.counts()
    except DataError as error:
        return Check(
            name="history",
            status="FAIL",
            detail=error.what,
            hint=error.hint,
            path=str(path),
        )
    if fault:
        hint = "move it away; mem index --history reads what agents still keep"
        return Check(
            name="history",
            status="FAIL",
            detail=f"the record is damaged: {fault}",
            hint=hint,
            path=str(path),
        )
    what = f"{count(counts['sessions'], 'session')} and {count(counts['commits'], 'commit')}"
    return Check("history", "PASS", what, path=str(path))


def _root(path: Path) -> str:
    with suppress(DataError), opened(path, wait=0.2) as record:
        return record.note("root") if record is not None else ""
    return ""


def check_git(scene: Scene) -> Iterator[Check]:
    """The work tree: what must not be tracked, what should be ignored, how memory
    merges."""
    repository = scene.repository
    if repository.top is None:
        what = "no git repository: what is remembered is not versioned"
        yield Check(name="git", status="INFO", detail=what, hint="git init")
    elif repository.fault:
        hint = "git status says more; recall works without git"
        yield Check(
            name="git",
            status="WARN",
            detail=repository.fault,
            hint=hint,
            path=str(repository.top),
        )
    else:
        yield Check("git", "PASS", f"work tree {repository.top}")
        yield from _tracked(scene)
        for name in repository.bare:
            what, path = (
                ("temporary files are", "") if name == TEMPORARY else ("is", name)
            )
            yield Check(
                name="ignored",
                status="WARN",
                detail=f"{what} not ignored by git",
                hint="mem doctor --fix",
                path=path,
            )
        if not repository.bare:
            yield Check("ignored", "PASS", "derived and private files are ignored")
        yield from _merge_driver(scene)


def _tracked(scene: Scene) -> Iterator[Check]:
    files = scene.app.project.listing.files
    bad = dict[str, str]()
    private = {
        "proxy.md",
        "proxy.archive.md",
        *(f.name for f in files if f.place.of == "proxy"),
    }
    for name in sorted(scene.repository.tracked):
        if os.path.basename(name).startswith(".memory.db"):
            bad[name] = "the index is tracked"
        elif name in private or name.startswith("proxy-tasks/"):
            bad[name] = "a proxy file, which is private, is tracked"
    for name, what in bad.items():
        yield Check(
            name="tracked",
            status="FAIL",
            detail=what,
            hint=f"git rm --cached {shlex.quote(name)}",
            path=name,
        )
    if not bad:
        yield Check("tracked", "PASS", "neither the index nor a proxy file is tracked")


def _merge_driver(scene: Scene) -> Iterator[Check]:
    repository = scene.repository
    why = driver_fault(repository)
    own = {file.name for file in scene.app.project.listing.files if not file.tree}
    if why:
        yield Check(
            name="merge-driver",
            status="WARN",
            detail=why,
            hint="mem init, or mem doctor --fix",
        )
    elif not repository.attribute and not own.isdisjoint(repository.tracked):
        what = "git merges the memory files line by line: .gitattributes does not name the driver"
        yield Check(name="merge-driver", status="WARN", detail=what, hint="mem init")
    else:
        none = "no memory file is tracked yet"
        what = "memory files merge by entry" if repository.attribute else none
        yield Check("merge-driver", "PASS", what)


def driver_fault(repository: Repository) -> str:
    """Why the driver that .gitattributes names cannot run, "" when it can or none is
    named."""
    if not repository.attribute:
        return ""
    if not repository.driver:
        return ".gitattributes names the merge driver, the git configuration does not know it"
    if repository.driver != git.DRIVER_COMMAND:  # which without mem is git's own merge
        return "the merge driver is not that of this mem: it may leave no markers"
    return (
        "" if shutil.which("mem") else "the merge driver does not find mem on your PATH"
    )


def check_worktrees(scene: Scene) -> Iterator[Check]:
    """Memory that stands only in another work tree of this repository."""
    others = list(_linked(scene))
    rows = [row for top, branch in others for row in _only_there(scene, top, branch)]
    yield from rows
    if others and not rows:
        what = f"no memory stands only in {count(len(others), 'other work tree')}"
        yield Check("worktrees", "PASS", what)


def _linked(scene: Scene) -> Iterator[tuple[Path, str]]:
    root = scene.app.project.root
    top = scene.repository.top
    common = (
        git.common_dir(top) if top is not None and not scene.repository.fault else None
    )
    if (
        root is None
        or top is None
        or common is None
        or not (common / "worktrees").is_dir()
    ):
        return
    listed = git.run(["worktree", "list", "--porcelain"], root).stdout
    trees = {file.tree for file in scene.app.project.listing.files} - {"~"}
    in_view = {
        os.path.realpath(path) for path in (top, *(root / tree for tree in trees))
    }
    for block in listed.split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in block.splitlines())
        path = os.path.realpath(fields.get("worktree", ""))
        if "bare" not in fields and os.path.isdir(path) and path not in in_view:
            branch = fields.get("branch", fields.get("HEAD", "")[:12])
            yield Path(path), branch.removeprefix("refs/heads/")


def _only_there(scene: Scene, top: Path, branch: str) -> Iterator[Check]:
    project = scene.app.project
    root = top / os.path.relpath(str(project.root), str(scene.repository.top))
    jobs = project.jobs_dirs
    globs = project.config.memory_files
    listing = levels_on_disk.list_files(root, project.home, jobs, globs)
    files = [f for f in listing.files if f.place.store in ("memory", "institutional")]
    found = read_known(project, (f for f in files if not f.tree), [])
    entries = [
        entry for document in scene.documents for entry in document.memory.entries
    ]
    known = {
        name for entry in entries for name in (entry.id, *listed(entry, "merged_from"))
    }
    lost = [
        (d, e)
        for d in found
        for e in d.memory.entries
        if e.identified and e.id not in known
    ]
    if lost:
        names = ", ".join(dict.fromkeys(document.path for document, _ in lost))
        number = count(len(lost), "entry stands", "entries stand")
        what = f"{number} only in that work tree: {names}"
        hint = f"git merge {shlex.quote(branch)}, before it is removed"
        yield Check(
            name="worktrees",
            status="WARN",
            detail=what,
            hint=hint,
            path=str(root / lost[0][0].path),
            line=lost[0][1].line,
        )


def check_index(scene: Scene) -> Iterator[Check]:
    """Whether the index can be used and is up to date."""
    if scene.index.there:
        yield Check("index", *_index_fault(scene), str(scene.index.path))
    else:
        hint = "mem index" if scene.app.project.listing.files else ""
        yield Check(
            name="index",
            status="INFO",
            detail="no index yet: the first recall builds it",
            hint=hint,
        )


def _index_fault(scene: Scene) -> tuple[Status, str, str]:
    state = scene.index
    folder = scene.index.path.parent
    if state.broken:
        what = f"the index cannot be used: {state.broken}"
        if os.access(folder, os.W_OK):
            return "WARN", what, "mem doctor --fix"
        return "FAIL", what, f"make {folder} writable, or name another file with MEM_DB"
    if state.busy:
        return (
            "WARN",
            "the index is locked by another process",
            "run mem doctor again later",
        )
    if state.behind and not _just_written(scene.app, state.behind):
        names = ", ".join(state.behind[:5]) + (" …" if len(state.behind) > 5 else "")
        what = f"{count(len(state.behind), 'file')} changed since it was built: {names}"
        return "WARN", what, "mem index (recall does it by itself)"
    return "PASS", "up to date", ""


def _just_written(app: App, behind: Sequence[str]) -> bool:
    last = app.workspace.last_write()
    written = (
        {os.path.realpath(patch.path): patch.before for patch in last.patches}
        if last
        else {}
    )
    paths = [Path(os.path.realpath(app.project.path_of(name))) for name in behind]
    return all(
        str(path) in written and text_of(path) == written[str(path)] for path in paths
    )


def _vectors(scene: Scene, name: str) -> Iterator[Check]:
    app = scene.app
    state = scene.index
    if not state.there or state.broken or state.busy or not app.project.listing.files:
        return
    path = str(state.path)
    with closing(Index(state.path, [], look=True)) as index:
        made, (have, should) = index.vectors.state(), index.vectors.count(app.chosen)
    if made is not None and made.name != name:
        what = f"the vectors in the index are of another model ({made.name})"
        yield Check(
            name="vectors",
            status="FAIL",
            detail=what,
            hint="mem index makes them anew",
            path=path,
        )
    elif have < should:
        what = f"{should - have} of {should} chunks have no vector"
        so: Status = "INFO" if app.embeds_here else "WARN"
        hint = (
            "mem index (recall does it by itself)" if app.embeds_here else "mem index"
        )
        yield Check(name="vectors", status=so, detail=what, hint=hint, path=path)
    else:
        yield Check("vectors", "PASS", f"all of {count(should, 'chunk')}")


def check_embedder(scene: Scene) -> Iterator[Check]:
    """Which embedder there is, whether it answers, and whether the index has its
    vectors."""
    embedder = scene.app.providers.embedder
    config = scene.app.project.config
    if embedder is None:
        yield Check(
            "embedder",
            "INFO",
            "switched off (embedder = none): words alone are searched",
        )
    else:
        yield _answers(embedder, config.embed_url)
        yield from _vectors(scene, f"{embedder.provider}/{embedder.model}")


def _answers(embedder: Embedder, url: str) -> Check:
    from memcli.providers.embed.local import Local

    where = f"{embedder.provider}/{embedder.model}" + (
        f" at {shown(url)}" if url else ""
    )
    try:
        if isinstance(embedder, Local):
            embedder.check()
        else:
            embedder.embed(["mem"], query=True, deadline=ASKED_FOR)
    except MemError as error:
        return Check(
            name="embedder",
            status="FAIL",
            detail=f"{where} does not answer: {error.what}",
            hint=error.hint,
        )
    return Check("embedder", "PASS", where)


def check_llm(scene: Scene) -> Iterator[Check]:
    """A key in the environment; with `--online`, whether the model answers."""
    from memcli.providers.llm import Ask

    environ = scene.app.project.environ
    llm = scene.app.project.config.llm
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        hint = (
            "" if scene.online or llm == "none" else "mem doctor --online asks it once"
        )
        what = f"an Anthropic API key is in the environment (never shown); llm = {llm}"
        yield Check(name="llm", status="INFO", detail=what, hint=hint)
    model = scene.app.providers.model if scene.online else None
    if model is not None:
        words = ("Answer in one word.", "Say yes.")
        model.ask(Ask(*words, max_tokens=1000, purpose="doctor", timeout=30))
        yield Check("llm", "PASS", f"llm = {llm} answers")
    elif scene.online:
        yield Check("llm", "INFO", "llm = none: there is no language model to ask")
