"""Memory files that are links."""

from collections.abc import Iterator

from memcli.diagnostics.scene import Check, Scene
from memcli.project.links import memory_links


def check_links(scene: Scene) -> Iterator[Check]:
    """Memory files that are links: writes go to their target."""
    root = scene.app.project.root
    if root is None:
        return
    listing = scene.app.project.listing
    named = {problem.path for problem in listing.problems}
    links = memory_links(root, listing)
    for link in (link for link in links if link.name not in named):
        yield Check(
            name="link",
            status="FAIL" if link.fault else "INFO",
            detail=f"a link to {link.to}, {link.fault or 'mem writes there'}",
            hint="replace the link with the file" if link.fault else "",
            path=link.name,
        )
