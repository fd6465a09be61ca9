"""Readers of packages that came later: see `mine.py`, which calls them by name."""

import gzip
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.vectors.mine import (
    LEAST_PARAGRAPH,
    LEAST_SAID,
    READERS,
    Record,
    Texts,
    by_key,
    is_said_in,
    language,
    main,
    messages,
    opened,
    pair,
    plain,
    read_json,
    read_properties,
    sections,
)

PAK_VERSION = 5
FIRST_YEAR = 1930  # of the addresses that are read
GZIP = b"\x1f\x8b"


def chromium(paths: list[Path]) -> Iterator[Record]:
    """The browser's messages by number."""
    catalogue: Texts = defaultdict(dict)
    for name, data in opened(paths[0], "*/locales/*.pak"):
        if tongue := language(Path(name).stem):
            for number, text in read_pak(data).items():
                catalogue[str(number)][tongue] = text
    yield from messages("browser", catalogue)


def read_pak(data: bytes) -> dict[int, str]:
    """The texts of a file of resources: a table of (number, place), then the data."""
    version, _, count, _ = struct.unpack_from("<IIHH", data)
    if version != PAK_VERSION:
        return {}
    table = [struct.unpack_from("<HI", data, 12 + 6 * i) for i in range(count + 1)]
    found = {}
    for place, (number, start) in enumerate(table[:-1]):
        content = data[start : table[place + 1][1]]
        if content.startswith(GZIP):
            continue
        text = content.decode("utf-8", "replace")
        if "<" not in text and "function" not in text:
            found[number] = text.replace("\n", " ")
    return found


def by_order(
    document: str, by_language: dict[str, list[tuple[str, str, list[str]]]]
) -> Iterator[Record]:
    """The sections of a page in languages that have as many of them as the English."""
    english = by_language.get("en", [])
    same = {
        tongue: found
        for tongue, found in by_language.items()
        if len(found) == len(english)
    }
    for number, (_, _, body) in enumerate(english):
        texts: dict[str, list[Any]] = {}
        for tongue, found in same.items():
            _, title, said = found[number]
            is_english = tongue == "en"
            if is_english or (said != body and is_said_in(tongue, " ".join(said))):
                texts[tongue] = [title, said]
        if any(body for _, body in texts.values()):
            yield {
                "document": document, "key": str(number), "kind": "section",
                "texts": texts,
            }  # fmt: skip
        counts = {len(body) for _, body in texts.values()}
        if len(texts) > 1 and len(counts) == 1:
            for place in range(len(body)):
                lines = {tongue: said[place] for tongue, (_, said) in texts.items()}
                yield from messages(document, {f"{number}.{place}": lines})


def kicad(paths: list[Path]) -> Iterator[Record]:
    """Manuals, a page each."""
    manuals: dict[str, dict[str, Any]] = defaultdict(dict)
    for path in paths:
        for name, data in opened(path, "*/help/*/*.html"):
            tongue = language(name.split("/")[-2])
            if tongue:
                page = data.decode("utf-8", "replace")
                manuals[Path(name).stem][tongue] = sections(page)
    for document, by_language in manuals.items():
        yield from by_order(document, by_language)


def home_assistant_frontend(paths: list[Path]) -> Iterator[Record]:
    """The texts of the pages of the program, a file a part and language."""
    files: dict[str, Texts] = defaultdict(lambda: defaultdict(dict))
    for name, data in opened(paths[0], "*/static/translations/*.json"):
        where = re.search(r"translations/(.*?)([\w]{2}(?:-\w+)?)-[0-9a-f]{32}", name)
        tongue = language(where[2]) if where else ""
        if where and tongue:
            for key, text in read_json(data).items():
                files[where[1]][key].setdefault(tongue, text)
    for file, catalogue in files.items():
        yield from messages(file or "all", catalogue)


def jargon(paths: list[Path]) -> Iterator[Record]:
    """Words of hackers and what they mean."""
    files = dict(opened(paths[0], "*/dictd/jargon.dict.dz"))
    text = gzip.decompress(next(iter(files.values()))).decode("utf-8", "replace")
    for number, part in enumerate(re.split(r"\n\n(?=\S)", text)):
        word, _, meaning = part.strip().partition("\n")
        if len(meaning) > LEAST_PARAGRAPH:
            yield pair("jargon", str(number), "pair", plain(word), plain(meaning))


def sotu(paths: list[Path]) -> Iterator[Record]:
    """Addresses: a paragraph as a section without a title."""
    for name, data in opened(paths[0], "*/speeches/*.txt"):
        year = int(Path(name).name[:4])
        if year < FIRST_YEAR:
            continue
        text = data.decode("utf-8", "replace")
        for number, part in enumerate(re.split(r"\n\s*\n|\n", text)):
            said = plain(part)
            if len(said) > LEAST_PARAGRAPH:
                yield {
                    "document": name, "key": str(number), "kind": "section",
                    "texts": {"en": ["", [said]]},
                }  # fmt: skip


def markdown_sections(text: str) -> list[tuple[str, str, list[str]]]:
    """(id, title, paragraphs) of the sections of a Markdown page."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"```.*?```|!\[.*?\]\(.*?\)|<[^>]*>", " ", text, flags=re.S)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    found = []
    for section in re.split(r"(?m)^#+ ", text)[1:]:
        title, _, body = section.partition("\n")
        parts = [plain(part) for part in body.split("\n\n")]
        kept = [part for part in parts if len(part) > LEAST_SAID]
        found.append((str(len(found)), plain(title), kept))
    return found


def markdown(paths: list[Path]) -> Iterator[Record]:
    """The pages of packages; one in Chinese has its English beside it."""
    for path in paths:
        pages = dict(opened(path, "*.md *.mdx"))
        for name, data in pages.items():
            if re.search(r"(?i)[._-]zh|license|changelog", name):
                continue
            by_language = {"en": markdown_sections(data.decode("utf-8", "replace"))}
            stem, _, ending = name.rpartition(".")
            for mark in (".zh-CN", ".zh-cn", "_zh-CN"):
                if chinese := pages.get(f"{stem}{mark}.{ending}"):
                    text = chinese.decode("utf-8", "replace")
                    by_language["zh"] = markdown_sections(text)
            yield from by_order(f"{path.name}/{name}", by_language)


READERS |= {
    "chromium": chromium,
    "kicad": kicad,
    "home-assistant-frontend": home_assistant_frontend,
    "jargon": jargon,
    "sotu": sotu,
    "markdown": markdown,
    "airflow": by_key(
        read_json,
        r"locales/(?P<language>[\w-]+)/(?P<file>\w+)\.json$",
        "*/i18n/locales/*.json",
    ),
    "scratch": by_key(
        read_json,
        r"package/(?P<file>[\w./-]+)/(?P<language>[\w-]+)\.json$",
        "package/editor/*.json package/www/*.json",
    ),
    "medusa": by_key(
        read_json,
        r"translations/(?P<language>\w+)\.json$",
        "*/i18n/translations/*.json",
    ),
    "openui5": by_key(
        read_properties,
        r"(?P<file>[\w./-]*messagebundle)(?:_(?P<language>\w+))?\.properties$",
        "*messagebundle*.properties",
    ),
}


if __name__ == "__main__":
    main()
