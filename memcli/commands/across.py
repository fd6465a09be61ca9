"""mem recall --root A --root B: several repositories, each from its own index, in one answer."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from memcli.app import App
from memcli.index import view
from memcli.recall import evidence
from memcli.recall.answer import Layers, Own, RecallReport, RecallRequest, composed
from memcli.recall.budget import Pools, Shown
from memcli.recall.present import Hit
from memcli.text.controls import for_prompt


def recall_across(app: App, roots: list[str], request: RecallRequest) -> RecallReport:
    """The ranked hits of all roots, by how much of the task each meets against its own memory.

    Memory alone: no proxy, no history; the user's own level is looked at once.
    """
    request = request._replace(history="off", ranked_only=True)
    pool, modes, found = list[tuple[float, Shown, Hit]](), set[str](), False
    with ExitStack() as inside:
        for number, root in enumerate(roots):
            options = app.options._replace(root=root, others=())
            one = inside.enter_context(App(options, app.project.environ, Path.cwd()))
            filters = request.filters._replace(proxy=False)
            if number:
                filters = filters._replace(no_global=True)
            own = request._replace(filters=view.check(filters, one.project.now))
            if one.project.listing.files:
                found = True
                pool += one.guarded(partial(_hits, one, own, modes))
            app.notes += [f"{root}: {note}" for note in one.notes]
        pool.sort(key=lambda each: (-each[0], each[2].path))
        by_key = {item.key: hit for _, item, hit in pool}
        shown = composed(app.project.config, Pools(ranked=[item for _, item, _ in pool]))
    hits = tuple(
        by_key[item.key]._replace(rank=rank, text=item.text, head=item.head)
        for rank, item in enumerate(shown.items, 1)
    )
    mode = modes.pop() if len(modes) == 1 else "bm25"
    return RecallReport(mode, request.task, hits, shown.budget, (), len(pool), found)


def _hits(app: App, request: RecallRequest, modes: set[str]) -> list[tuple[float, Shown, Hit]]:
    """The hits of one repository with their strength, called by its name."""
    if request.refresh:
        app.refresh()
    name = for_prompt((app.project.root or app.project.home).name)
    own = Own(app.project, app.index, lambda: app.providers.embedder, app.notes)
    layers = Layers(own, request)
    ranked = layers.search.ranked(request.task, app.project.config.limit)
    modes.add(layers.search.mode)
    asked = evidence.terms(layers.search.weights())
    found = []
    for hit in ranked:
        item = layers.showing.each("ranked", [hit.item.id])[0]
        met = evidence.strength(evidence.together(layers.hit(item, 1).title, hit.item.text, asked))
        told = layers.hit(item, 1)._replace(project=name, score=round(met, 6))
        key = f"{item.key}@{app.project.root}"
        found.append((met, item._replace(key=key, head=f"{name}: {item.head}"), told))
    return found
