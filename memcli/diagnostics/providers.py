"""What is asked over a wire or loaded: the embedder, and the language model with `--online`."""

from __future__ import annotations

from collections.abc import Iterator

from memcli.app import App
from memcli.diagnostics.document import FAIL, INFO, PASS, WARN, Check
from memcli.diagnostics.index import check_vectors
from memcli.diagnostics.scene import Scene
from memcli.errors import MemError
from memcli.project import distribution
from memcli.providers.embed.wire import shown

ASKED_FOR = 3.0
"""Seconds that an embedder has to answer."""


def check_embedder(scene: Scene) -> Iterator[Check]:
    """Which embedder there is, whether it answers, and whether the index has its vectors."""
    from memcli.providers.embed.local import Local

    app = scene.app
    try:
        embedder = app.providers.embedder
    except MemError as error:
        yield Check("embedder", FAIL, error.what, error.hint)
        return
    if embedder is None:
        yield _sparse(scene)
        return
    name = f"{embedder.provider}/{embedder.model}"
    where = f" at {shown(app.project.config.embed_url)}" if app.project.config.embed_url else ""
    try:
        if isinstance(embedder, Local):
            embedder.words(["mem"])  # without numpy, as in a recall
        else:
            embedder.embed(["mem"], query=True, deadline=ASKED_FOR)
    except MemError as error:
        yield Check("embedder", FAIL, f"{name}{where} does not answer: {error.what}", error.hint)
    else:
        yield Check("embedder", PASS, f"{name}{where}")
    yield from check_vectors(scene, name)


def _sparse(scene: Scene) -> Check:
    """No embedder: by choice, or because none is installed."""
    if scene.app.project.config.embedder == "none":
        return Check("embedder", INFO, "switched off (embedder = none): words alone are searched")
    what = "sparse-only: no embedder is installed, words alone are searched"
    return Check("embedder", WARN, what, f"{distribution.hint('local')}, or set embedder = none")


def check_llm(scene: Scene) -> Iterator[Check]:
    """A key in the environment; with `--online`, whether the model answers."""
    environ, config = scene.app.project.environ, scene.app.project.config
    if environ.get("ANTHROPIC_API_KEY") or environ.get("ANTHROPIC_AUTH_TOKEN"):
        hint = "" if scene.online or config.llm == "none" else "mem doctor --online asks it once"
        what = f"an Anthropic API key is in the environment (never shown); llm = {config.llm}"
        yield Check("llm", INFO, what, hint)
    if scene.online:
        yield _llm_asked(scene.app)


def _llm_asked(app: App) -> Check:
    """Whether the configured language model answers."""
    from memcli.providers.llm import Ask

    name = app.project.config.llm
    try:
        model = app.providers.model
        if model is None:
            return Check("llm", INFO, "llm = none: there is no language model to ask")
        model.ask(
            Ask("Answer in one word.", "Say yes.", max_tokens=1000, purpose="doctor", timeout=30)
        )
    except MemError as error:
        return Check("llm", FAIL, error.what, error.hint)
    asked = name if name == "scripted" else f"{name} ({app.project.config.model})"
    return Check("llm", PASS, f"llm = {asked} answers")
