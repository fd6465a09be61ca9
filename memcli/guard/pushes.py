"""`git push` in the one form that guards compare: each branch that it is to by its short
name, last, and `--force` wherever it is forced. Where in doubt a branch is one of them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from memcli.named import NamedTuple
from memcli.project import git
from memcli.text.matching import verbose
from memcli.text.shell import ShellCommand, Words


@verbose
def takes_value() -> str:
    """An option of a push, or one that makes a branch, with its value behind it."""
    return r"""
        - [^-o]* o
      | -- (?: push-option | repo | receive-pack | exec | recurse-submodules )
      | - \w* [bBcC] | --orphan | --create | --force-create
    """


def with_branches(root: Path, commands: Sequence[ShellCommand]) -> Iterator[Words]:
    """The words of commands; behind a push the same once more for each branch that it
    is to, by what the same line switched to before."""
    asking = {"HEAD", "--show-current"}
    is_asked = any(asking.intersection(each.words) for each in commands)
    before: list[ShellCommand] = []
    root = git.work_tree(root) or root
    for command in commands:
        yield command.words
        if command.words[:2] == ("git", "push"):
            options, remote, refs = _pushed(command.words[2:])
            for ref in refs:
                is_forced = "--mirror" in options or ref.startswith("+")
                forced = ["--force"] if is_forced else []
                name = "HEAD" if "$" in ref and is_asked else ref
                for branch in _branches(root, name, before, command.folder):
                    yield ("git", "push", *options, *forced, remote, branch)
        before.append(command)


def _pushed(words: Words) -> tuple[list[str], str, list[str]]:
    """The options of a push, without values that stand apart, its remote, and what it
    pushes: `:` for every branch."""
    options = []
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            operands += rest
        elif word.startswith("-"):
            options.append(word)
            if takes_value().fullmatch(word):
                next(rest, "")
        else:
            operands.append(word)
    remote, *refs = operands or ["origin"]
    if not {"--all", "--branches", "--mirror"}.isdisjoint(options):
        refs = [":"]
    elif not refs and "--tags" not in options:
        refs = ["HEAD"]
    return options, remote, refs


def _branches(
    root: Path, ref: str, before: Sequence[ShellCommand], folder: str
) -> set[str]:
    """The branches to which a refspec leads."""
    source, _, target = ref.removeprefix("+").partition(":")
    name = (target or source).removeprefix("refs/").removeprefix("heads/")
    if name in ("HEAD", "@"):
        return _checked_out(root, before, folder)
    is_any = not name or re.search(r"[$*]", name)
    return _branches_of(root) if is_any else {name}


def _checked_out(root: Path, before: Sequence[ShellCommand], folder: str) -> set[str]:
    """The branch of HEAD, or the one switched to; both where a switch may fail, is
    elsewhere or may be of a file."""
    branches = {_branch_of(root)}
    for command in before:
        switch = _switched_to(command.words)
        if switch is None:
            continue
        known = _branches_of(root)
        if switch.name == "-":
            branches |= known
        elif command.folder == folder and switch.is_new != (switch.name in known):
            branches = {switch.name}
        else:
            branches.add(switch.name)
    return branches - {""}


class _Switch(NamedTuple):
    """The branch that a command switches to, "-" for the one before, and whether the
    command makes it."""

    name: str
    is_new: bool


def _switched_to(words: Words) -> _Switch | None:
    """What a command switches to; None where it is no switch, or one of files."""
    if words[:2] not in (("git", "checkout"), ("git", "switch")) or "--" in words:
        return None
    created = [each for each in words[2:-1] if takes_value().fullmatch(each)]
    names = [each for each in words[2:] if not re.match("-.", each)]
    if created:
        names = [words[words.index(created[0]) + 1]]
    if len(names) != 1:
        return None
    return _Switch(name=names[0].removeprefix("origin/"), is_new=bool(created))


def _branch_of(tree_top: Path) -> str:
    """The branch that is checked out, "" for none."""
    folder = git.git_dir(tree_top)
    text = git.read_first_line(folder / "HEAD") if folder else ""
    return text.partition("refs/heads/")[2]


def _branches_of(tree_top: Path) -> set[str]:
    """The local branches; main and master always."""
    common = git.common_dir(tree_top)
    if common is None:
        return {"main", "master"}
    heads = common / "refs/heads"
    loose = (path.relative_to(heads).as_posix() for path in heads.rglob("*"))
    packed = (name.partition("refs/heads/")[2] for name in git.packed_refs(common))
    return {"main", "master", *loose, *filter(None, packed)}
