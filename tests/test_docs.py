"""The pages in docs/ say what is true: what drifts from the program fails here."""

import re
import sys

import pytest

from memcli import Memory
from memcli.cli.program import GROUPS, commands, write_help
from memcli.errors import MemError
from memcli.memory.entry_values import CORE_KEYS
from memcli.memory.parser import parse, sections
from memcli.memory.values import KINDS, LEVELS, PRIORITIES, STATUSES, STORES, TYPES
from memcli.project import config
from tests.bench import figures
from tests.docs import console, generate
from tests.programs import finished

DOCS = generate.ROOT / "docs"
PAGES = sorted(
    [generate.ROOT / "README.md", generate.ROOT / "CHANGELOG.md", *DOCS.glob("*.md")]
)
CONSOLE = [path for path in PAGES if "```console" in path.read_text(encoding="utf-8")]


def name(path):
    return path.name


def text(page):
    return (DOCS / page).read_text(encoding="utf-8")


def test_generated_parts_are_up_to_date():
    """What cog would write into the pages stands there already; figures of changed code
    are marked."""
    flags = f"'--check', '--check-fail-msg={generate.REGENERATE}'"
    code = f"import sys; from tests.docs import generate; sys.exit(generate.run_cog({flags}))"
    finished(sys.executable, "-c", code, cwd=generate.ROOT)


def test_the_example_is_sound(tmp_path):
    """In the example, all of it tracked as it is here, doctor finds no failure."""
    line = "git init -q && git add . && mem doctor --root docs/example/shop | cut -f1"
    [rows] = console.run([line], tmp_path, console.world(tmp_path))
    assert "PASS" in rows and "FAIL" not in rows


def test_the_readme_says_one_size_of_an_install():
    """Its sentence has what its table has."""
    size = "{packages} packages and {megabytes} MB of files"
    assert size.format_map(figures.load()["install"]["values"]) in text("../README.md")


@pytest.mark.parametrize("command", list(commands()))
def test_command_is_documented(command):
    """Every command has a section, and a row in the table at the top."""
    assert f"\n## `mem {command}`\n" in text("commands.md")
    assert f"| [`mem {command}`](#mem-{command}) |" in text("commands.md")


@pytest.mark.parametrize("key", list(config.Config._fields))
def test_configuration_key_is_documented(key):
    """Every key has a row with its default."""
    row = next(
        line
        for line in text("commands.md").splitlines()
        if line.startswith(f"| `{key}` |")
    )
    assert generate._toml(getattr(config.Config(), key)) in row


@pytest.mark.parametrize(
    "error", MemError.__subclasses__(), ids=lambda error: error.__name__
)
def test_exit_code_is_documented(error):
    """Every error's code has a row."""
    assert f"\n| {error.code} | " in text("commands.md")


def test_the_guide_names_the_methods_of_python():
    """All of them, and no other."""
    [line] = re.findall(r"\*\*Python\.\*\* (.*) are methods", text("guide.md"))
    public = [method for method in vars(Memory) if not method.startswith("_")]
    assert re.findall(r"`(\w+)`", line) == public


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_somewhere(path):
    """A relative link names a file of the repository, its anchor a heading there."""
    page = without_code(path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", page):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        other = (path.parent / file).resolve() if file else path
        assert other.exists(), target
        assert other.is_relative_to(generate.ROOT), target
        if anchor:
            assert anchor in anchors(other), target


def without_code(page):
    return re.sub(r"^(`{3,})[^`\n]*\n.*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(
        r"^#{1,6} (.+)$", without_code(path.read_text(encoding="utf-8")), re.MULTILINE
    )
    return {
        re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-")
        for head in heads
    }


def test_every_page_is_reachable_from_the_readme():
    """README links to every page of docs/."""
    page = (generate.ROOT / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in DOCS.glob("*.md")} <= set(
        re.findall(r"\(docs/([\w-]+\.md)", page)
    )


@pytest.mark.parametrize(
    "path", [p for p in CONSOLE if p.name != "README.md"], ids=name
)
def test_console_blocks_show_what_the_program_prints(path, tmp_path):
    """Every command, run in order in a copy of the example, prints what stands below
    it."""
    differences = console.compare(path.read_text(encoding="utf-8"), tmp_path)
    assert not differences, "\n\n".join(differences)


def examples(page):
    """The markdown blocks of a page; they are fenced with four backticks."""
    return re.findall(
        r"^````markdown\n(.*?)^````$", text(page), re.MULTILINE | re.DOTALL
    )


def test_example_entries_of_the_format_page_parse():
    """No example of the format has a problem, and each holds at least one entry or
    section."""
    found = examples("memory-format.md")
    assert len(found) >= 3
    for example in found:
        memory = parse(example, "MEMORY.md")
        assert memory.problems == ()
        assert memory.entries or sections(memory)


def test_the_first_example_writes_every_core_key():
    """The example that the format page begins with is complete."""
    (entry,) = parse(examples("memory-format.md")[0], "MEMORY.md").entries
    block = examples("memory-format.md")[0].split("---\n")[1]
    assert [line.partition(":")[0] for line in block.splitlines()] == list(CORE_KEYS)
    assert entry.title == "Freeze time in cart tests"


@pytest.mark.parametrize(
    "word", [*LEVELS, *STORES, *TYPES, *KINDS, *PRIORITIES, *STATUSES, *CORE_KEYS]
)
def test_format_page_knows_the_word(word):
    """Every level, store, type, kind, priority, status and core key is explained."""
    assert f"`{word}`" in text("memory-format.md")


def test_modules_that_the_pages_name_exist():
    """`memcli/x.py` is a file, and `x.py` in the page of design one of the package."""
    for page in ("design.md", "../.github/CONTRIBUTING.md"):
        for module in re.findall(r"`(memcli/[\w/]+\.\w+)`", text(page)):
            assert (generate.ROOT / module).exists(), f"{page}: {module}"
        for module in re.findall(r"`([a-z_]+\.(?:py|sql))`", text(page)):
            assert any((generate.ROOT / "memcli").rglob(module)), f"{page}: {module}"


WHERE = re.findall(
    r"^\| ((?!I want|---)[^|]+) \| ([^|]+) \|$",
    text("../.github/CONTRIBUTING.md"),
    re.MULTILINE,
)
"""The rows of the table that says what to open, and of that of commands."""


@pytest.mark.unit
@pytest.mark.parametrize(
    "row", [row for row in WHERE if "`memcli/" in row[1]], ids=lambda row: row[0]
)
def test_what_a_newcomer_opens_is_there(row):
    """A path of the table exists, and a name stands in a file that its row names."""
    spans = re.findall(r"`([^`]+)`", row[1])
    paths = [generate.ROOT / span for span in spans if span.startswith("memcli/")]
    assert paths and all(path.exists() for path in paths), row
    files = [path for path in paths if path.is_file()]
    sources = [path.read_text(encoding="utf-8") for path in files]
    for name in [span for span in spans if span.isidentifier()]:
        assert any(re.search(rf"\b{name}\b", source) for source in sources), name


@pytest.mark.unit
def test_a_group_of_verbs_has_one_name():
    """A module of `cli` with the signatures, one of `views` with the words; what the
    table says of verbs without a file of their own."""
    for group, names in GROUPS.items():
        module = f"{group.lower()}.py"
        assert (generate.ROOT / "memcli/cli" / module).is_file()
        has_words = (generate.ROOT / "memcli/views" / module).is_file()
        assert has_words or group == "Plumbing"
        page = text("../.github/CONTRIBUTING.md")
        for name in names.split():
            file = f"memcli/commands/{name.replace('-', '_')}.py"
            is_there = any(
                (generate.ROOT / each).is_file() for each in (file, file[:-3] + "_.py")
            )
            assert is_there or name in ELSEWHERE or f"`mem {name}`: `memcli/" in page


ELSEWHERE = ("help", "hook", "mcp")
"""Verbs that are only a door."""


_COMMAND = re.compile(r"`mem ([a-z-]+)([^`\n]*)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


@pytest.mark.parametrize(
    "path", [*PAGES, *sorted(generate.ROOT.glob(".github/*.md"))], ids=name
)
def test_options_that_pages_name_exist(path):
    """`mem COMMAND --option` is said of a command that has the option."""
    unknown = []
    for spoken in _COMMAND.finditer(path.read_text(encoding="utf-8")):
        if spoken[1] in commands():
            known = set(_OPTION.findall(write_help(spoken[1])))
            unknown += [spoken[0]] * bool(set(_OPTION.findall(spoken[2])) - known)
    assert not unknown
