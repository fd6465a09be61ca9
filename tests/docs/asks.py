"""What a language model is asked, by whom, how much that is and what it costs, from the
code."""

from memcli.compaction import consolidate, questions, reinforce
from memcli.extraction import digest, engines, job_files, prompts, scopes
from memcli.project.config import Config
from memcli.providers.llm import Ask, Usage
from memcli.providers.llm.ledger import cost, most
from memcli.recall import condense

ENTRY = questions.SHOWN_LENGTH + 300  # characters of an entry with its keys in JSON
HEADS = (
    "asked by",
    "sends",
    "question, tokens",
    "beside it, at most",
    "reply, at most",
    "USD",
)
Row = tuple[str, str, str, str, str, str]


def rows():
    """A row for each question, and one for each scope that shares the question of a
    session."""
    told = [scope for scope in scopes.SCOPES if scope.looks_for]
    whole = Ask(prompts.SYSTEM, prompts.instruction(told, {}), schema=_schema(told))
    known = f"related memories, {prompts.MEMORIES // 4:,} tokens"
    reply = engines.REPLY_TOKENS
    sends = f"a digest of the session; {known}"
    yield _row("`mem extract`", sends, whole, digest.TOKENS, reply)
    none = _size(Ask("", prompts.instruction([], {})))
    for scope in told:
        also = ", ".join(f"`{name}`" if "." in name else name for name in scope.shows)
        own = _size(Ask("", prompts.instruction([scope], {}))) - none
        yield (
            f"– scope `{scope.name}`",
            also or "nothing more",
            f"{own:,} of these",
            "",
            "",
            "",
        )
    found = prompts.LESSONS * (prompts.TITLE + prompts.TEXT)
    judge = Ask(prompts.JUDGE, "", schema=prompts.VERDICTS)
    yield _row("– what `global` found, a second look", "those items", judge, found // 4)
    risks = Ask(prompts.RISKS, "", schema=prompts.schema(prompts.RISK))
    yield _row("`mem extract --premortem`", "the task, recalled pitfalls", risks, 1_000)
    # Fmt: skip.
    for name, command, sends, entries in (
        (
            "consolidate",
            "--due`, `consolidate",
            "episodes without details, related entries",
            questions.MOST_EPISODES + consolidate.MOST_RELATED,
        ),
        (
            "resolve",
            "--set contradictions=resolve",
            "pairs of entries",
            2 * consolidate.MOST_ASKED,
        ),
        (
            "promote",
            "--set promote_global=true",
            "entries of the project",
            consolidate.MOST_ASKED,
        ),
    ):
        yield _row(
            f"`mem compact {command}`", sends, _ask(name), entries * ENTRY // 4, 6_000
        )
    session = (400_000 + reinforce.MOST_RATED * ENTRY) // 4
    sends = "the session, what it was told"
    yield _row("`mem reinforce`, rated", sends, _ask("reinforce"), session, 6_000)
    stage = Ask(job_files.SYSTEM, job_files.QUESTION)
    intent = job_files.INTENT_LENGTH // 4
    yield _row("`mem retire-stage`", "the head of `INTENT.md`", stage, intent)
    yield _row(
        '`query = "llm"`', "the task", Ask(condense.SYSTEM, ""), condense.READ // 4, 100
    )


def _row(by, sends, ask, beside, reply: int = Ask("", "").max_tokens):
    price = cost(
        Config().model,
        Usage(input=_size(ask), cache_read=0, cache_write=beside, output=reply),
    )
    return by, sends, f"{_size(ask):,}", f"{beside:,}", f"{reply:,}", f"{price:.3f}"


def _ask(name):
    return Ask(
        questions.SYSTEM, questions.question(name), schema=questions.SCHEMAS[name]
    )


def _schema(told):
    return prompts.schema(prompts.ITEM, [scope.name for scope in told])


def _size(ask):
    return most(ask).input
