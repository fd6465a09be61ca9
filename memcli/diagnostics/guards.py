"""What `mem doctor` reports about guards."""

from collections.abc import Iterator

from memcli.diagnostics.scene import Check, Scene, passed, warning
from memcli.guard.guards import find_guards


def check_guards(scene: Scene) -> Iterator[Check]:
    """A row for each pattern without effect, and one with the number of guards."""
    app = scene.app
    if not app.project.listing.files:
        return
    guards = app.kept.looked(lambda _: find_guards(app)) if app.kept.exists else None
    guards = guards or []
    for guard in guards:
        path, _, line = guard.place.rpartition(":")
        for pattern, reason in guard.faults:
            shown = f"{pattern!r}: " if pattern else ""
            yield warning(
                "guards",
                f"{guard.title}: {shown}{reason}",
                hint=f"mem guard {guard.entry[:8]} --command PATTERN, or --off",
                path=path,
                line=int(line),
            )
    binding = sum(guard.binds for guard in guards)
    if binding and binding == len(guards):
        yield passed("guards", f"{binding} in force")
