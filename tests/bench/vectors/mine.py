"""Mine the packages for texts that say the same: `python mine.py PACKAGES OUT.jsonl`.

A line of the result is a JSON object: `source` (the package), `document` (a page or a
catalogue of it; what is held out is held out by it), `kind` and `texts`. The texts of a
*message* are sentences by language. Those of a *section* are its title and paragraphs
by language. Those of a *pair* are two texts of one language that belong together.
"""

import ast
import gettext
import html
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "es", "fr", "ja", "ko", "pt", "ru", "zh")
LONGEST = 1200  # characters of a text
LEAST_SAID = 16  # characters of a docstring that says something
LEAST_PARAGRAPH = 80
MOST_NAMES = 60  # of a function
TONGUES = {
    "chinese": "zh", "english": "en", "french": "fr", "german": "de", "japanese": "ja",
    "korean": "ko", "portuguese": "pt", "russian": "ru", "spanish": "es",
}  # fmt: skip
NAMES = {
    "en-us": "en", "en-gb": "en", "es-es": "es", "pt-br": "pt", "zh-cn": "zh",
    "zh-hans": "zh", "zh-hans-cn": "zh", "cn": "zh", "ja-jp": "ja", "ko-kr": "ko",
    "de-de": "de", "fr-fr": "fr", "ru-ru": "ru", "zh": "zh", "pt": "pt",
}  # fmt: skip
SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
}
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
Record = dict[str, Any]
Texts = dict[str, dict[str, str]]  # key -> language -> text


def language(name: str) -> str:
    """The language that a folder or file is named after, or an empty text."""
    name = name.lower().replace("_", "-")
    found = NAMES.get(name, name)
    return found if found in LANGUAGES else ""


def plain(text: str) -> str:
    """A text without tags, entities, placeholders and superfluous blanks."""
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return SPACES.sub(" ", PLACE.sub(" ", text)).strip().strip("¶#").strip()[:LONGEST]


def label(text: str) -> str:
    """A text of a user interface without the marks of its keys."""
    text = re.sub(r"\(&\w\)|\(~\w\)|\(_\w\)", "", text)
    return plain(re.sub(r"[&~_](?=\w)", "", text))


def messages(document: str, catalogue: Texts) -> Iterator[Record]:
    """The messages of a catalogue that are said in at least two languages."""
    for key, said in catalogue.items():
        if any("plural" in text and "{" in text for text in said.values()):
            continue
        texts = {name: label(text) for name, text in said.items() if text}
        texts = {name: text for name, text in texts.items() if is_said_in(name, text)}
        english = texts.get("en", "")
        for name in list(texts):
            if name != "en" and texts[name] == english:
                del texts[name]
        if len(texts) > 1 and max(map(len, texts.values())) > 2:
            yield {"document": document, "key": key, "kind": "message", "texts": texts}


def is_said_in(name: str, text: str) -> bool:
    """Whether a text can be in that language: one left in English often is not."""
    if not text or not re.search(r"[^\W\d_]", text):
        return False
    return name not in SCRIPTS or SCRIPTS[name].search(text) is not None


# Catalogues


def read_mo(data: bytes) -> dict[str, str]:
    """The messages of a compiled catalogue by the English text."""
    parsed = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
    found = {}
    for key, text in parsed.items():
        name = key[0] if isinstance(key, tuple) else key
        if name and isinstance(text, str):
            found[name] = text
    return found


def read_po(data: bytes) -> dict[str, str]:
    """The messages of a catalogue by the English text; fuzzy ones are left out."""
    found = {}
    for block in re.split(r"\n\s*\n", data.decode("utf-8", "replace")):
        if "#, fuzzy" in block or "#~" in block:
            continue
        parts: dict[str, str] = {}
        now = ""
        for line in block.splitlines():
            if head := re.match(r'(msgctxt|msgid|msgstr)(?:\[0\])? (".*")\s*$', line):
                now = head[1]
                parts[now] = unquote(head[2])
            elif line.startswith('"') and now:
                parts[now] += unquote(line)
            else:
                now = ""
        if parts.get("msgid") and parts.get("msgstr"):
            found[parts["msgid"]] = parts["msgstr"]
    return found


def unquote(text: str) -> str:
    try:
        return str(ast.literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return ""


def read_properties(data: bytes) -> dict[str, str]:
    """The values of a Java properties file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = re.sub(r"\\\r?\n\s*", "", text)
    found = {}
    for line in text.splitlines():
        if pair := re.match(r"\s*([^#!\s=:][^=:\s]*)\s*[=:]\s*(.+)", line):
            found[pair[1]] = re.sub(
                r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), pair[2]
            ).replace("''", "'")
    return found


def read_ftl(data: bytes) -> dict[str, str]:
    """The messages and attributes of a Fluent file, without its selectors."""
    found: dict[str, str] = {}
    name = key = ""
    for line in data.decode("utf-8", "replace").splitlines():
        if head := re.match(r"(-?[a-zA-Z][\w-]*)\s*=\s*(.*)", line):
            name = key = head[1]
            found[key] = head[2]
        elif attribute := re.match(r"\s+\.([\w-]+)\s*=\s*(.*)", line):
            key = f"{name}.{attribute[1]}"
            found[key] = attribute[2]
        elif line.startswith(" ") and key:
            found[key] += " " + line.strip()
        else:
            key = ""
    return {
        key: re.sub(r"\{[^{}]*\}", " ", text)
        for key, text in found.items()
        if "->" not in text and not key.endswith("key")
    }


def read_json(data: bytes) -> dict[str, str]:
    """The texts of a JSON file by their path."""
    found: dict[str, str] = {}

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{path}.{key}")
        elif isinstance(value, str) and "[%" not in value:
            found[path] = value

    walk(json.loads(data), "")
    return found


def read_js(data: bytes) -> dict[str, str]:
    """The texts that a script gives to names and keys."""
    pattern = r"""(?:var\s+|^\s*)["']?([\w.$-]+)["']?\s*[=:]\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
    text = data.decode("utf-8", "replace")
    return {m[1]: m[2] or m[3] or "" for m in re.finditer(pattern, text, re.M)}


# Packages


def opened(path: Path, only: str) -> Iterator[tuple[str, bytes]]:
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


def members(
    archive: tarfile.TarFile, patterns: list[str]
) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        if member.isfile() and any(fnmatch(member.name, p) for p in patterns):
            data = archive.extractfile(member)
            assert data is not None
            yield member.name, data.read()


def inner(name: str, data: bytes, only: str) -> Iterator[tuple[str, bytes]]:
    """The files of an archive within a package."""
    with tempfile.NamedTemporaryFile(suffix=Path(name).suffix) as file:
        file.write(data)
        file.flush()
        yield from opened(Path(file.name), only)


def gettext_catalogues(paths: list[Path]) -> Iterator[Record]:
    """Catalogues by domain; what is written is preferred to what is compiled."""
    domains: dict[str, Texts] = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        files = dict(opened(path, "*/LC_MESSAGES/*.po */LC_MESSAGES/*.mo */cups_*.po"))
        for name, data in files.items():
            if name.endswith(".mo") and name[:-3] + ".po" in files:
                continue
            where = re.search(
                r"([\w-]+)/LC_MESSAGES/([\w.-]+)\.[mp]o|cups_(\w+)\.po", name
            )
            assert where is not None
            tongue = language(where[1] or where[3])
            if tongue in ("", "en"):
                continue
            domain = re.sub(r"-?[a-z]{2}_[A-Z]{2}$", "", where[2] or "cups")
            read = read_mo if name.endswith(".mo") else read_po
            for key, text in read(data).items():
                english = key.partition("\x04")[2] or key
                domains[domain][key]["en"] = english
                domains[domain][key][tongue] = text
    for domain, catalogue in domains.items():
        yield from messages(domain, catalogue)


def by_key(
    read: Callable[[bytes], dict[str, str]], pattern: str, only: str, within: str = ""
) -> Callable[[list[Path]], Iterator[Record]]:
    """A reader of files a language; `pattern` has its name, and the file's without it."""

    def records(paths: list[Path]) -> Iterator[Record]:
        files: dict[str, Texts] = defaultdict(lambda: defaultdict(dict))
        for path in paths:
            for name, data in opened(path, within or only):
                found = inner(name, data, only) if within else iter([(name, data)])
                for inside, content in found:
                    where = re.search(
                        pattern, f"{path.name}//{Path(name).name}//{inside}"
                    )
                    if where is None:
                        continue
                    tongue = language(where["language"] or "en")
                    if not tongue:
                        continue
                    file = where.groupdict().get("file") or ""
                    for key, text in read(content).items():
                        files[file][key].setdefault(tongue, text)
        for file, catalogue in files.items():
            yield from messages(file or "all", catalogue)

    return records


def typescript(paths: list[Path]) -> Iterator[Record]:
    """What the compiler says; its English stands in the program."""
    catalogue: Texts = defaultdict(dict)
    for name, data in opened(
        paths[0], "*/lib/*/diagnosticMessages.generated.json */lib/typescript.js"
    ):
        if name.endswith(".js"):
            pattern = r'diag\(\d+, \d+ /\* \w+ \*/, "([^"]+)", "((?:[^"\\]|\\.)*)"'
            for key, text in re.findall(pattern, data.decode()):
                catalogue["." + key]["en"] = text
        elif tongue := language(name.split("/")[-2]):
            for key, text in read_json(data).items():
                catalogue[key][tongue] = text
    yield from messages("diagnostics", catalogue)


def vscode(paths: list[Path]) -> Iterator[Record]:
    """The editor's messages by number, and those of its extensions by the English text."""
    main: Texts = defaultdict(dict)
    bundles: Texts = defaultdict(dict)
    for path in paths:
        if pack := re.search(r"language-pack-([a-z-]+?)-\d", path.name):
            tongue = language(pack[1])
            for name, data in opened(path, "*/main.i18n.json.js */extensions/*.json"):
                if name.endswith(".js"):
                    body = data.decode().partition("[")[2].rpartition("]")[0]
                    lines = [line.strip().rstrip(",") for line in body.splitlines()]
                    for number, line in enumerate(filter(None, lines)):
                        if line.startswith('"'):
                            main[str(number)][tongue] = json.loads(line)
                else:
                    contents = json.loads(data)["contents"]
                    for key, text in contents.get("bundle", {}).items():
                        english = key.split("/")[0] if isinstance(text, list) else key
                        bundles[key]["en"] = english
                        bundles[key][tongue] = text if isinstance(text, str) else ""
                    for key, text in contents.get("package", {}).items():
                        bundles[f"{name}:{key}"][tongue] = text
            continue
        pattern = r"""localize2?\((\d+), *(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
        for _, data in opened(path, "*.js"):
            for number, double, single in re.findall(
                pattern, data.decode("utf-8", "replace")
            ):
                main[number]["en"] = (double or single).replace("\\", "")
    yield from messages("editor", main)
    yield from messages("extensions", bundles)


def annotations(paths: list[Path]) -> Iterator[Record]:
    """What the characters of Unicode show, in words of each language."""
    catalogue: Texts = defaultdict(dict)
    for name, data in opened(
        paths[0], "*/annotations/*.xml */annotationsDerived/*.xml"
    ):
        if tongue := language(Path(name).stem):
            for sign, text in re.findall(
                r'<annotation cp="([^"]+)">([^<]+)', data.decode()
            ):
                catalogue[sign][tongue] = text.replace("|", " ")
    yield from messages("annotations", catalogue)


# Pages


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(tag, id, text) of the headings, paragraphs and items of a page."""
    page = SILENT.sub(" ", page)
    found: list[tuple[str, str, str]] = []
    tag = mark = ""
    parts: list[str] = []
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


def sections(page: str) -> list[tuple[str, str, list[str]]]:
    """(id, title, paragraphs) of the sections of a page."""
    found: list[tuple[str, str, list[str]]] = []
    for tag, mark, text in blocks(page):
        if tag[0] == "h" or tag == "dt":
            found.append((mark or str(len(found)), text, []))
        elif found:
            found[-1][2].append(text)
    return found


def pages(pattern: str, only: str) -> Callable[[list[Path]], Iterator[Record]]:
    """A reader of pages; `pattern` has their language, if any, and their name without it."""

    def records(paths: list[Path]) -> Iterator[Record]:
        known: dict[str, dict[str, str]] = defaultdict(dict)
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


def page_records(file: str, by_language: dict[str, str]) -> Iterator[Record]:
    """The sections of a page in its languages, and their paragraphs where they agree."""
    parsed: dict[str, dict[str, tuple[str, list[str]]]] = defaultdict(dict)
    lines: Texts = defaultdict(dict)
    for tongue, page in by_language.items():
        for mark, title, body in sections(page):
            parsed[mark].setdefault(tongue, (title, body))
        for _, mark, text in blocks(page):
            if mark.startswith(("par_id", "hd_id", "tit")):
                lines[mark].setdefault(tongue, text)
    for mark, texts in parsed.items():
        english = texts.get("en", ("", []))
        kept = {
            tongue: [title, body]
            for tongue, (title, body) in texts.items()
            if is_said_in(tongue, " ".join(body) or title)
            and (tongue == "en" or body != english[1])
        }
        if any(body for _, body in kept.values()):
            record = {"document": file, "key": mark, "kind": "section"}
            yield record | {"texts": kept}
        if not lines and len({len(body) for _, body in kept.values()}) == 1:
            for number in range(len(english[1])):
                said = {tongue: body[number] for tongue, (_, body) in kept.items()}
                yield from messages(file, {f"{mark}.{number}": said})
    yield from messages(file, lines)


def electron(paths: list[Path]) -> Iterator[Record]:
    """Pages of one file; a page counts in a language when its headings are as in English."""
    for _, data in opened(paths[0], "*/dist/docs.json"):
        documents = json.loads(data)
        for slug, page in documents["en-US"].items():
            English = sections(page["html"])
            by_number: dict[int, dict[str, list[Any]]] = defaultdict(dict)
            for name, translated in documents.items():
                found = sections(translated[slug]["html"]) if slug in translated else []
                if len(found) != len(English):
                    continue
                for number, (_, title, body) in enumerate(found):
                    by_number[number][language(name)] = [title, body]
            for number, texts in by_number.items():
                yield {
                    "document": slug,
                    "key": str(number),
                    "kind": "section",
                    "texts": texts,
                }


def wordnet(paths: list[Path]) -> Iterator[Record]:
    """Words that mean the same with what they mean, an example, and what they are kinds of."""
    glosses: dict[str, tuple[str, str, list[str]]] = {}
    for name, data in opened(paths[0], "*/wordnet/data.*"):
        part = name[-4:]
        for line in data.decode().splitlines():
            if line.startswith(" "):
                continue
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            count = int(fields[3], 16)
            words = [
                re.sub(r"\(.*", "", w).replace("_", " ")
                for w in fields[4 : 4 + 2 * count : 2]
            ]
            kinds = [
                fields[i + 1]
                for i in range(4 + 2 * count, len(fields) - 1)
                if fields[i] == "@"
            ]
            glosses[part + fields[0]] = (", ".join(words), gloss.strip(), kinds)
    for key, (words, gloss, kinds) in glosses.items():
        part = key[:4]
        meaning, *examples = re.split(r';\s*"', gloss)
        pairs = [(words, meaning)]
        pairs += [(f"{words}: {meaning}", example.strip('"; ')) for example in examples]
        pairs += [
            (words, glosses[part + kind][0]) for kind in kinds if part + kind in glosses
        ]
        if ", " in words:
            first, _, others = words.partition(", ")
            pairs.append((first, others))
        for first, second in pairs:
            yield {
                "document": part,
                "key": key,
                "kind": "pair",
                "texts": {"en": [first, second]},
            }


def pair(document: str, key: str, kind: str, first: str, second: str) -> Record:
    """Two English texts that belong together."""
    return {
        "document": document, "key": key, "kind": kind, "texts": {"en": [first, second]},
    }  # fmt: skip


def docstrings(paths: list[Path]) -> Iterator[Record]:
    """What a function does with its name, its names, and what else is said of it."""
    for path in paths:
        package = re.split(r"-\d", path.name)[0]
        for name, data in opened(path, "*.py"):
            if re.search(r"(^|/)(tests?|testing|_vendor|vendored|examples)/", name):
                continue
            try:
                with warnings.catch_warnings(action="ignore"):
                    tree = ast.parse(data)
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    yield from docstring_pairs(f"{package}/{name}", node)


def docstring_pairs(
    document: str, node: ast.FunctionDef | ast.ClassDef
) -> Iterator[Record]:
    """A docstring's first sentence with the name and names within, and with its rest."""
    said = [
        SPACES.sub(" ", part) for part in (ast.get_docstring(node) or "").split("\n\n")
    ]
    first, _, more = said[0].partition(". ")
    if len(first) < LEAST_SAID or not first.isascii():
        return
    names = [node.name]
    for inner_node in ast.walk(node):
        if isinstance(inner_node, ast.Name):
            names.append(inner_node.id)
        elif isinstance(inner_node, ast.Attribute):
            names.append(inner_node.attr)
        elif isinstance(inner_node, ast.arg):
            names.append(inner_node.arg)
    distinct = [name for name in dict.fromkeys(names) if name not in ("self", "cls")]
    key = f"{node.name}:{node.lineno}"
    yield pair(document, key, "code", first, " ".join(distinct[:MOST_NAMES]))
    rest = plain(" ".join([more, *said[1:]]))
    if len(rest) > LEAST_SAID:
        yield pair(document, key, "docstring", first, f"{node.name}: {rest}")


def readmes(paths: list[Path]) -> Iterator[Record]:
    """The sections of the descriptions of packages."""
    for path in paths:
        for name, data in opened(path, "*.dist-info/METADATA"):
            text = data.decode("utf-8", "replace").partition("\n\n")[2]
            text = re.sub(r"```.*?```|!\[.*?\]\(.*?\)", " ", text, flags=re.S)
            text = re.sub(r"(?m)^(.+)\n[=~\-]{3,}\s*$", r"# \1", text)
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
            for number, section in enumerate(re.split(r"(?m)^#+ ", text)[1:]):
                title, _, body = section.partition("\n")
                parts = [plain(part) for part in body.split("\n\n")]
                kept = [part for part in parts if len(part) > LEAST_SAID]
                if kept:
                    texts = {"en": [plain(title), kept]}
                    yield {
                        "document": name, "key": str(number), "kind": "section",
                        "texts": texts,
                    }  # fmt: skip


def dialogues(paths: list[Path]) -> Iterator[Record]:
    """What is said, and what is answered."""
    for name, data in opened(paths[0], "*/data/*/*.yml"):
        tongue = TONGUES.get(name.split("/")[-2], "")
        conversations = yaml.safe_load(data).get("conversations", []) if tongue else []
        for number, conversation in enumerate(conversations):
            texts = [plain(str(text)) for text in conversation]
            for first, second in pairwise(texts):
                yield {
                    "document": name, "key": str(number), "kind": "dialogue",
                    "texts": {tongue: [first, second]},
                }  # fmt: skip


def novel(paths: list[Path]) -> Iterator[Record]:
    """A paragraph with the next."""
    for name, data in opened(paths[0], "*/data/data.txt"):
        text = data.decode("utf-8", "replace")
        parts = [SPACES.sub(" ", part) for part in re.split(r"\n\s*\n", text)]
        kept = [part[:LONGEST] for part in parts if len(part) > LEAST_PARAGRAPH]
        for number, (first, second) in enumerate(pairwise(kept)):
            yield pair(name, str(number), "next", first, second)


READERS: dict[str, Callable[[list[Path]], Iterator[Record]]] = {
    "docstrings": docstrings,
    "readmes": readmes,
    "dialogues": dialogues,
    "novel": novel,
    "libreoffice-help": pages(
        r"help/(?P<language>[\w-]+)/(?P<file>text/.*)\.html$", "*/help/*/text/*.html"
    ),
    "gettext": gettext_catalogues,
    "typescript": typescript,
    "vscode": vscode,
    "annotations": annotations,
    "electron": electron,
    "wordnet": wordnet,
    "ftl": by_key(
        read_ftl,
        r"l10n-(?P<language>[a-z]{2}(?:-[a-z]{2})?)_.*/(?P<file>[\w-]+\.ftl)$",
        "*.ftl",
        "*.xpi",
    ),
    "mozilla-properties": by_key(
        read_properties,
        r"l10n-(?P<language>[a-z]{2}(?:-[a-z]{2})?)_.*/(?P<file>[\w-]+\.properties)$",
        "*.properties",
        "*.xpi",
    ),
    "tomcat": by_key(
        read_properties,
        r"//(?P<file>[\w/]+?)/LocalStrings(?:_(?P<language>\w+))?\.properties$",
        "*LocalStrings*.properties",
        "*/java/tomcat10-*-10*.jar",
    ),
    "derby": by_key(
        read_properties,
        r"//(?P<file>[\w/]+?)_(?P<language>[a-z]{2}(?:_[A-Z]{2})?)\.properties$",
        "*.properties",
        "*/java/derby*-10*.jar",
    ),
    "home-assistant": by_key(
        read_json,
        r"//(?P<file>[\w/]+)/translations/(?P<language>[\w-]+)\.json$",
        "*/translations/*.json",
    ),
    "strapi": by_key(
        read_js,
        r"translations/(?P<language>[\w-]+)\.json\.js$",
        "*/src/translations/*.json.js",
    ),
    "docusaurus": by_key(
        read_json,
        r"locales/(?P<language>[\w-]+)/(?P<file>[\w-]+)\.json$",
        "*/locales/*.json",
    ),
    "uppy": by_key(read_js, r"lib/(?P<language>[\w-]+)\.js$", "*/lib/*.js"),
    "apache": pages(
        r"manual/(?P<language>[\w-]+)/(?P<file>.*)\.html$", "*/manual/*.html"
    ),
    "pages": pages(r"(?P<file>[\w./+-]+)\.html$", "*.html"),
    "rust": pages(
        r"html/(?P<file>(?:book|std|reference|rust-by-example|nomicon|edition-guide|embedded-book|rustc|rustdoc|proc_macro|alloc)/.*)\.html$",
        "*.html",
    ),
}


def main() -> None:
    """Read every source of sources.toml that is there."""
    packages, out = Path(sys.argv[1]), Path(sys.argv[2])
    only = set(sys.argv[3:])
    with out.open("w", encoding="utf-8") as file:
        for name, source in tomllib.loads((HERE / "sources.toml").read_text()).items():
            if only and name not in only:
                continue
            found = [
                path
                for glob in source["files"].split()
                for path in sorted(packages.glob(glob))
            ]
            if not found:
                print(f"{name}: not there", file=sys.stderr)
                continue
            count = 0
            for reader in source["reader"].split():
                for record in READERS[reader](found):
                    file.write(
                        json.dumps({"source": name} | record, ensure_ascii=False) + "\n"
                    )
                    count += 1
            print(f"{name}: {count}", flush=True)


if __name__ == "__main__":
    main()
