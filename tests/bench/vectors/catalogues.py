"""Readers of catalogues of messages: texts of programs by key and language."""

import ast
import bz2
import gettext
import gzip
import html
import io
import json
import re
import struct
import zlib
from collections import defaultdict
from pathlib import Path

from tests.bench.vectors.texts import (
    inner,
    language,
    messages,
    opened,
)

PAK_VERSION = 5
GZIP = b"\x1f\x8b"
ZLIB = re.compile(b"\x78[\x9c\xda]")
PEEK = 512  # bytes of what may be packed that show whether it is a catalogue
CATALOGUE = re.compile(
    r"""
    (?P<folder>[\w-]+)/LC_MESSAGES/(?P<domain>[\w.-]+)\.[mp]o
    | (?P<above>[\w.+~-]+)/(?:po|translations)/(?P<stem>\w+)\.po
    | cups_(?P<printer>\w+)\.po
    """,
    re.VERBOSE,
)
CATALOGUES = (
    "*/LC_MESSAGES/*.po */LC_MESSAGES/*.mo */po/*.po */translations/*.po */cups_*.po"
)
BRACKETS = re.compile(r"\[/?(?:\w+[ ])?([\w.@]*)[^\]]*\]")  # [b], [/b], [member size]
OPENED = re.compile(
    r"""
    \s*(?:export[ ])?(?:const[ ])?
    ["']?(?P<key>[\w.$-]+)["']?   # a name or a key
    \s*[:=]\s*\{\s*$             # and an object
    """,
    re.VERBOSE,
)
CLOSED = re.compile(r"\s*\}[,;]?\s*$")
SAID = re.compile(
    r"""
    \s*["']?(?P<key>[\w.$-]+)["']?\s*:\s*
    (?P<text>'.*'|".*"|`.*`)      # a text on one line
    ,?\s*$
    """,
    re.VERBOSE,
)


def read_mo(data):
    """The messages of a compiled catalogue by the English text."""
    parsed = gettext.GNUTranslations(io.BytesIO(data))._catalog  # type: ignore[attr-defined]
    found = {}
    for key, text in parsed.items():
        name = key[0] if isinstance(key, tuple) else key
        if name and isinstance(text, str):
            found[name] = text
    return found


def read_po(data):
    """The messages of a catalogue by the English text; fuzzy ones are left out."""
    found = {}
    for block in re.split(r"\n\s*\n", data.decode("utf-8", "replace")):
        if "#, fuzzy" in block or "#~" in block:
            continue
        parts = {}
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


def unquote(text):
    try:
        return str(ast.literal_eval(text.strip()))
    except (SyntaxError, ValueError):
        return ""


def read_properties(data):
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


def read_ftl(data):
    """The messages and attributes of a Fluent file, without its selectors."""
    found = {}
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


def read_json(data):
    """The texts of a JSON file by their path."""
    found = {}

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{path}.{key}")
        elif isinstance(value, str) and "[%" not in value:
            found[path] = value

    walk(json.loads(data), "")
    return found


def read_js(data):
    """The texts that a script gives to names and keys."""
    pattern = r"""(?:var\s+|^\s*)["']?([\w.$-]+)["']?\s*[=:]\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
    text = data.decode("utf-8", "replace")
    return {
        found[1]: found[2] or found[3] or ""
        for found in re.finditer(pattern, text, re.M)
    }


def read_object(data):
    """The texts of the object that a script is, by the path of their keys; the name of
    the object itself is no part of it."""
    found = {}
    path = []
    for line in data.decode("utf-8", "replace").splitlines():
        if head := OPENED.match(line):
            path.append(head["key"])
        elif CLOSED.match(line):
            path = path[:-1]
        elif said := SAID.match(line):
            text = said["text"][1:-1]
            found[".".join([*path[1:], said["key"]])] = text.replace("\\", "")
    return found


def read_pak(data):
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


def gettext_catalogues(paths):
    """Catalogues by domain; what is written is preferred to what is compiled."""
    domains = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        files = dict(opened(path, CATALOGUES))
        for name, data in files.items():
            is_compiled = name.endswith(".mo")
            if is_compiled and name[:-3] + ".po" in files:
                continue
            domain, tongue = domain_of(name)
            if tongue in ("", "en"):
                continue
            read = read_mo if is_compiled else read_po
            for key, text in read(data).items():
                english = key.partition("\x04")[2] or key
                domains[domain][key] |= {"en": english, tongue: text}
    for domain, catalogue in domains.items():
        yield from messages(domain, catalogue)


def domain_of(name):
    """(domain, language) of a catalogue by its name."""
    where = CATALOGUE.search(name)
    assert where is not None
    domain = re.sub(r"-?[a-z]{2}_[A-Z]{2}$", "", where["domain"] or "")
    tongue = where["folder"] or where["stem"] or where["printer"]
    return domain or where["above"] or "cups", language(tongue)


def godot_classes(paths):
    """What the classes of the engine are for; its marks stand in brackets."""
    for record in gettext_catalogues(paths):
        texts = record["texts"]
        plain_texts = {tongue: unmarked(text) for tongue, text in texts.items()}
        yield record | {"texts": plain_texts}


def unmarked(text):
    """A text without marks in brackets; what they refer to stays."""
    marks = "b i u s code codeblock codeblocks kbd url br".split()
    return BRACKETS.sub(lambda m: "" if m[1] in marks else m[1], text)


def qt(paths):
    """Catalogues of Qt by the English text, those of a folder together."""
    folders = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        for name, data in opened(path, "*/mumble_*.ts */sqlb_*.ts"):
            where = re.search(r"_(\w\w(?:_\w\w)?)\.ts$", name)
            tongue = language(where[1]) if where else ""
            for english, text in read_ts(data) if tongue not in ("", "en") else ():
                folder = Path(name).parent.name
                folders[folder][english] |= {"en": english, tongue: text}
    for folder, catalogue in folders.items():
        yield from messages(folder, catalogue)


def read_ts(data):
    """(English, translation) of the finished messages of a catalogue of Qt."""
    pattern = r"<source>([^<]*)</source>(?:\s*<(?!translation)[^>]*>[^<]*</[^>]*>)*\s*<translation>([^<]*)<"
    for english, text in re.findall(pattern, data.decode("utf-8", "replace")):
        yield html.unescape(english), html.unescape(text)


def by_key(read, pattern, only, within=""):
    """A reader of files a language; `pattern` has its name, and the file's without
    it."""

    def records(paths):
        files = defaultdict(lambda: defaultdict(dict))
        for name, content in named(paths, only, within):
            where = re.search(pattern, name)
            tongue = language(where["language"] or "en") if where else ""
            if where is None or not tongue:
                continue
            file = where.groupdict().get("file") or ""
            for key, text in read(content).items():
                files[file][key].setdefault(tongue, text)
        for file, catalogue in files.items():
            yield from messages(file or "all", catalogue)

    return records


def named(paths, only, within):
    """(package//file//file of an archive within, data) of the files of packages."""
    for path in paths:
        for name, data in opened(path, within or only):
            found = inner(name, data, only) if within else iter([(name, data)])
            for inside, content in found:
                yield f"{path.name}//{Path(name).name}//{inside}", content


def typescript(paths):
    """What the compiler says; its English stands in the program."""
    catalogue = defaultdict(dict)
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


def vscode(paths):
    """The editor's messages by number, and those of its extensions by the English
    text."""
    main = defaultdict(dict)
    bundles = defaultdict(dict)
    for path in paths:
        pack = re.search(r"language-pack-([a-z-]+?)-\d", path.name)
        if pack is None:
            for _, data in opened(path, "*.js"):
                for number, text in vscode_english(data):
                    main[number]["en"] = text
            continue
        tongue = language(pack[1])
        for name, data in opened(path, "*/main.i18n.json.js */extensions/*.json"):
            if name.endswith(".js"):
                for number, text in vscode_list(data):
                    main[number][tongue] = text
            else:
                for key, texts in vscode_extension(name, tongue, data):
                    bundles[key] |= texts
    yield from messages("editor", main)
    yield from messages("extensions", bundles)


def vscode_english(data):
    """(number, text) of the messages in the program."""
    pattern = r"""localize2?\((\d+), *(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"""
    text = data.decode("utf-8", "replace")
    for number, double, single in re.findall(pattern, text):
        yield number, (double or single).replace("\\", "")


def vscode_list(data):
    """(number, text) of the messages of a language: a list, an item a line."""
    body = data.decode().partition("[")[2].rpartition("]")[0]
    lines = [line.strip().rstrip(",") for line in body.splitlines()]
    for number, line in enumerate(filter(None, lines)):
        if line.startswith('"'):
            yield str(number), json.loads(line)


def vscode_extension(name, tongue, data):
    """(key, texts by language) of an extension; the key of most is the English."""
    contents = json.loads(data)["contents"]
    for key, text in contents.get("bundle", {}).items():
        is_noted = isinstance(text, list)
        english = key.split("/")[0] if is_noted else key
        yield key, {"en": english, tongue: "" if is_noted else text}
    for key, text in contents.get("package", {}).items():
        yield f"{name}:{key}", {tongue: text}


def annotations(paths):
    """What the characters of Unicode show, in words of each language."""
    catalogue = defaultdict(dict)
    for name, data in opened(
        paths[0], "*/annotations/*.xml */annotationsDerived/*.xml"
    ):
        if tongue := language(Path(name).stem):
            for sign, text in re.findall(
                r'<annotation cp="([^"]+)">([^<]+)', data.decode()
            ):
                catalogue[sign][tongue] = text.replace("|", " ")
    yield from messages("annotations", catalogue)


def chromium(paths):
    """The browser's messages by number."""
    catalogue = defaultdict(dict)
    for name, data in opened(paths[0], "*/locales/*.pak"):
        if tongue := language(Path(name).stem):
            for number, text in read_pak(data).items():
                catalogue[str(number)][tongue] = text
    yield from messages("browser", catalogue)


def home_assistant_frontend(paths):
    """The texts of the pages of the program, a file a part and language."""
    files = defaultdict(lambda: defaultdict(dict))
    for name, data in opened(paths[0], "*/static/translations/*.json"):
        where = re.search(r"translations/(.*?)([\w]{2}(?:-\w+)?)-[0-9a-f]{32}", name)
        tongue = language(where[2]) if where else ""
        if where and tongue:
            for key, text in read_json(data).items():
                files[where[1]][key].setdefault(tongue, text)
    for file, catalogue in files.items():
        yield from messages(file or "all", catalogue)


def unihan(paths):
    """What a Chinese character means."""
    catalogue = {}
    for _, data in opened(paths[0], "*/Unihan_Readings.txt.bz2"):
        for line in bz2.decompress(data).decode().splitlines():
            code, _, said = line.partition("\tkDefinition\t")
            if said:
                sign = chr(int(code.removeprefix("U+"), 16))
                catalogue[sign] = {"en": said, "zh": sign}
    yield from messages("definitions", catalogue)


def antd(paths):
    """What the parts of the library are for, in English and in Chinese."""
    for _, data in opened(paths[0], "*/data/v6.json.gz"):
        for component in json.loads(gzip.decompress(data))["components"]:
            catalogue = {}
            in_chinese(component, component["name"], catalogue)
            yield from messages(component["name"], catalogue)


def in_chinese(value, path, catalogue):
    """Add the texts that have one beside them whose key is theirs and `Zh`."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            in_chinese(item, f"{path}.{number}", catalogue)
    elif isinstance(value, dict):
        for key, text in value.items():
            chinese = value.get(f"{key}Zh")
            if isinstance(text, str) and isinstance(chinese, str):
                catalogue[f"{path}.{key}"] = {"en": text, "zh": chinese}
            else:
                in_chinese(text, f"{path}.{key}", catalogue)


def godot(paths):
    """The messages of the editor; their catalogues stand packed in the program."""
    catalogue = defaultdict(dict)
    for _, data in opened(paths[0], "*/bin/godot3-server"):
        for place in ZLIB.finditer(data):
            head = zlib_head(data, place.start(), PEEK)
            if head.startswith(b"# ") and b"translation" in head:
                whole = zlib_head(data, place.start(), 0)
                name = re.search(rb'"Language: ([\w-]+)', whole)
                tongue = language(name[1].decode()) if name else ""
                for key, text in read_po(whole).items() if tongue else ():
                    catalogue[key] |= {"en": key, tongue: text}
    yield from messages("editor", catalogue)


def zlib_head(data, start, most):
    """The first `most` bytes of what is packed there, or all for 0; nothing when
    nothing is."""
    try:
        return zlib.decompressobj().decompress(data[start : start + (most or 1 << 20)])
    except zlib.error:
        return b""
