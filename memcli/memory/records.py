"""Records of decisions, a file each: whether a text is one, of what day, and whether
it still holds."""

from collections.abc import Sequence

from memcli.memory.dates import date_in
from memcli.memory.prose import ProseSection, headed
from memcli.memory.values import Segment
from memcli.text.matching import verbose

_FOLDERS = frozenset({"adr", "adrs", "decisions", "decision-records"})
_RULED_OUT = ("superseded", "rejected", "deprecated")
_STATUS_WITHIN = 4000  # characters of a record that are looked at for its status


@verbose(lines=True, ignore_case=True)
def _status() -> str:
    """The status of a decision, as a line, a row of a table, or a section; the group is
    its word."""
    return r"""
        ^ (?: [-*+|] [ ]{1,4} )?
        (?: (?: \#{1,6} [ ]{1,4} )? [*_]{0,2} status [*_:]{0,3} [ \t]{0,8} \r?\n
            (?: [ \t]{0,8} \r?\n )?                    # a section
          | [*_]{0,2} status [*_]{0,2} [ \t]{0,8} [:|] [*_ \t|]{0,8}  # a line, a row
        )
        [ \t]{0,8} (?: ~~ [^~\n]{1,40} ~~ [ \t]{0,4} )? ["'*_~\[]{0,4} ( \w+ )
    """


def is_named_so(path: str) -> bool:
    """Whether the folder or the name of a file is that of a decision record."""
    folder, _, name = path.lower().rpartition("/")
    return not _FOLDERS.isdisjoint(folder.split("/")) or name.startswith("adr")


def ruled_out(path: str, text: str) -> str:
    """The status word by which a decision record does not hold; "" if it holds, or is
    not one."""
    if not is_named_so(path):
        return ""
    words = (found.lower() for found in _status().findall(text[:_STATUS_WITHIN]))
    return next((word for word in words if word in _RULED_OUT), "")


def record(
    path: str, scan: str, segments: Sequence[Segment]
) -> tuple[ProseSection, str] | None:
    """The whole text below its title, and its day, where it is the record of one
    decision: it is named so, has one title above all its headings, and one status."""
    is_all_prose = len(segments) == 1 and segments[0].kind == "prose"
    if not is_all_prose or not is_named_so(path):
        return None
    preamble, sections = headed(scan, segments[0])
    if preamble and not preamble.startswith("---"):
        return None
    tops = [section for section in sections if len(section.titles) == 1]
    marks = [found.start() for found in _status().finditer(scan)]
    if len(tops) != 1 or len(marks) != 1:
        return None
    whole = tops[0]._replace(end=sections[-1].end)
    return whole, _day(scan, marks[0], sections)


def _day(scan: str, mark: int, sections: Sequence[ProseSection]) -> str:
    """The day of a record: above its first section, or beside the mark of its status;
    "" for none."""
    ends = [section.start for section in sections[1:]]
    ends.append(len(scan))
    head = scan[: ends[0]]
    mark_ends = next(end for end in ends if end > mark)
    beside = scan[mark:mark_ends]
    days = map(date_in, (*head.split("\n"), *beside.split("\n")))
    return next(filter(None, days), "")
