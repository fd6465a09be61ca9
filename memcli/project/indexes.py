"""The link targets of an agent's index: a `MEMORY.md` that links to files beside it."""

import os
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from memcli.storage import files
from memcli.text.matching import verbose

LINKS_WITHIN = 64 << 10  # so many bytes of a `MEMORY.md` are read for its links


@verbose
def _link() -> str:
    """A link to Markdown, inline or by reference; in `<>` with blanks."""
    return r"""
        \] (?: \( | : [ \t]* )
        (?: < ( [^<>\#:\n]{1,200} \.md ) (?= [>\#] )
        | ( (?: [^()<> \t-\r\#:] | \( [^()<> \t-\r\#:]{0,50} \) ){1,200} \.md )
          (?! [^) \t-\r\#] ) )
    """


def linked(folder: str, base: str) -> Iterator[str]:
    """The files below `base` that the index in a folder links to, relative to that
    folder."""
    try:
        with files.open_file(f"{folder}/MEMORY.md", base) as opened:
            begin = os.fsdecode(opened.read(LINKS_WITHIN))
    except OSError:
        return
    links = (inner or plain for inner, plain in _link().findall(begin))
    for link in dict.fromkeys(links):
        target = os.fsdecode(unquote_to_bytes(os.fsencode(link)))
        path = os.path.normpath(os.path.join(folder, target))
        if path.startswith(base + os.sep):
            yield os.path.relpath(path, base)
