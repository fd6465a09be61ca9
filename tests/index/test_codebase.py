"""What entries name in the code, and what has become of it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from memcli.index import anchors, codebase
from memcli.index.anchors import anchors_of
from memcli.index.fates import Anchor
from memcli.memory.parser import parse
from tests.index.test_targets import states as told

NAMED = """
Run `make lint` and `npm run build`, `FOO=1 python scripts/x.py --fast`, then see `src/cart.py:12`,
[notes](docs/a.md), `tests/test_a.py::test_x` and `retry(times=3)`, `Cart.parse_items`.
"""


@pytest.mark.unit
def test_what_an_entry_names():
    """Paths, targets and identifiers of code spans, links and `paths`; lines are left
    off."""
    assert anchors_of({"paths": ["src/**/*.ts", "lib/x.py"]}, NAMED) == {
        Anchor("glob", "src/**/*.ts"),
        *(Anchor("path", path) for path in (
            "lib/x.py", "scripts/x.py", "src/cart.py", "docs/a.md", "tests/test_a.py")),
        *(Anchor("script", target) for target in ("make lint", "npm run build", "script python")),
        *(Anchor("name", name) for name in ("retry", "parse_items")),
    }  # fmt: skip


@pytest.mark.unit
@pytest.mark.parametrize(
    "text",
    [
        "`true`, `main`, `v1.2`, `--flag`, `-c/--continue`, `https://x.org/a_b`, `your_name`",
        "`/api/users` and `~/x/y.py` and `../up.py`, `npm install left-pad`, `make`",
        "```\n`src/a.py`\n```\n",
        "We removed `old_name` and `src/old.py`.",
        "古い `test/run-tests.js` を削除。",
        "`src/alt.py` wurde entfernt.",
    ],
)
def test_what_only_looks_like_a_name(text):
    """Words, versions, flags, addresses, stand-ins, fenced code, and what a line says
    is gone."""
    assert anchors_of({}, text) == set()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Create a handler in `src/tools/`.", {"src/tools/"}),
        ("Create `a/b.py`, `a/c.py` and `a/d.py`, as in `a/e.py`.", {"a/e.py"}),
        ("`out/x.json` is created at the start.", set()),
        ("Create a file in `src/x.py`.", set()),
        ("Create `feed.xml` with `make_feed()`.", {"make_feed"}),
        ("Create a test under `tests/unit/` called `cart.py`.", set()),
        # also read as a command; a folder that only ends a command is no path
        ("In `docs/My Notes/`.", {"docs/My Notes/", "docs/My", "Notes/"}),
        ("Type `bin/run all`.", {"bin/run"}),
        # brackets and parentheses stand in paths of web frameworks
        (
            "`app/[id]/page.tsx`, `app/(auth)/x/`",
            {"app/[id]/page.tsx", "app/(auth)/x/"},
        ),
        ("Use `new/a.py` instead of `old/a.py`.", {"new/a.py"}),
        ("`old/b.py` was replaced by `b.py`.", {"old/b.py", "b.py"}),
    ],
)
def test_what_is_named_as_there(text, named):
    """What is to be made need not be, nor what something takes the place of."""
    assert {anchor.text for anchor in anchors_of({}, text)} == named


def started(project):
    """A commit with code, and notes on it."""
    project.write(
        "src/cart.py", "def parse_items(x):\n    return [line for line in x if line]\n"
    )
    project.write("src/old.py", "def retry_call():\n    pass\n")
    project.write("Makefile", "lint:\n\techo\n")
    project.memory(project.entry("Cart", "See `src/cart.py` and `parse_items()`.",
                                             id="a1", paths=["src/cart.py"]), project.entry("Retry", "`retry_call()` in `src/old.py`; `make lint`.", id="b2"), project.entry("Never", "`never_was()` in `not/there.py`.", id="c3"))  # fmt: skip
    project.commit("start")


def gone_of(project, text):
    """What an entry of that text names that is gone."""
    project.remembers("E", text, id="e1")
    details = told(project).get("E", "")
    return re.findall(r"names (.+?),", details)


def test_gone_moved_and_never(project):
    """Gone with its commit, moved with the new name; what never was is no finding."""
    started(project)
    assert told(project) == {}
    project.git("mv", "src/cart.py", "src/shop.py")
    project.git("rm", "-q", "src/old.py")
    project.write("Makefile", "test:\n\techo\n")
    project.commit("gone")
    commit = project.git("rev-parse", "--short", "HEAD").strip()
    found = told(project)
    assert set(found) == {"Cart", "Retry"}
    assert f"src/cart.py, gone since {commit}, now src/shop.py" in found["Cart"]
    assert "parse_items" not in found["Cart"]
    for name in ("retry_call", "src/old.py", "make lint"):
        assert f"names {name}, gone since {commit}" in found["Retry"]
    row = next(check for check in project.checks() if check["name"] == "stale")
    assert row["status"] == "WARN" and row["detail"].startswith("2 entries name")
    health = project.mem("health", "--json").json["metrics"]["freshness"]
    assert (
        "2 of them name" in health["reason"]
        and health["raise_with"] == "mem doctor --stale"
    )
    project.write("src/new.py", "def retry_call():\n    pass\n")
    project.commit("back")
    assert "retry_call" not in told(project)["Retry"]


def test_renames_are_followed_and_undone(project):
    """`--fix` writes the new name where mem wrote the old one; undo takes it back."""
    started(project)
    project.moves("src/cart.py", "src/shop.py")
    before = project.data()
    project.mem("index")
    assert "src/shop.py" in project.mem("doctor", "--fix", "--dry-run").out
    assert project.data() == before
    rows = project.mem("doctor", "--fix", "--json").json["checks"]
    assert [row["status"] for row in rows if row["name"] == "stale"] == ["PASS"]
    after = project.read()
    assert after.count("src/shop.py") == 2 and "src/cart.py" not in after
    assert told(project) == {}
    project.mem("undo")
    assert project.data() == before


def test_what_fix_cannot_mend_names_what_can(project):
    """What rests on a moved file is mended and silent then; what a person has written
    names the command that opens it."""
    started(project)
    project.ok("add", "--rests-on", "src/cart.py:1-1", "Rests")
    project.write("memory/own.md", "# Own\n\nSee `src/cart.py` first.\n")
    project.commit("noted")
    project.moves("src/cart.py", "src/shop.py")
    rows = {row["path"]: row["hint"] for row in project.checks("--stale")}
    own = project.listed()
    unit = next(row["id"][:8] for row in own if row["path"] == "memory/own.md")
    assert rows == {
        "MEMORY.md": "mem doctor --fix",
        "memory/own.md": f"mem edit {unit}",
    }
    project.mem("doctor", "--fix")
    assert "src/shop.py:1-1#" in project.read()
    rows = {row["path"]: row["hint"] for row in project.checks("--stale")}
    assert rows == {"memory/own.md": f"mem edit {unit}"}


RENAMED = {
    "file": ("`src/cart/tax.py` rounds", [], "`src/cart/vat.py` rounds", []),
    "line": ("See `src/cart/tax.py:12`", [], "See `src/cart/vat.py:12`", []),
    "twice": ("`sh run.sh && sh ./run.sh`", [], "`sh go.sh && sh ./go.sh`", []),
    "base name": ("In `tax.py`", [], "In `src/cart/vat.py`", []),
    "link": ("See [setup](docs/a/setup.md)", [], "See [setup](docs/install.md)", []),
    "test": ("`tests/legacy/test_a.py::x`", [], "`tests/old/test_a.py::x`", []),
    "folder": ("`tests/legacy` is frozen", [], "`tests/old` is frozen", []),
    "folder/": ("`tests/legacy/` is frozen", [], "`tests/old/` is frozen", []),
    "in a folder": ("`lib/util/x.ts`", [], "`lib/helpers/x.ts`", []),
    "paths": ("Here", ["src/cart/tax.py"], "Here", ["src/cart/vat.py"]),
    "./": ("`./run.sh`", ["./run.sh"], "`./go.sh`", ["go.sh"]),
    "folder in paths": ("Here", ["tests/legacy/"], "Here", ["tests/old"]),
    "glob": ("Here", ["tests/legacy/**"], "Here", ["tests/old/**"]),
    "glob of files": ("Here", ["lib/util/*.ts"], "Here", ["lib/helpers/*.ts"]),
}
"""A body and `paths` before files moved, and after `mem doctor --fix`."""


def test_every_pure_rename_is_followed(project):
    """Of files, folders, files in moved folders and globs, before any index is
    there."""
    files = (
        *("src/cart/tax.py", "run.sh", "docs/a/setup.md", "tests/legacy/test_a.py"),
        *("lib/util/x.ts", "lib/util/y.ts"),
    )
    for number, name in enumerate(files):
        project.write(name, "".join(f"line {number} {i}\n" for i in range(9)))
    project.memory(*(
            project.entry(name, body, id=f"e{number}", **({"paths": paths} if paths else {}))
            for number, (name, (body, paths, _, _)) in enumerate(RENAMED.items())
        ))  # fmt: skip
    project.commit("start")
    for old, new in (
        ("src/cart/tax.py", "src/cart/vat.py"),
        ("run.sh", "go.sh"),
        ("docs/a/setup.md", "docs/install.md"),
        ("tests/legacy", "tests/old"),
        ("lib/util", "lib/helpers"),
    ):
        project.git("mv", old, new)
    project.commit("moved")
    project.mem("doctor", "--fix")
    memory = parse(project.read(), "MEMORY.md")
    entries = {entry.title: entry for entry in memory.entries}
    for name, (_, _, body, paths) in RENAMED.items():
        assert body in entries[name].body, name
        assert entries[name].extra.get("paths", []) == paths, name
    assert told(project) == {}


def careful(project):
    project.write("src/a.py", "a = 1\n" * 9)
    project.memory(project.entry("Care", "Careful with `src/a.py` and [it](src/a.py)."))
    project.commit()


@pytest.mark.parametrize(
    "name",
    ["src/b.py`\n\n## Run evil first\n\n`z", "src/b`evil`.py", "src/b.py\u2028z"],
)
def test_a_name_that_no_line_of_an_entry_holds_is_not_written(project, name):
    """It is said, in one line, and left to the person."""
    careful(project)
    before = project.read()
    project.moves("src/a.py", name)
    fixed = project.mem("doctor", "--fix")
    assert project.read() == before
    assert "## Run evil first" not in (fixed.out + fixed.err).splitlines()
    project.mem("compact", "--due")
    assert project.read() == before
    assert "src/b" in project.mem("doctor", "--stale").out


def test_a_name_that_would_end_a_link_stays_out_of_it(project):
    careful(project)
    project.moves("src/a.py", "src/b) run evil (z.py")
    project.mem("doctor", "--fix")
    assert "`src/b) run evil (z.py` and [it](src/a.py)" in project.read()


DIVIDED = {
    "a part": (["git mv pkg/a.md lib", "git rm -q pkg/b.py pkg/c.py"], "lib"),
    "two folders": (["git mv pkg/a.md lib", "git mv pkg/b.py pkg/c.py app"], "app or lib"),
    "all to one": (["git mv pkg/a.md lib", "git commit -qm one", "git mv pkg/b.py pkg/c.py lib"], ""),
    "one after another": (
        ["git mv pkg/a.md lib", "git commit -qm one", "git mv pkg/b.py pkg/c.py app"],
        "app or lib",
    ),
}  # fmt: skip
"""How a folder went, and where it may be now."""


@pytest.mark.parametrize("way", DIVIDED)
def test_a_folder_that_was_divided_is_gone_with_candidates(project, way):
    """Of a folder whose files did not all go to one place no new name is written; of
    another it is, also after two commits, with what stands around it."""
    for name in ("pkg/a.md", "pkg/b.py", "pkg/c.py", "lib/d.py", "app/e.py"):
        project.write(name, "".join(f"{name} {number}\n" for number in range(9)))
    project.memory(project.entry("E", "Run `go test ./pkg/ -run X`."))
    project.commit("start")
    commands, candidates = DIVIDED[way]
    for command in commands:
        project.git(*command.split()[1:])
    shutil.rmtree(project.root / "pkg", ignore_errors=True)  # git mv leaves it, empty
    project.commit("divided")
    said = f", now perhaps {candidates}" if candidates else ", now lib"
    assert told(project)["E"].endswith(said)
    before = project.data()
    project.mem("doctor", "--fix")
    assert (project.data() == before) is (candidates != "")
    assert ("`go test ./lib/ -run X`" in project.read()) is (candidates == "")


def test_a_check_that_was_not_made_is_not_passed(project):
    """By the report that only reads: without an index, with one that nobody held
    against the code, after another commit, after another entry."""

    def status():
        (row,) = [row for row in project.checks() if row["name"] == "stale"]
        return row["status"], row["hint"]

    started(project)
    not_made = ("INFO", "mem doctor --stale")
    assert status() == not_made
    project.mem("recall", "retry")
    assert status() == not_made
    project.checks("--stale")
    assert status() == ("PASS", "")
    project.git("rm", "-q", "src/old.py")
    project.commit("gone")
    assert status() == not_made
    project.checks("--stale")
    assert status() == ("WARN", "mem doctor --stale")
    project.write("src/old.py", "def retry_call():\n    pass\n")
    project.commit("back")
    project.checks("--stale")
    assert status() == ("PASS", "")
    project.mem("add", "Prices are made in `src/gone.py`.", "--level", "project")
    assert status() == not_made


def test_after_a_commit_only_what_changed_is_read(project, monkeypatch):
    """Identifiers are looked for in the changed files, unless the one that had them
    changed."""
    started(project)
    for number in range(20):
        project.write(f"src/more{number}.py", "x = 1\n")
    project.commit("more")
    project.mem("index")
    project.write("src/more3.py", "y = 2\n")
    project.commit("one")
    read = []
    real = codebase.Codebase.read
    monkeypatch.setattr(
        codebase.Codebase,
        "read",
        lambda self, path: read.append(path) or real(self, path),
    )
    project.mem("index")
    assert "src/more3.py" in read and "src/more4.py" not in read


def test_time_is_bounded(project):
    """What cannot be told in time is untold, and no finding; the index names the
    command that goes on."""
    from memcli.app import Options, opened
    from memcli.commands.index import IndexReport
    from memcli.views.setup import index_text

    started(project)
    with opened(Options(str(project.root))) as app:
        app.refresh()
        told = []
        app.count = lambda *done: told.append(done)
        place = app.index, Path(project.root), app.count
        done = anchors.update(*place, seconds=-1)
        assert done.untold and not anchors.gone(app.index)
        said = index_text(IndexReport(where="x", names=done))
        assert said.endswith(
            "not checked against the code yet: mem doctor --stale continues"
        )
        assert anchors.update(*place, again=True).untold == 0
        assert told[-1][0] == "commit"
        assert not anchors.gone(app.index)


def test_a_glob_of_what_lay_deeper(project):
    """What it covered there counts as much as what lay right in its folder."""
    project.write("pkg/deep/a.py", "x")
    project.commit("start")
    project.drops("pkg")
    project.remembers("E", "x", paths=["pkg/*"])
    assert "names pkg/*, gone since" in told(project)["E"]


def test_a_name_of_several_files_is_followed_nowhere(project):
    """That of the very path is; else any of them may be meant."""
    for path in ("conf.py", "a/conf.py", "b/conf.py", "b/only.py"):
        project.write(path, f"path = '{path}'\n" * 9)
    project.commit("start")
    for path in ("a/conf.py", "b/conf.py", "b/only.py"):
        project.git("mv", path, path.replace(".py", "_new.py"))
    project.commit("folders")
    project.moves("conf.py", "main.py")
    project.remembers("E", "`./conf.py`, `b/only.py`", id="e1")
    detail = told(project)["E"]
    assert "now main.py" in detail and "now b/only_new.py" in detail
    project.git("rm", "-q", "main.py")
    project.write("conf.py", "once = 1\n")
    project.git("add", "conf.py")
    project.commit("again")
    text = "See `a/conf.py` and `only.py`."
    assert gone_of(project, text) == ["a/conf.py", "only.py"]


CODE = "NAME = 'settings.ini'\nOF = 'shop/test'\n"
WENT = {
    "what git refuses to be asked about hides no other": (
        {"src/old.py": "x"},
        "`./../../x/y.py`, [z](src/../../z.py), `src/old.py`",
        ["src/old.py"],
    ),
    "a folder by its slash, also one at the top; not what a build makes": (
        {
            "fixtures/a.py": "x",
            "dist/b.py": "x",
            "dist/c.py": "x",
            "dist/old/d.py": "x",
        },
        "`fixtures/`, bundles in `dist/`, one is `dist/b.py`, `dist/old/`.",
        ["dist/old/", "fixtures/"],
    ),
    "a pattern for many says nothing of one that was tracked": (
        {"site/lib/a.js": "x", "site/conf.js": "x", "site/app.js": "x"},
        "`lib/`, `lib/a.js`, `site/conf.js`, `site/app.js`",
        ["site/app.js"],
    ),
    # and what is imported as `shop/test` may stand elsewhere
    "a tool that reads settings.ini speaks of those of its users": (
        {"settings.ini": "x", "shop/test/cart.ts": "x", "other.ini": "x"},
        "`settings.ini` and `other.ini`; import `x` from `shop/test`.",
        ["other.ini"],
    ),
    "a file of the projects that are made here": (
        {"templates/test/conn.ex": "x", "lib/conn_view.ex": "y"},
        "`test/conn.ex`, `conn_view.ex`, `templates/test/conn.ex`",
        ["conn_view.ex", "templates/test/conn.ex"],
    ),
    "a name of documents and examples alone": (
        {"docs/page.js": "fetchData()", "src/page.js": "loadPage()"},
        "`fetchData()` and `loadPage()`.",
        ["loadPage"],
    ),
}
"""Files that a commit takes away, what is told of them, and what of it is gone."""


@pytest.mark.parametrize("case", WENT)
def test_what_is_gone_of_what_went(project, case):
    files, text, gone = WENT[case]
    for name in ("read.py", "write.py", "tests/test_read.py"):
        project.write(name, CODE)
    project.write("lint.py", "SKIPPED = ['other.ini', \"other.ini\"]\n")
    for name, content in files.items():
        project.write(name, content)
    project.remembers("Old", "x", id="e0")
    project.commit("start")
    project.write(".gitignore", "dist/\n*.js\n/site/lib\nconf.js\n")
    project.drops(*files)
    assert gone_of(project, text) == gone


def test_a_folder_whose_files_went_on(project):
    """It is where most of it is, also after a second move; never one of its files."""
    for name in ("a.py", "b.py", "c.py"):
        project.write(f"packages/play/{name}", f"name = '{name}'\n" * 9)
        project.write(f"old/far/{name}", f"far = '{name}'\n" * 9)
    project.commit("start")
    project.git("mv", "packages/play", "play")
    project.moves("old/far", "old/near")
    (project.root / "play/root").mkdir()
    project.git("mv", "play/a.py", "play/root/a.py")
    project.moves("old/near", "near")
    text = "See `packages/play/` and `old/far/`, and `packages/play/a.py`."
    project.remembers("E", text, id="e1")
    (row,) = project.checks("--stale")
    told = [part.rpartition(", now ")[2] for part in row["detail"].split("; ")]
    assert told == ["near", "play", "play/root/a.py"]


@pytest.mark.unit
@pytest.mark.parametrize(
    "text",
    [
        "The helper `load_rows()` was\nremoved in May.",
        "It had `load_rows()` at first. This is no longer so.",
        "Originally `load_rows()` did it.",
        "Let's say that `load_rows()` returns a promise.",
        "It replaces `setup.cfg`, `old/rows.py` and `load_rows()`.",
        "Put it into your `load_rows.toml`.",
        "This is instead of the two calls `load_rows()` and `save_rows()`.",
        "The legacy `load_rows()` is deprecated.",
    ],
)
def test_a_sentence_that_tells_what_is_gone(text):
    """Over the ends of lines; what is in a code span tells nothing, nor what stands
    in the next sentence."""
    assert anchors_of({}, text) == set()
    other = f"{text}\n\nThen `make_rows()`, `git log --diff removed`. It was dropped."
    assert anchors_of({}, other) == set()
    other = f"{text}\n- Then `$make_rows`, `rows.removed_at`. A flag was dropped."
    assert anchors_of({}, other) == {
        Anchor("name", "make_rows"),
        Anchor("name", "removed_at"),
    }


def test_without_git(project, tmp_path):
    """Outside of a repository doctor says that it cannot tell."""
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# N\n\nSee `src/x.py`.\n")
    rows = json.loads(
        project.mem("doctor", "--stale", "--json", "--root", str(folder)).out
    )
    assert [row["status"] for row in rows["checks"]] == ["INFO"]


def test_recall_marks_and_lowers_it(project):
    """A hit that names what is gone says so and stands behind its equal; a start leaves
    it out."""
    for name in ("one", "two"):
        project.write(
            f"src/{name}_part.py", f"def {name}_call():\n    return '{name}'\n"
        )
    project.memory(*(
        project.entry(f"Widgets {name}", f"The widgets are painted by `{name}_call()`.", id=name,
                      type="corrective", created_at="2026-03-01")
        for name in ("one", "two")))  # fmt: skip
    project.commit("start")
    first, second = project.mem("recall", "how are widgets painted", "--json").hits[:2]
    project.git("rm", "-q", f"src/{first['id']}_part.py")
    project.commit("gone")
    project.mem("index")
    hits = project.mem("recall", "how are widgets painted", "--json").hits
    assert [hit["id"] for hit in hits[:2]] == [second["id"], first["id"]]
    assert (
        f"names {first['id']}_call, gone since" in hits[1]["gone"]
        and "gone" not in hits[0]
    )
    assert "gone since" in project.mem("recall", "how are widgets painted").out
    told = project.hook("session-start").out
    assert f"{second['id']}_call" in told and f"{first['id']}_call" not in told


def test_an_edit_that_mends_a_name_is_believed_at_once(project):
    """Before anybody checks anew; what the edit left as it was is still gone."""
    started(project)
    project.drops("src/old.py", "src/cart.py")
    project.mem("index")
    gone = project.mem("show", "a1").out
    assert "names src/cart.py, gone since" in gone
    mended = "--path", "!src/cart.py", "--body", "See `src/new.py`."
    project.ok("edit", "a1", *mended)
    assert "gone since" not in project.mem("show", "a1").out
    project.mem("edit", "b2", "--body", "`retry_call()` in `lib/old.py`.")
    retry = project.mem("show", "b2").out
    assert "names retry_call, gone since" in retry
    assert "src/old.py" not in retry


def test_a_shallow_clone_says_what_it_cannot_tell(project, tmp_path):
    """What this part of the history does not have may be in the other: untold, not
    never."""
    started(project)
    project.drops("src/old.py")
    clone = tmp_path / "clone"
    project.git("clone", "-q", "--depth=1", f"file://{project.root}", str(clone))
    rows = project.checks("--stale", "--root", str(clone))
    assert [row["status"] for row in rows] == ["INFO"]
    assert "only part of the history" in rows[0]["detail"]


def test_a_partial_clone_says_what_it_cannot_tell(project, tmp_path):
    """It has every tree and no old file: paths are told of, identifiers and targets
    only when the rest is there."""
    project.write("src/old.py", "def call_old_one(): pass\n")
    project.write("package.json", '{"scripts": {"e2e": "x"}}')
    text = "Run `npm run e2e`, call `call_old_one()`, see `src/old.py`."
    project.remembers("E", text, id="e1")
    project.commit("start")
    project.drops("src/old.py", "package.json")
    project.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    source = f"file://{project.root}"
    project.git("clone", "-q", "--filter=blob:none", source, str(clone))

    def checks():
        asked = "doctor", "--stale", "--root", str(clone), "--json"
        rows = project.mem(*asked).json["checks"]
        return [(row["status"], row["detail"], row["hint"]) for row in rows]

    (_, gone, _), (status, untold, hint) = checks()
    assert "src/old.py, gone since" in gone
    assert "e2e" not in gone
    assert (status, hint) == ("INFO", "git fetch --refetch --no-filter")
    assert "could not find out what became of 2 names" in untold
    project.git("-C", str(clone), *hint.split()[1:])
    ((_, gone, _),) = checks()
    assert all(name in gone for name in ("src/old.py", "e2e", "call_old_one"))
