"""Readers of pages: sections by title and language."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.bench.vectors.texts import (
    is_said_in,
    language,
    messages,
    opened,
    plain,
)

BLOCK = re.compile(
    r"""
    <(/?)                                  # an opening or a closing tag
    (h[1-6]|p|li|dt|dd|td|th|div|section|pre|ul|ol|dl|table|tr|blockquote|br)
    \b([^>]*)>                             # and its attributes
    """,
    re.VERBOSE,
)
SILENT = re.compile(
    r"<(script|style|svg|nav|aside|header|footer|noscript|button)\b.*?</\1>", re.S
)
LEAST_SAID = 16  # characters of a paragraph that says something
CHINESE = (".zh-CN", ".zh-cn", "_zh-CN")  # in the names of pages


def blocks(page):
    """(tag, id, text) of the headings, paragraphs and items of a page."""
    page = SILENT.sub(" ", page.replace('<div class="para">', "<p>"))
    found = []
    tag = mark = ""
    parts = []
    position = 0
    for match in BLOCK.finditer(page):
        parts.append(page[position : match.start()])
        position = match.end()
        text = plain(" ".join(parts))
        if text and tag not in ("", "pre"):
            name = re.search(r'(?:id|name)="([^"]+)"', mark + " ".join(parts))
            found.append((tag, name[1] if name else "", text))
        parts = []
        tag = "" if match[1] else match[2]
        if tag in ("div", "section", "ul", "ol", "dl", "table", "tr"):
            tag = ""
        mark = match[3]
    return found


class Section(NamedTuple):
    """A part of a page: its mark in the page, its heading and its paragraphs."""

    mark: str
    title: str
    body: list[str]


def sections(page):
    """The sections of a page of HTML."""
    found = []
    for tag, mark, text in blocks(page):
        if tag[0] == "h" or tag == "dt":
            found.append(Section(mark=mark or str(len(found)), title=text, body=[]))
        elif found:
            found[-1].body.append(text)
    return found


def markdown_sections(text):
    """The sections of a page of Markdown or reStructuredText, without code."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"```.*?```|!\[.*?\]\(.*?\)", " ", text, flags=re.S)
    text = re.sub(r"(?m)^(.+)\n[=~\-]{3,}\s*$", r"# \1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    found = []
    for number, section in enumerate(re.split(r"(?m)^#+ ", text)[1:]):
        title, _, body = section.partition("\n")
        parts = [plain(part) for part in body.split("\n\n")]
        kept = [part for part in parts if len(part) > LEAST_SAID]
        found.append(Section(mark=str(number), title=plain(title), body=kept))
    return found


def pages(pattern, only):
    """A reader of pages; `pattern` has their language, if any, and their name without
    it."""

    def records(paths):
        known = defaultdict(dict)
        for path in paths:
            for name, data in opened(path, only):
                where = re.search(pattern, name)
                tongue = (
                    language(where.groupdict().get("language", "en")) if where else ""
                )
                if where and tongue:
                    text = data.decode("utf-8", "replace")
                    known[where["file"]][tongue] = text
        for file, by_language in known.items():
            yield from page_records(file, by_language)

    return records


def page_records(file, by_language):
    """The sections of a page in its languages, and their paragraphs where they
    agree."""
    parsed = defaultdict(dict)
    lines = defaultdict(dict)
    for tongue, page in by_language.items():
        for section in sections(page):
            parsed[section.mark].setdefault(tongue, section)
        for _, mark, text in blocks(page):
            if mark.startswith(("par_id", "hd_id", "tit")):
                lines[mark].setdefault(tongue, text)
    for mark, found in parsed.items():
        kept = translated(found)
        yield from section_record(file, mark, kept)
        if not lines:
            yield from paragraphs(file, mark, kept)
    yield from messages(file, lines)


def translated(found):
    """The English, and what is in its language and not the same as the English."""
    english = found["en"].body if "en" in found else []
    kept = {}
    for tongue, section in found.items():
        is_left = tongue != "en" and section.body == english
        text = " ".join(section.body) or section.title
        if not is_left and is_said_in(tongue, text):
            kept[tongue] = section
    return kept


def section_record(document, key, kept):
    """A section in its languages, if it says anything."""
    if any(section.body for section in kept.values()):
        texts = {tongue: [own.title, own.body] for tongue, own in kept.items()}
        yield {"document": document, "key": key, "kind": "section", "texts": texts}


def paragraphs(document, key, kept):
    """The paragraphs of a section that has as many of them in each language."""
    counts = {len(section.body) for section in kept.values()}
    if "en" not in kept or len(counts) > 1:
        return
    for number in range(counts.pop()):
        said = {tongue: section.body[number] for tongue, section in kept.items()}
        yield from messages(document, {f"{key}.{number}": said})


def by_order(document, by_language):
    """The sections of a page in languages that have as many of them as the English."""
    english = by_language.get("en", [])
    same = {
        tongue: found
        for tongue, found in by_language.items()
        if len(found) == len(english)
    }
    for number in range(len(english)):
        kept = translated({tongue: found[number] for tongue, found in same.items()})
        yield from section_record(document, str(number), kept)
        yield from paragraphs(document, str(number), kept)


def electron(paths):
    """Pages of one file; a page counts in a language when its headings are as in
    English."""
    for _, data in opened(paths[0], "*/dist/docs.json"):
        documents = json.loads(data)
        for slug in documents["en-US"]:
            parsed = {
                language(name): sections(translated_pages[slug]["html"])
                for name, translated_pages in documents.items()
                if slug in translated_pages
            }
            yield from by_order(slug, parsed)


def in_order(pattern, only):
    """A reader of pages whose sections stand in the same order in each language;
    `pattern` has their language, and their name without it."""

    def records(paths):
        known = defaultdict(dict)
        for path in paths:
            for name, data in opened(path, only):
                where = re.search(pattern, name)
                if where and (tongue := language(where["language"])):
                    page = data.decode("utf-8", "replace")
                    known[where["file"]][tongue] = sections(page)
        for document, by_language in known.items():
            yield from by_order(document, by_language)

    return records


def markdown(paths):
    """The pages of packages; one in Chinese has its English beside it."""
    for path in paths:
        files = dict(opened(path, "*.md *.mdx"))
        for name, data in files.items():
            if re.search(r"(?i)[._-]zh|license|changelog", name):
                continue
            by_language = {"en": markdown_sections(data.decode("utf-8", "replace"))}
            stem, _, ending = name.rpartition(".")
            for mark in CHINESE:
                if chinese := files.get(f"{stem}{mark}.{ending}"):
                    text = chinese.decode("utf-8", "replace")
                    by_language["zh"] = markdown_sections(text)
            yield from by_order(f"{path.name}/{name}", by_language)


def mallard(paths):
    """The topics of a manual of GNOME."""
    manual = defaultdict(dict)
    for name, data in opened(paths[0], "*/help/*/gnome-help/*.page"):
        folder = name.split("/")[-3]
        if tongue := "en" if folder == "C" else language(folder):
            page = re.sub(r"<info>.*?</info>", "", data.decode(), flags=re.S)
            page = re.sub(r"<(/?)title\b", r"<\1h2", page)
            manual[Path(name).stem][tongue] = sections(page)
    for document, by_language in manual.items():
        yield from by_order(document, by_language)


def node_red(paths):
    """The help on each node, which stands in a script of its page."""
    head = re.compile(r'<script type="text/[\w-]+" data-help-name="([^"]+)">')
    for path in paths:
        topics = defaultdict(dict)
        for name, data in opened(path, "*/locales/*.html"):
            folder, _, file = name.split("/locales/")[-1].partition("/")
            if tongue := language(folder):
                page = head.sub(r'<h2 id="\1">\1</h2>', data.decode())
                topics[file][tongue] = page.replace("</script>", "")
        for file, by_language in topics.items():
            yield from page_records(file, by_language)
