"""Configuration: what is allowed, who may say it, and how a mistake is shown."""

import pytest

from memcli.project import config
from memcli.project.keys import KEYS


def settings(root, home, env=None, *flags):
    environ = {"XDG_CONFIG_HOME": str(home / ".config"), **(env or {})}
    return config.load(
        home=home, root=root, environ=environ, flags=config.parse_flags(flags)
    )


def test_the_later_layer_wins_and_is_remembered(project):
    """Defaults, user file, project file, environment, flag: each over the one
    before."""
    home = project.home
    root = project.root
    project.write(
        "~/.config/mem/config.toml",
        "limit = 1\nhalf_life = 10\ndecay = 'linear'\nmax_tokens = 5\n",
    )
    project.write(".mem.toml", "limit = 2\nhalf_life = 20\nmax_tokens = 6\n")
    resolved = settings(
        root, home, {"MEM_LIMIT": "3", "MEM_MAX_TOKENS": "7"}, "limit=4"
    )
    c = resolved.config
    assert (c.growth, c.decay, c.half_life, c.max_tokens, c.limit) == (
        "log",
        "linear",
        20.0,
        7,
        4,
    )
    keys = ("growth", "decay", "half_life", "max_tokens", "limit")
    expected = ["default", "user file", "project file", "environment", "flag"]
    assert [resolved.origins[key] for key in keys] == expected
    assert set(resolved.origins) == set(KEYS) == set(config.Config._fields)


def test_a_repository_may_not_set_what_is_the_users(project):
    """Every key that is not for the project file is refused there with its line, and
    allowed elsewhere."""
    private = [name for name, key in KEYS.items() if not key.anyone]
    project.remembers()
    for name in private:
        project.write(".mem.toml", f'# mine\n\n"{name}" = "none"\n')
        result = project.ends(2, "recall", "x")
        assert f"{name!r} must not be set by a repository" in result.err
        assert f"{project.root}/.mem.toml:3" in result.err
        assert "hint: " in result.err


_HUGE = "9" * 5000


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"limitt = 3\n", ":1"),
        (b"\n\nlimit = 'many'\n", ":3"),
        (b"limit = nan\n", ":1"),
        (b"half_life = 1" + b"0" * 400 + b"\n", ":1"),
        (f"limit = {_HUGE}\n".encode(), ":1"),
        (b"use_importance = 'perhaps'\n", ":1"),
        (b"\n[level_weights]\nplanet = 2\n", ":2"),
        (b"limit = 3\nlimit = 4\n", ":2"),
        (b"x = " + b"[" * 20000 + b"\n", ":1"),
        (b"# caf\xe9\nlimit = 3\n", ":1"),
        (b"jobs_dir = '../out'\n", ":1"),
        (b"memory_files = ['ok/*.md', '/etc/*.md']\n", ":1"),
        (b"memory_files = ['a**/x.md']\n", ":1"),
    ],
)
def test_a_bad_project_file_is_exit_2_with_its_line_and_a_hint(project, text, line):
    """Unknown keys, wrong types, bad TOML, other encodings, paths that leave the root;
    no traceback."""
    project.remembers()
    path = project.write(".mem.toml", text)
    result = project.ends(2, "recall", "x")
    assert f"{path}{line}" in result.err
    assert "\nhint: " in result.err
    assert "internal error" not in result.err


@pytest.mark.parametrize(
    ("item", "key", "value"),
    [
        ("limit=5", "limit", 5),
        (" mmr-lambda = 0.5 ", "mmr_lambda", 0.5),
        ("use_importance=false", "use_importance", False),
        (
            'memory_files=["a/*.md", "b/**/c.md"]',
            "memory_files",
            ("a/*.md", "b/**/c.md"),
        ),
        ("memory_files=a/*.md, b.md", "memory_files", ("a/*.md", "b.md")),
        ("jobs_dir=./2024/jobs/", "jobs_dir", "2024/jobs"),
        ("half_life_by_kind={fact = 30}", "half_life_by_kind", {"fact": 30.0}),
    ],
)
def test_values_on_the_command_line_and_in_the_environment(tmp_path, item, key, value):
    """Bare words, numbers, and TOML lists and tables; the same in `MEM_*`."""
    assert getattr(settings(None, tmp_path, {}, item).config, key) == value
    name, _, text = item.partition("=")
    env = {f"MEM_{name.strip().replace('-', '_').upper()}": text.strip()}
    found = settings(None, tmp_path, env)
    assert (getattr(found.config, key), found.origins[key]) == (value, "environment")


@pytest.mark.parametrize(
    "item",
    ["limit", "limit=", "limit=x", "limit={", "=3", "level_weights=[" + "[" * 9999],
)
def test_a_bad_set_is_a_usage_error(project, item):
    """Whatever is wrong with it."""
    result = project.ends(2, "recall", "x", "--set", item)
    assert "internal" not in result.err


@pytest.mark.parametrize(
    "text", ["soon", "2026-13-01", "2026-11-21x", "9999-12-31", "0001-01-01", "\udcff"]
)
def test_a_bad_now_is_a_usage_error(project, text):
    """MEM_NOW must be a date, or a date and time."""
    project.remembers()
    result = project.ends(2, "recall", "x", env={"MEM_NOW": text})
    assert "MEM_NOW" in result.err


@pytest.mark.parametrize(("before", "after"), [
    ("", 'llm = "claude"\n'),
    ("# mine\r\n[t]\r\nllm = 'x'\r\n", 'llm = "claude"\r\n# mine\r\n[t]\r\nllm = \'x\'\r\n'),
    ("limit = 5\n llm  = 'none' # why\n[t]", 'limit = 5\n llm  = "claude" # why\n[t]'),
    ('\ufeffllm = "none"', '\ufeffllm = "claude"'),
    ("\ufefflimit = 5", '\ufeffllm = "claude"\nlimit = 5'),
    ('notes = """\nllm = "x"\n"""\n', None),
    ('"llm" = "none"\n', None),
    ("llm = 1\n", None),
    ("llm = \n", None),
])  # fmt: skip
def test_one_value_is_replaced_and_every_other_byte_stays(before, after):
    """What cannot be done so is left to the person."""
    assert config.with_value(before, "llm", "claude") == after


def test_a_variable_that_is_nearly_a_key_is_named_once(project):
    """Variables of mem's own, and others that begin so, are not."""
    project.remembers()
    odd = {"MEM_LIMITS": "3", "MEM_HOOK": "on", "MEM_ORIAL": "1", "MEM_LIMIT": "3"}
    result = project.mem("recall", "x", env=odd)
    assert result.err.count("MEM_LIMITS sets nothing: did you mean MEM_LIMIT?") == 1
    assert result.err.count("sets nothing") == 1


KEY = "ghp_aB3dEfGh1jKlMn0pQrStUvWxYz0123456789"


@pytest.mark.parametrize("flag", [f"embedder={KEY}", f"limit={KEY}", f"{KEY}=1"])
def test_a_credential_in_the_wrong_place_is_not_shown(project, flag):
    """Neither as a value nor as a key, whoever reads the message."""
    result = project.mem("recall", "--set", flag, "x")
    assert result.code == 2
    assert "github-token" in result.err and KEY not in result.err
    (fault,) = settings(project.root, project.home, {}, flag).faults
    assert KEY not in fault.where + fault.what
