"""Texts of packages: their files, their languages, and what is text in them."""

import html
import re
import subprocess
import tarfile
import tempfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

LANGUAGES = "en de es fr ja ko pt ru zh".split()
LONGEST = 1200  # characters of a text
NAMES = {
    "en-us": "en",
    "en-gb": "en",
    "en-en": "en",
    "es-es": "es",
    "pt-br": "pt",
    "zh-cn": "zh",
    "zh-hans": "zh",
    "zh-hans-cn": "zh",
    "cn": "zh",
    "ja-jp": "ja",
    "ko-kr": "ko",
    "de-de": "de",
    "fr-fr": "fr",
    "ru-ru": "ru",
    "zh": "zh",
    "pt": "pt",
}
SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
}
PLACE = re.compile(
    r"""
    %\([^)]*\)[a-z]            # %(name)s
    | %[-\d.$]*[sdifgu@]\b     # %s, %1$s
    | \{\{.*?\}\} | \{[^{}]*\} # {{name}}, {name}
    | </?\w[^>]*>              # a tag
    | \$\w+ | %\d              # $NAME, %1
    """,
    re.VERBOSE,
)
SPACES = re.compile(r"\s+")
Texts = dict[str, dict[str, str]]  # key -> language -> text
LEAST_MESSAGE = 2  # characters of the longest text of a message


def language(name):
    """The language that a folder or file is named after, or an empty text."""
    name = name.lower().replace("_", "-")
    found = NAMES.get(name, name)
    return found if found in LANGUAGES else ""


def plain(text):
    """A text without tags, entities, placeholders and superfluous blanks."""
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return SPACES.sub(" ", PLACE.sub(" ", text)).strip().strip("¶#").strip()[:LONGEST]


def label(text):
    """A text of a user interface without the marks of its keys."""
    text = re.sub(r"\(&\w\)|\(~\w\)|\(_\w\)", "", text)
    return plain(re.sub(r"[&~_](?=\w)", "", text))


def is_said_in(name, text):
    """Whether a text can be in that language: one left in English often is not."""
    if not text or not re.search(r"[^\W\d_]", text):
        return False
    return name not in SCRIPTS or SCRIPTS[name].search(text) is not None


def messages(document, catalogue):
    """The messages of a catalogue that are said in at least two languages."""
    for key, said in catalogue.items():
        if any("plural" in text and "{" in text for text in said.values()):
            continue
        texts = said_in(said)
        if len(texts) > 1 and max(map(len, texts.values())) > LEAST_MESSAGE:
            yield {"document": document, "key": key, "kind": "message", "texts": texts}


def said_in(texts):
    """The texts that are in their languages, without marks; one that is as the English
    is not translated."""
    labels = {name: label(text) for name, text in texts.items() if text}
    english = labels.get("en", "")
    return {
        name: text
        for name, text in labels.items()
        if is_said_in(name, text) and (name == "en" or text != english)
    }


def pair(document, key, kind, first, second):
    """Two English texts that belong together."""
    return {
        "document": document,
        "key": key,
        "kind": kind,
        "texts": {"en": [first, second]},
    }


def opened(path, only):
    """(name, data) of the files in a package whose name has one of these patterns."""
    patterns = only.split()
    if path.suffix in (".whl", ".xpi", ".jar"):
        with zipfile.ZipFile(path) as packed:
            for name in packed.namelist():
                if any(fnmatch(name, pattern) for pattern in patterns):
                    yield name, packed.read(name)
        return
    if path.suffix == ".deb":
        command = ["dpkg-deb", "--fsys-tarfile", str(path)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE) as process,
            tarfile.open(fileobj=process.stdout, mode="r|") as archive,
        ):
            yield from members(archive, patterns)
        return
    with tarfile.open(path, mode="r|*") as archive:
        yield from members(archive, patterns)


def members(archive, patterns):
    for member in archive:
        if member.isfile() and any(
            fnmatch(member.name, pattern) for pattern in patterns
        ):
            data = archive.extractfile(member)
            assert data is not None
            yield member.name, data.read()


def inner(name, data, only):
    """The files of an archive within a package."""
    with tempfile.NamedTemporaryFile(suffix=Path(name).suffix) as file:
        file.write(data)
        file.flush()
        yield from opened(Path(file.name), only)
