"""mem recall, end to end on real files and a real index."""

import os
import re
from unicodedata import normalize

import pytest

from memcli.app import App, Options
from memcli.recall.budget import tokens

KEYS = {
    "id": str,
    "rank": int,
    "layer": str,
    "score": float,
    "title": str,
    "text": str,
    "type": str,
    "kind": str,
    "level": str,
    "store": str,
    "path": str,
    "line": int,
    "age_days": int,
    "duplicates": list,
    "key_moment": bool,
}
FACTORS = (
    "lexical vector relevance importance decay growth prominence level kind".split()
)


def hits(project, *args, **options):
    result = project.ok("recall", "--json", *args, **options)
    return list(result.hits)


def titles(project, *args, **options):
    return [hit["title"] for hit in hits(project, "--ranked", *args, **options)]


def layers(project, *args):
    found = {}
    for hit in hits(project, *args):
        found.setdefault(hit["layer"], []).append(hit["title"])
    return found


def fill(project, *entries, path="MEMORY.md"):
    project.write(path, "".join(entries))


@pytest.fixture
def filled(project):
    """One entry for each layer, and three ranked ones."""
    e = project.entry
    span = {"kind": "episode", "ended_at": "2026-11-02", "surprise": 0.8}
    fill(
        project,
        e(
            "Cache policy",
            "Every cache key has a prefix.",
            kind="policy",
            priority="high",
        ),
        e("Warm the cache", "1. run cache warmer", kind="workflow"),
        e("Cache outage", "The cache was full.", **span),
        e("Cache keys expire", "A cache entry lives for one hour.", kind="fact"),
        e("Cache and proxy", "The proxy ignores the cache in tests.", kind="pitfall"),
        e("Slow cache", "Slow when the cache is cold.", kind="decision"),
    )
    project.write("institutional.md", "# Norms\n\nWe review everything.\n")
    project.write("~/institutional.md", "Be honest.\n")
    return project


def test_the_best_match_comes_first_and_has_relevance_one(project):
    """The entry that answers the task leads with relevance 1.0, and no hit has a score
    of 0."""
    lock = "Set the lock timeout before the deploy of a migration."
    fill(
        project,
        project.entry("Builds", "The deploy needs a build."),
        project.entry("Lock timeout on deploy", lock),
        project.entry("Colours", "Buttons are green."),
    )
    ranked = hits(project, "--ranked", "--explain", "lock timeout before deploy")
    assert [hit["title"] for hit in ranked] == ["Lock timeout on deploy", "Builds"]
    assert all(hit["score"] > 0 for hit in ranked)
    factors = ranked[0]["factors"]
    assert factors.keys() - {"context"} == set(FACTORS)
    assert (factors["relevance"], factors["vector"]) == (1.0, None)


@pytest.mark.parametrize(
    "task",
    ["?!", '"', "\0", "\ud800", "NEAR(", "AND x OR (", "x*", "a" * 1_000_000],
)
def test_any_task_gets_an_answer(project, task):
    """Punctuation, operators, NUL, lone surrogates and a megabyte are answered with
    exit 0."""
    fill(project, project.entry("T", "Some text about x."))
    project.ok("recall", task)


def test_a_task_comes_from_stdin_or_after_a_double_dash(project):
    """`-` reads standard input, whatever its bytes; `--` lets a task begin with a
    dash."""
    fill(project, project.entry("Tricky", "About --force and zebras."))
    assert titles(project, "-", input=b"zebras \xff\xfe\0") == ["Tricky"]
    assert titles(project, "--", "--force") == ["Tricky"]


def test_damaged_memory_costs_one_line_and_no_exit_code(project):
    """Bad values have defaults, a file that cannot be read is left out; the rest is
    answered."""
    bad = project.entry(
        "A", "zebra stripes", importance=".nan", reinforcement_count="many"
    )
    fill(project, bad, project.entry("B", "zebra hooves"))
    (project.root / "tasks").mkdir()
    (project.root / "tasks" / "x.md").symlink_to("/etc/hostname")
    result = project.ok("recall", "--ranked", "--json", "zebra")
    assert {hit["title"] for hit in result.hits} == {"A", "B"}
    why = "tasks/x.md:1: is a link that leaves the root; it is not followed"
    assert result.err == f"mem: 3 problems in the memory files ({why}): mem doctor\n"
    assert {problem["path"] for problem in result.json["problems"]} == {
        "MEMORY.md",
        "tasks/x.md",
    }


@pytest.mark.parametrize(
    "verb", ["list", "index", "recall x", "health", "compact", "add Else"]
)
def test_memory_that_cannot_be_read_is_named(project, verb):
    """A block without its end, a pipe in a file's place: path, line and what to do
    next."""
    torn = f"---\nid: one\ntype: corrective\n## Torn\nText.\n\n{project.entry()}"
    file = project.memory(torn)
    result = project.mem(*verb.split())
    assert "MEMORY.md:1: front matter is not closed" in result.err
    assert "mem doctor" in result.err
    file.unlink()
    os.mkfifo(file)
    result = project.mem(*verb.split())
    assert "MEMORY.md:1: is not a regular file" in result.err
    assert "no memory" not in result.err


def test_near_duplicates_collapse_and_opposites_do_not(project):
    """What says the same is one hit with `duplicates`; whole texts are compared."""
    text = "Always run the zebra migration with a short lock timeout before the deploy begins."
    fill(
        project,
        project.entry("A", text, id="one", importance=0.9),
        project.entry("A", text, id="two"),
        project.entry("A", text.replace("Always", "Never")),
    )
    ranked = hits(project, "--ranked", "zebra migration")
    assert sorted(hit["duplicates"] for hit in ranked) == [[], ["two"]]
    begin = "The quagga pipeline has many steps and each is described here. " * 30
    long = [
        project.entry(word, begin + f"{word} " * 400) for word in ("alpha", "omega")
    ]
    fill(project, *long, path="tasks/long.md")
    assert len(titles(project, "quagga pipeline", "--max-tokens", "0")) == 2


def test_filters_choose_what_is_searched(project):
    """One filter repeated is or, different ones are and; an episode counts by its
    span."""
    e = project.entry
    span = {
        "started_at": "2026-09-01",
        "ended_at": "2026-10-15",
        "created_at": "2026-11-20",
    }
    fill(
        project,
        e("Oct", "zebra 1", kind="fact", tags=["x"], created_at="2026-10-10"),
        e(
            "Nov",
            "zebra 2",
            kind="pitfall",
            type="corrective",
            created_at="2026-11-10",
            paths=["/src/*.py"],
            scope="corrective",
        ),
        e("Span", "zebra 3", kind="episode", tags=["x"], **span),
        e("Gone", "zebra 4", status="retired"),
        e(
            "Merged",
            "zebra 5",
            status="compacted",
            created_at="2025-01-01",
            paths=["*.sql"],
        ),
    )
    fill(project, e("P", "zebra six", created_at="2025-01-01"), path="proxy.md")
    fill(
        project,
        e("Old", "zebra seven", created_at="2025-01-01"),
        path="MEMORY.archive.md",
    )
    project.write("institutional.md", "## Herd\nThe zebra is holy.\n")
    (project.root / "src").mkdir()
    for args, expected in {
        "": "Merged Nov Oct Span",
        "--proxy": "Merged Nov Oct P Span",
        "--archived": "Gone Merged Nov Oct Old Span",
        "--store institutional": "Herd",
        "--kind fact --kind pitfall": "Nov Oct",
        "--kind fact --kind pitfall --tag X": "Oct",
        "--type corrective": "Nov",
        "--since 2026-11-10": "Nov",
        "--since 30d": "Nov",
        "--scope corrective --scope observations": "Nov",
        "--since 2026-10-11 --until 2026-10-20": "Span",
        "--until 2026-10-10": "Merged Oct Span",
        "--path src/a.py": "Nov",
        f"--path {project.root}/src/a.py": "Nov",
        "--path ./db/../db/x.sql": "Merged",
    }.items():
        assert sorted(titles(project, "zebra", *args.split())) == expected.split(), args
    assert titles(project, "zebra", "--path", "a.py", cwd=project.root / "src") == [
        "Nov"
    ]


def test_layers_are_shown_in_their_order(filled):
    """Each entry in one of them; --limit counts ranked hits, filters hold for all
    layers."""
    got = layers(filled, "cache")
    assert list(got) == ["institutional", "baseline", "ranked", "workflows", "episodes"]
    assert got["institutional"] == ["~/institutional.md", "institutional.md"]
    others = (got["baseline"], got["workflows"], got["episodes"])
    assert others == (["Cache policy"], ["Warm the cache"], ["Cache outage"])
    assert sorted(got["ranked"]) == [
        "Cache and proxy",
        "Cache keys expire",
        "Slow cache",
    ]
    assert len(layers(filled, "cache", "--limit", "3")["ranked"]) == 3
    assert len(layers(filled, "cache", "--limit", "1")["ranked"]) == 1
    assert list(layers(filled, "cache", "--kind", "fact")) == ["ranked"]
    assert list(layers(filled, "cache", "--kind", "policy")) == ["baseline"]
    assert "institutional" not in layers(filled, "cache", "--store", "memory")
    ranked = layers(filled, "--ranked", "cache")
    assert list(ranked) == ["ranked"]
    assert len(ranked["ranked"]) == 6


def test_institutional_text_is_that_of_the_place_one_is_in(project):
    """Global, project, and the job and task one is in or names; equal texts once;
    nearest last."""
    project.write("~/institutional.md", "global norm")
    project.write("institutional.md", "project norm")
    for job in ("a", "b"):
        project.write(f".mem/jobs/{job}/institutional.md", f"norm of {job}")
        project.write(
            f".mem/jobs/{job}/tasks/t{job}/worktree/institutional.md", "project norm"
        )

    def norms(*args, **options):
        return [hit["text"] for hit in hits(project, "x", *args, **options)]

    everywhere = ["global norm", "project norm"]
    assert norms() == everywhere
    assert norms("--job", "a") == [*everywhere, "norm of a"]
    assert norms(cwd=project.root / ".mem/jobs/b/tasks/tb") == [
        *everywhere,
        "norm of b",
    ]


def test_details_of_episodes(project):
    """auto shows the detail of a key moment among the two best, high always, none
    never."""
    detail = "\n### Detail\n- a quagga "
    stampede = f"zebra stampede{detail}ran\n"
    key = project.entry("Key", stampede, kind="episode", surprise=0.9)
    fill(
        project,
        key,
        project.entry(
            "Calm", f"zebra nap{detail}slept\n", kind="episode", surprise=0.1
        ),
    )
    assert titles(project, "quagga") == []
    for when, count in (("auto", 1), ("none", 0), ("high", 2)):
        out = project.mem("recall", "--ranked", "zebra", "--set", f"detail={when}").out
        assert out.count("quagga") == count
        assert "key moment" in out


@pytest.mark.parametrize("limit", [0, 90, 400])
def test_used_is_the_size_of_the_prompt(filled, limit):
    """budget.used equals the tokens of the prompt form and stays within the limit."""
    args = ["cache", "--explain", "--max-tokens", str(limit)]
    budget = filled.mem("recall", "--json", *args).json["budget"]
    prompt = filled.mem("recall", "--format", "prompt", *args).out.removesuffix("\n")
    assert (budget["used"], budget["limit"]) == (tokens(prompt), limit)
    assert not limit or budget["used"] <= limit
    more = re.search(r"\((\d+) more: ", prompt)
    assert (int(more[1]) if more else 0) == (budget["more"] if prompt else 0)


def test_all_forms_show_the_same_hits(filled):
    """In the same order; JSON has exactly the keys of the contract."""
    report = filled.mem("recall", "cache", "--json", "--explain").json
    for form in ("text", "prompt"):
        out = filled.mem("recall", "cache", "--format", form).out
        places = [out.find(hit["title"]) for hit in report["hits"]]
        assert -1 not in places
        assert places == sorted(places)
    assert list(report) == "version mode query hits budget problems sparse_only".split()
    assert (report["version"], report["mode"], report["query"], report["problems"]) == (
        1,
        "bm25",
        "cache",
        [],
    )
    assert list(report["budget"]) == ["limit", "used", "more"]
    for hit in report["hits"]:
        ranked = hit["layer"] == "ranked"
        assert bool(hit.pop("factors")) == ranked
        assert list(hit) == list(KEYS)
        nullable = {"id", "age_days"} if hit["layer"] == "institutional" else set()
        nullable |= set() if ranked else {"score"}
        for key, kind in KEYS.items():
            assert (
                hit[key] is None if key in nullable else isinstance(hit[key], kind)
            ), key
    ranked = [hit for hit in report["hits"] if hit["layer"] == "ranked"]
    assert [hit["rank"] for hit in ranked] == [1, 2, 3]
    lines = filled.read().split("\n")
    assert all(lines[hit["line"] - 1] == f"## {hit['title']}" for hit in ranked)


def test_nothing_ranked_is_exit_0_with_one_line(project):
    """--check makes it 1; without any memory the line says how to begin."""
    result = project.mem("recall", "x")
    assert (result.code, result.out) == (0, "")
    assert result.err.count("\n") == 1
    assert "mem add" in result.err
    assert hits(project, "x") == []
    assert not project.has(".memory.db")
    fill(project, project.entry("A", "zebra"))
    result = project.mem("recall", "quagga")
    assert (result.code, result.out, result.err) == (
        0,
        "",
        "mem: nothing remembered matches this task\n",
    )
    assert hits(project, "quagga") == []
    assert project.mem("recall", "quagga", "--quiet").err == ""
    project.ends(1, "recall", "quagga", "--check")
    project.ok("recall", "zebra", "--check")


def test_a_secret_is_no_name_of_a_session(filled):
    """What a token was given for by mistake is in no file."""
    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    filled.ok("recall", "cache", "--session", token)
    options = Options(str(filled.root))
    with App(options, dict(os.environ), filled.root) as app, app.state() as history:
        assert history.recalled(token) == []


def test_a_session_remembers_what_was_chosen_for_its_task(filled):
    """Ranked hits and workflows; no memory file changes."""
    path = filled.root / "MEMORY.md"
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    ranked = hits(filled, "cache", "--session", "s1")
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before

    def ids(*wanted):
        return [
            hit["id"] for layer in wanted for hit in ranked if hit["layer"] == layer
        ]

    options = Options(str(filled.root))
    with App(options, dict(os.environ), filled.root) as app, app.state() as history:
        assert history.recalled("s2") == []
        assert sorted(history.recalled("s1")) == sorted(ids("ranked", "workflows"))


def test_episodes_are_those_that_bear_on_the_task(project):
    """Met by its only word, or by several of them; without a sentence that a hit
    above says already."""
    page = "Add a page for settings"
    rule = "Zebra fences are painted twice."
    fill(
        project,
        project.entry("Paint zebra fences twice", rule, kind="fact"),
        project.entry(page, f"The page is there. {rule}", kind="episode"),
        project.entry("Rename the login form", "Renamed.", kind="episode"),
    )
    asked = project.mem("recall", "zebra", "--format", "prompt").out
    _, _, episodes = asked.partition("## Recent episodes\n")
    assert page in episodes and "> The page is there." in episodes
    assert asked.count(rule) == 1 and "Rename" not in episodes
    other = project.mem("recall", "how are zebra fences painted", "--json").hits
    assert "Rename the login form" not in [hit["title"] for hit in other]
    assert not project.mem("recall", "quagga", "--json").hits


def test_a_path_that_names_no_file_is_said(project):
    """The command goes on; a file of the repository is not remarked on."""
    project.write("src/cart.py", "cart = 1")
    fill(project, project.entry("Cart", "zebra", kind="fact", paths=["src/**"]))
    for pattern, heard in (
        ("src/cart.py", ""),
        ("src/cat.py", "src/cat.py"),
        ("[", "["),
    ):
        done = project.mem("recall", "zebra", "--path", pattern, "--ranked")
        said = f"mem: path {heard}: no such file"
        assert (said in done.err) is bool(heard)
        assert ("Cart" in done.out) is pattern.startswith("src/")
    done = project.ok("add", "Zebras sleep", "--path", "sorce/**", "--path", "src/*.py")
    assert done.err == "mem: path sorce/**: no such file\n"


def test_the_persons_own_rules_stand_before_a_repositorys(project):
    """However many those are: they do not push them out of the room there is."""
    rules = [f"Never touch the folder number{n} of the shop" for n in range(30)]
    project.memory(
        *(project.entry(rule, kind="policy", priority="critical") for rule in rules)
    )
    own = "Always ask before the shop is deployed"
    project.ok("add", "--level", "global", "--kind", "policy", own)
    told = project.ok("recall", "the shop", "--max-tokens", "900").out
    assert own in told.partition("Never touch")[0]


@pytest.mark.parametrize("title", ["한글 문서", "ガイド", "Ελληνικά ά", "naïve"])
def test_a_letter_is_found_in_one_character_and_in_several(project, title):
    """In the task or in memory: names of files on a Mac have several."""
    for written in ("NFC", "NFD"):
        project.remembers(normalize(written, title), "Some text.")
        project.ok("index")
        for asked in ("NFC", "NFD"):
            found = titles(project, normalize(asked, title.split()[0]))
            assert found == [normalize(written, title)], (written, asked)
