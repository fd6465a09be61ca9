"""Every reader of what others wrote: what it takes, which errors it may raise, what
always holds."""

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from memcli.compaction import merge
from memcli.compaction import questions as consolidate
from memcli.compaction.questions import EpisodeBatch
from memcli.diagnostics import content as checks
from memcli.errors import DataError, MemError, ProviderError, UsageError
from memcli.exchange import exporter, importers
from memcli.exchange.importers import split_front
from memcli.extraction import drafts, episodes, prompts, rules, scopes
from memcli.extraction.segments import segments
from memcli.hooks import before_tool, calls
from memcli.index import lexical, refresh
from memcli.index.fulltext import quoted
from memcli.install import agent_settings, git_hooks
from memcli.memory import front_matter
from memcli.memory.bodies import safe_body
from memcli.memory.changes import EntryChange, edited, render_entry
from memcli.memory.parser import KnownFile, parse, sections
from memcli.memory.values import place
from memcli.project import config
from memcli.providers.llm import ledger
from memcli.sessions import reader
from memcli.sessions.tools import tool_call
from memcli.similarity.claims import claim
from memcli.similarity.differences import guard as guard_of_claims
from memcli.similarity.duplicates import contradictions, near_duplicate
from memcli.similarity.opposites import Opposite, PlacedEntry
from memcli.text import model_output
from memcli.text.controls import for_display, for_prompt
from memcli.text.injections import neutralise
from memcli.text.secrets import redact_secrets
from tests.install import is_installed

NAME = "MEMORY.md"
_HASTY = "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;"


class Target(NamedTuple):
    """`run` reads a text, asserts what must hold, and raises nothing but `allowed`."""

    name: str
    run: Callable[[str], object]
    allowed: tuple[type[BaseException], ...] = ()


def tried(target, text):
    try:
        target.run(text)
    except target.allowed:
        return


def as_bytes(text):
    return text.encode("utf-8", "surrogatepass")


def _memory(text):
    file = parse(text, NAME)
    spans = [(segment.start, segment.end) for segment in file.segments]
    assert "".join(text[start:end] for start, end in spans) == text
    found = [*file.entries, *sections(file)]
    for entry in found:
        assert 0.0 <= entry.importance <= 1.0 and entry.type and entry.status
        refresh.rows(entry, live=True)


def _front(text):
    assert all(isinstance(key, str) for key in front_matter.read(text).values)


def _written(text):
    text = text.encode("utf-8", "replace").decode()[:8000]
    value = front_matter.render_value(text)
    assert front_matter.read(f"key: {value}\n").values["key"] == text


def _edited(text):
    file = parse(text, NAME)
    known = [entry for entry in file.entries if entry.identified]
    if known:
        change = EntryChange(file.entries.index(known[0]), {"reinforcement_count": 7})
        assert len(edited(file, [change]).entries) == len(file.entries)


def _checked(text):
    file = parse(text, NAME)
    document = KnownFile(file, place("project", NAME))
    checks.content([document], (), today="2026-11-21", max_tokens=2000)


def _merged(text):
    third = len(text) // 3
    sides = text, text[:third] + text[third * 2 :], text[third:]
    both = merge.merge(
        *sides, path=NAME, asked=merge.Asked(lambda old, mine, other: (mine + other, 0))
    )
    parse(both.text, NAME)


def _safe_body(text):
    body = safe_body(text)
    written = (
        render_entry({"id": "x", "type": "corrective"}, body)
        + "\n\n---\nid: y\n---\nb\n"
    )
    assert [entry.id for entry in parse(written, NAME).entries] == ["x", "y"]


def _session(text, format=""):
    for session in reader.read_all(io.BytesIO(as_bytes(text)), format=format):
        assert all(turn.origin for turn in session.turns)


def _learned(text):
    for who in ("user", "assistant"):
        lines = [{"role": "user", "content": "Hello"}, {"role": who, "content": text}]
        said = "\n".join(json.dumps(line) for line in lines)
        session = reader.read_all(io.BytesIO(said.encode()), format="chat")[-1]
        found = rules.find(session).kept
        for segment in segments(session.turns):
            episodes.told(session, segment, found)


@cache
def _fts():
    schema = (Path(lexical.__file__).parent / "schema.sql").read_text(encoding="utf-8")
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(schema)
    row = "(rowid, title, text, tags, date, parts) VALUES (1, 'a', 'b', '', '', '')"
    db.execute(f"INSERT INTO chunks_fts {row}")
    return db


def _asked(text):
    asked = lexical.build(text, lambda words: [1] * len(words))
    assert len(asked.terms) <= lexical.MAX_TERMS
    for term in (*asked.terms, *asked.phrases[:32]):
        sql = "SELECT bm25(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ?"
        _fts().execute(sql, (quoted(term),)).fetchall()


def _payload(text):
    calls.parse_payload(as_bytes(text))
    whole = {
        "session_id": text,
        "cwd": "/" + text,
        "prompt": text,
        "tool_input": {"command": text},
    }
    said = calls.parse_payload(json.dumps(whole).encode())
    assert said is None or len(said.session) <= 200
    answer = calls.answer("prompt", calls.Told(text, (text,)), show=True)
    assert answer.isascii() and len(json.loads(answer)) <= 2


def _command(text):
    for line in (text, f"tar {text} x", f"python3 <<'E'\nos.remove(x)  # {text}\nE"):
        commands = tool_call({"command": line}, "/", "Bash").commands
        before_tool.runs(commands, ("git push*",), text)


def _reply(text):
    prompts.parse_reply(text, scopes.NAMES, {1: text, 2: text})


def _reply_fields(text):
    item = {"scope": "project", "turn": 1, "kind": "fact", "title": text, "text": text}
    reply = json.dumps({"items": [{**item, "quote": text, "tags": [text]}]})
    assert prompts.parse_reply(reply, scopes.NAMES, {1: text}).findings


def _consolidated(text):
    readers = (
        lambda: consolidate.read_lesson(text, EpisodeBatch(NAME, ())),
        lambda: consolidate.read_verdicts(text, _pairs(), "2026-11-21"),
        lambda: consolidate.read_judgement(text, ()),
        lambda: consolidate.read_ratings(text, ()),
        lambda: ledger.read_items(text, prompts.VERDICTS, "general"),
        lambda: prompts.parse_risks(text),
        lambda: ledger.parse_json(text, prompts.schema(prompts.ITEM, scopes.NAMES)),
    )
    for read in readers:
        try:
            read()
        except ProviderError:
            continue


@cache
def _pairs():
    text = "---\nid: a\n---\n## A\nUse it.\n\n---\nid: b\n---\n## B\nNever use it.\n"
    first, second = (PlacedEntry(NAME, entry) for entry in parse(text, NAME).entries)
    return (Opposite(first, second, ""),)


def _facts(text):
    for row in ({"operation": "new", "title": text, "body": text}, {"operation": text}):
        consolidated = json.dumps({"facts": [row]})
        try:
            consolidate.read_lesson(consolidated, EpisodeBatch(NAME, ()))
        except ProviderError:
            continue


def _settings(text):
    put = agent_settings.with_hooks(text, "claude")
    assert agent_settings.with_hooks(put, "claude") == put
    assert is_installed(put, "claude")
    agent_settings.without_hooks(put)


def _script(text):
    put = git_hooks.with_section(text, "post-merge")
    assert git_hooks.program_of(put) == "mem"
    git_hooks.without_section(put)


def _section(text):
    put = git_hooks.put(text, ("one", "two"))
    assert "one\ntwo" in put.replace("\r", "")
    git_hooks.drop(put)


def _placed(text):
    safe = exporter.safe_text(text)
    assert "\x1b" not in safe
    git_hooks.drop(git_hooks.put(text, ["one"], git_hooks.EXPORT), git_hooks.EXPORT)


def _toml(text):
    with TemporaryDirectory() as folder:
        path = Path(folder) / ".mem.toml"
        path.write_bytes(as_bytes(text))
        found = config.read_settings(path)
        values = found.values
        where = found.where
        config.resolve([("project file", values, where)])


def _imported(text):
    list(importers.topics({NAME: text}))
    list(importers.rules("AGENTS.md", text))
    importers.is_topic(split_front(text)[0])


def _noted(text):
    drafts.interventions(text, "", "s", "2026-11-21")
    drafts.moved_assumptions(text, "", "2026-11-21")


def _prompt(text):
    safe = for_prompt(text)
    assert "</recalled-memory" not in safe.lower()
    assert for_display(safe) == safe
    assert not any(char in safe for char in "\x1b\x9b\x07\u202e\u200b\ufeff\x00")


def _guarded(text):
    title, body = model_output.safe_text(text[:200], text)
    assert title and "\n" not in title and "\x1b" not in body


def _similar(text):
    one = claim(text)
    other = claim(text[: len(text) // 2])
    near_duplicate(one, other)
    contradictions([one, other])
    guard_of_claims(one, claim(text[::-1]))


def _each_format():
    for format in ("", *reader.FORMATS):
        if format != "opencode":  # a database, see `opencode`
            run = partial(_session, format=format)
            yield Target(f"transcript {format or 'unknown'}", run, (DataError,))


def _opencode(text):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        with closing(sqlite3.connect(path)) as db:
            db.executescript(_HASTY)
            db.executescript(
                "CREATE TABLE session (id, directory, title, time_created, time_updated, parent_id);"
                "CREATE TABLE message (id, session_id, time_created, data);"
                "CREATE TABLE part (id, message_id, session_id, time_created, data);"
            )
            shown = text.replace("\ud800", "?").encode("utf-8", "replace").decode()
            for table, row in (
                ("session", ("s", "/", shown, 1, 1, None)),
                ("message", ("m", "s", 1, shown)),
                ("message", ("n", "s", 1, '{"role": "user"}')),
                ("part", ("p", "m", "s", 1, shown)),
                (
                    "part",
                    ("q", "n", "s", 1, json.dumps({"type": "text", "text": shown})),
                ),
            ):
                db.execute(
                    f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row
                )
            db.commit()
        reader.read_all(path)


TARGETS = (
    Target("memory file", _memory),
    Target("front matter", _front, (front_matter.Malformed,)),
    Target("value", _written),
    Target("edit", _edited, (DataError,)),
    Target("body", _safe_body),
    Target("checks", _checked),
    Target("merge", _merged, (merge.Unmergeable,)),
    *_each_format(),
    Target("transcript opencode", _opencode, (DataError,)),
    Target("learning", _learned, (DataError,)),
    Target("query", _asked),
    Target("hook payload", _payload),
    Target("shell command", _command),
    Target("reply", _reply, (ProviderError,)),
    Target("reply fields", _reply_fields, (ProviderError,)),
    Target("replies", _consolidated),
    Target("facts", _facts),
    Target("settings", _settings, (UsageError,)),
    Target("hook script", _script, (MemError,)),
    Target("section", _section, (MemError,)),
    Target("hand-out", _placed, (UsageError,)),
    Target("configuration", _toml),
    Target("import markdown", _imported),
    Target("notes", _noted),
    Target("for_prompt", _prompt),
    Target("secrets", redact_secrets),
    Target("injections", neutralise),
    Target("for_display", for_display),
    Target("guard", _guarded, (model_output.Refused,)),
    Target("claims", _similar),
)
