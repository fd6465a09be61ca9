"""`query = "llm"`: a task of any length becomes a handful of search terms, by the
language model.

Of what it answers a few words are taken; it is asked once for a task, and no recall
fails for it."""

import hashlib
import re

from memcli.app import App
from memcli.errors import MemError, ProviderError
from memcli.providers import within
from memcli.providers.llm import Ask, Model
from memcli.text.controls import fence_safe, strip_controls
from memcli.text.matching import table

ANSWER = 3.0  # seconds a recall waits for it, the import of an SDK among them
PLAIN = (
    500  # so many characters of the task are searched when it could not be condensed
)
READ = 12_000  # so many characters of the task are sent
# characters and words of the terms: eight, as some are of two words
MOST = 200
WORDS = 16
SYSTEM = table("recall/condense.txt").strip()
_WORD = re.compile(r"[^\W_]+(?:[_./:-]+[^\W_]+)*")


def condensed(app: App, task: str) -> str:
    """At most 200 characters of terms; when that fails, 500 of the task, and a note
    says why."""
    if not task.strip():
        return task
    parts = "\0".join((app.project.config.llm, app.project.config.model, SYSTEM, task))
    digest = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()
    if known := app.from_state(lambda state: state.condensed(digest), ""):
        return known
    try:
        if app.providers.model is None:
            raise ProviderError(
                "query = llm, but no model is enabled", 'set llm = "anthropic"'
            )
        terms = _asked(app.providers.model, task)
    except MemError as error:
        app.notes.append(f"the task was searched as given, not condensed: {error.what}")
        return task[:PLAIN]
    app.from_state(lambda state: state.remember_condensed(digest, terms), None)
    return terms


def terms_of(reply: str) -> str:
    """The words of a reply, each once, bounded. Raises ProviderError without any."""
    terms: list[str] = []
    for word in dict.fromkeys(_WORD.findall(strip_controls(reply[: 10 * MOST]))):
        if len(terms) == WORDS or len(" ".join([*terms, word])) > MOST:
            break
        terms.append(word)
    if not terms:
        raise ProviderError("the model's reply is empty", "run again")
    return " ".join(terms)


def _asked(model: Model, task: str) -> str:
    """The terms the model names; one that hangs keeps nobody waiting."""
    prompt = f"<task>\n{fence_safe(task[:READ], 'task')}\n</task>"
    ask = Ask(SYSTEM, prompt, max_tokens=100, purpose="query", timeout=ANSWER)
    try:
        return within(ANSWER, lambda: terms_of(model.ask(ask).text))
    except MemError:
        raise
    except TimeoutError:
        raise ProviderError(f"the model took longer than {ANSWER:g} s") from None
    except Exception as error:
        raise ProviderError(f"the model failed: {type(error).__name__}") from None
