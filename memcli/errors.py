"""What can go wrong, and the exit code each kind owns (the codes: docs/commands.md)."""


class MemError(Exception):
    """A failure the user can act on: `what` (with `path:line` where there is one) and a
    `hint`; by itself a bug. Exit 1 is no failure: the answer is no."""

    code = 70

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    @property
    def advice(self) -> str:
        """The hint as it stands behind a sentence; "" without one."""
        return f" ({self.hint})" if self.hint else ""


class UsageError(MemError):
    """A flag, argument or configuration value that cannot be used."""

    code = 2


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError unless `value` is one of `allowed`; "" among them is no
    value."""
    if value not in allowed:
        from difflib import get_close_matches  # nobody mistypes on the fast path

        what = f"{option} {value}: unknown {option.lstrip('-')}"
        near = get_close_matches(value, filter(None, allowed), 1, 0.75)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(what, f"{meant}one of {', '.join(filter(None, allowed))}")


class DataError(MemError):
    """Some data could not be used; the rest, if there is any, was done."""

    code = 3


class ProviderError(MemError):
    """An embedder, a language model or a shared index failed."""

    code = 4


class RefusedError(MemError):
    """Busy, not to be written, or refused by a guard (loss, secret, conflict)."""

    code = 5
