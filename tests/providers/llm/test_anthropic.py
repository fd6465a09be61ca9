"""The API of Anthropic, over its SDK and real HTTP."""

import gzip
import json
import socket

import pytest

from memcli.errors import ProviderError, UsageError
from memcli.project.config import Config
from memcli.providers.configured import make_model
from memcli.providers.llm import Ask, Reply, Usage
from memcli.providers.llm.anthropic import MOST_SAID, Anthropic
from memcli.providers.llm.ledger import Call, Guarded, Ledger, cost, most
from tests.providers.llm.server import Step, message, serve, tokens

SCHEMA = {
    "type": "object",
    "properties": {
        "findings": {"type": "array", "items": {"type": "string"}},
        "weight": {"type": "number", "minimum": 0, "maximum": 1},
        "kind": {"type": "string", "enum": ["fact", "policy"]},
    },
    "required": ["findings"],
    "additionalProperties": False,
}
GOOD = json.dumps({"findings": ["Freeze time."]})
LONG = "user: the cart tests are flaky. " * 1200
KEY = "sk-ant-api03-" + "a1B2c3D4" * 5
PLAIN = Ask("s", "p")


@pytest.fixture
def api(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    with serve() as api:
        yield api


class Asked:
    """A model over the server, with what it wrote into the ledger."""

    def __init__(self, api, run=5, day=5, most=40, earlier=(0.0, 0)):
        self.calls: list[Call] = []
        limits = {"max_cost": run, "max_cost_day": day, "max_calls": most}
        provider = Anthropic("claude-haiku-4-5", api.environ)
        self.model = Guarded(
            provider, limits, Ledger(lambda: earlier, self.calls.append)
        )


@pytest.fixture
def make(api):
    made = []

    def build(**options):
        made.append(Asked(api, **options))
        return made[-1]

    yield build
    for one in made:
        one.model.close()


def refused(model, ask=PLAIN):
    with pytest.raises(ProviderError) as caught:
        model.ask(ask)
    assert caught.value.hint and caught.value.code == 4
    return caught.value


def test_a_question_is_answered_and_counted(api, make):
    """The reply with the tokens as the API counted them; the ledger has the cost."""
    model = make()
    reply = model.model.ask(Ask("Be brief.", "Is it?", purpose="session"))
    sent = tokens("Be brief.") + tokens("user" + "Is it?")
    assert reply == Reply(
        "yes", Usage(input=sent, cache_read=0, cache_write=0, output=1)
    )
    cost = (sent * 1 + 1 * 5) / 1e6
    assert model.calls == [
        Call(
            purpose="session",
            provider="anthropic",
            model="claude-haiku-4-5",
            usage=reply.usage,
            cost=cost,
        )
    ]
    assert api.seen[0].body["system"] == [{"type": "text", "text": "Be brief."}]


def test_a_schema_is_sent_as_the_api_takes_it_and_checked_here(api, make):
    """Bounds are no part of structured output, which the server refuses: they are held
    here."""
    model = make()
    ask = Ask("s", "p", schema=SCHEMA)
    api.answer = lambda body: GOOD
    assert model.model.ask(ask).text == GOOD
    sent = api.seen[0].body["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["properties"]["kind"]["enum"] == ["fact", "policy"]
    api.answer = lambda body: json.dumps({"findings": [], "weight": 2})
    assert "reply.weight is not from 0 to 1" in refused(model.model, ask).what


def test_secrets_and_private_parts_never_leave(api, make):
    """Neither from the system text, nor from the shared part, nor from the prompt."""
    shared = f"t {KEY} \ud800 <private>hidden"
    make().model.ask(
        Ask(f"s {KEY}", f"p {KEY} <private>ours</private>.", shared=shared)
    )
    body = json.dumps(api.seen[0].body)
    assert "a1B2" not in body and "ours" not in body and "hidden" not in body
    assert "t " in body and "p " in body


def test_questions_with_one_prefix_pay_for_it_once(api, make):
    """The others find the transcript in the cache."""
    model = make()
    api.answer = lambda body: GOOD
    for number in range(3):
        model.model.ask(
            Ask(
                system="One system text.",
                prompt=f"Part {number}.",
                shared=LONG,
                schema=SCHEMA,
            )
        )
    assert [call.usage.cache_write > 0 for call in model.calls] == [True, False, False]
    assert api.total("cache_read_input_tokens") > 2 * 9000


PASSING = [
    Step(429, {"retry-after-ms": "10"}),
    Step(529),
    Step(503, raw=b"<html>busy</html>"),
]


@pytest.mark.parametrize("step", PASSING, ids=lambda step: str(step.status))
def test_what_passes_is_tried_again(step, api, make):
    """Asked again and paid once; five times in all, then the status and what the server
    said."""
    model = make()
    api.steps.extend([step, step])
    assert model.model.ask(PLAIN).text == "yes"
    assert len(api.seen) == 3 and len(model.calls) == 1
    api.steps.extend([step] * 9)
    assert str(step.status) in refused(model.model).what and len(api.seen) == 3 + 5


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "KEY"), (404, "model"), (400, "doctor"), (413, "less")]
)
def test_what_stays_wrong_is_not_tried_again(status, hint, api, make):
    """A refused key, an unknown model, a bad request: once, with what to do."""
    api.steps.append(Step(status))
    error = refused(make().model)
    assert str(status) in error.what and hint in error.hint and len(api.seen) == 1


def test_a_redirect_is_not_followed(api, make):
    """What was asked goes to the configured server, nowhere else."""
    api.steps.append(Step(307, {"location": f"{api.url}/v1/messages"}))
    assert "307" in refused(make().model).what and len(api.seen) == 1


def test_a_slow_reply_is_given_up_and_counted(api, make):
    """It may be paid for all the same, so the ledger has the most that it can cost."""
    model = make()
    api.steps.append(Step(delay=30))
    assert (
        "took longer"
        in refused(model.model, Ask("s", "p", max_tokens=100, timeout=0.2)).what
    )
    assert model.calls[0].usage.output == 100


NOT_WHOLE = [
    (Step(stop="max_tokens", text='{"findings": ["Fre'), "cut off"),
    (Step(stop="refusal", text=""), "refused by the model"),
    (Step(stop="pause_turn", text="x"), "pause_turn"),
    (Step(raw=b'{"content": 3, "usage": 4}'), "with a message"),
    (Step(raw=b'{"content": ' + b"[" * 100_000), "with a message"),
    (Step(text='{"findings": [], "path": "/etc/passwd"}'), "unexpected key"),
]


@pytest.mark.parametrize(("step", "word"), NOT_WHOLE)
def test_a_reply_that_is_not_whole_is_refused_whole(step, word, api, make):
    """Cut off, refused, no JSON, or not as asked; it is paid for and not asked
    again."""
    model = make()
    api.steps.append(step)
    assert word in refused(model.model, Ask("s", "p", schema=SCHEMA)).what
    assert len(api.seen) == 1 and len(model.calls) == (not step.raw)


@pytest.mark.parametrize(
    "counts",
    [
        {"input_tokens": 10**30, "output_tokens": -(10**9)},
        {"input_tokens": None, "output_tokens": "5"},
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 2.5, "output_tokens": True},
    ],
)
def test_counts_that_no_call_has_are_not_believed(counts, api, make):
    """What was sent and what may have been answered counts instead, so that no reply
    makes room in a limit."""
    model = make()
    ask = Ask("s", "p" * 700, shared="q" * 700, max_tokens=100)
    raw = json.loads(message({"model": "m"}, "yes", "end_turn", counts))
    api.steps.append(Step(raw=json.dumps(raw).encode()))
    assert model.model.ask(ask).text == "yes"
    (call,) = model.calls
    assert call.cost == pytest.approx(cost("haiku", most(ask)), rel=0.5)
    assert call.usage.output == 100


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_without_an_end_is_not_read_to_it(packed, api, make):
    """Sixteen megabytes at most, unpacked, are held."""
    spaces = b" " * (MOST_SAID + 1)
    raw = message({"model": "m"}, "yes", "end_turn", {}) + spaces
    headers = {"content-encoding": "gzip"} if packed else {}
    api.steps.append(Step(raw=gzip.compress(raw) if packed else raw, headers=headers))
    assert "with a message" in refused(make().model).what
    assert len(api.seen) == 1


def test_nobody_there(monkeypatch):
    """A refused connection is named with the address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    model = Anthropic("m", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url})
    assert "cannot be reached" in refused(model).what
    model.close()


def test_without_a_key_the_way_to_set_it_is_told():
    """Exit 2, before anything is asked; a token does, too."""
    config = Config(llm="anthropic")
    ledger = Ledger(lambda: (0.0, 0), lambda call: None)
    with pytest.raises(UsageError) as caught:
        make_model(config, {"ANTHROPIC_API_KEY": " "}, ledger)
    assert caught.value.code == 2 and "ANTHROPIC_API_KEY" in caught.value.hint
    with pytest.raises(UsageError, match="there is none"):
        make_model(config, {"ANTHROPIC_API_KEY": "clé\n"}, ledger)
    assert make_model(config, {"ANTHROPIC_AUTH_TOKEN": "t"}, ledger)


def test_limits_are_looked_at_before_a_call(api, make):
    """The worst that a call can cost must be left; the message says how to raise the
    limit."""
    ask = Ask("s", "p", max_tokens=4000)
    error = refused(make(run=0.01).model, ask)
    assert "max_cost is 0.01" in error.what and "--set max_cost" in error.hint
    error = refused(make(day=2.0, earlier=(1.99, 3)).model, ask)
    assert (
        "max_cost_day is 2" in error.what
        and "1.9900 are spent" in error.what
        and not api.seen
    )
    model = make(most=40, earlier=(0.1, 38))
    assert [model.model.ask(PLAIN).text for _ in range(2)] == ["yes", "yes"]
    assert "max_calls is 40" in refused(model.model).what and len(api.seen) == 2


def test_what_was_spent_counts_for_the_next_call(api, make):
    """Real usage replaces the estimate, and the limit is never passed."""
    model = make(run=0.03)
    ask = Ask("s", "p", max_tokens=4000)
    assert [model.model.ask(ask).text for _ in range(4)] == ["yes"] * 4
    api.answer = lambda body: "x" * 4 * 3000
    model.model.ask(ask)
    assert "max_cost is 0.03" in refused(model.model, ask).what
    assert sum(call.cost for call in model.calls) <= 0.03
