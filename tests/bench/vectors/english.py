"""Readers of English texts that belong together."""

import ast
import re
import warnings
from itertools import pairwise
from typing import NamedTuple

import yaml

from tests.bench.vectors.pages import (
    LEAST_SAID,
    markdown_sections,
    section_record,
)
from tests.bench.vectors.texts import LONGEST, SPACES, opened, pair, plain

LEAST_PARAGRAPH = 80
MOST_NAMES = 60  # of a function
TONGUES = {
    "chinese": "zh",
    "english": "en",
    "french": "fr",
    "german": "de",
    "japanese": "ja",
    "korean": "ko",
    "portuguese": "pt",
    "russian": "ru",
    "spanish": "es",
}


class Sense(NamedTuple):
    """Words that mean the same, what they mean, and the keys of what they are kinds
    of."""

    words: str
    gloss: str
    kinds: list[str]


def wordnet(paths):
    """Words that mean the same with what they mean, an example, and what they are kinds
    of."""
    senses = {}
    for name, data in opened(paths[0], "*/wordnet/data.*"):
        part = name[-4:]
        for line in data.decode().splitlines():
            if not line.startswith(" "):
                number = line.partition(" ")[0]
                senses[part + number] = sense_of(part, line)
    for key, sense in senses.items():
        meaning, *examples = re.split(r';\s*"', sense.gloss)
        pairs = [(sense.words, meaning)]
        told = f"{sense.words}: {meaning}"
        pairs += [(told, example.strip('"; ')) for example in examples]
        known = [senses[kind].words for kind in sense.kinds if kind in senses]
        pairs += [(sense.words, words) for words in known]
        first, comma, others = sense.words.partition(", ")
        if comma:
            pairs.append((first, others))
        for left, right in pairs:
            yield pair(key[:4], key, "pair", left, right)


def sense_of(part, line):
    """A line of the database: words in fours of fields, then pointers in fours."""
    head, _, gloss = line.partition(" | ")
    fields = head.split()
    end = 4 + 2 * int(fields[3], 16)
    words = [re.sub(r"\(.*", "", word).replace("_", " ") for word in fields[4:end:2]]
    kinds = [part + number for mark, number in pairwise(fields[end:]) if mark == "@"]
    return Sense(words=", ".join(words), gloss=gloss.strip(), kinds=kinds)


def docstrings(paths):
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


def names_in(node):
    """The names of variables, attributes and arguments."""
    for each in ast.walk(node):
        match each:
            case ast.Name(id="self" | "cls") | ast.arg(arg="self" | "cls"):
                continue
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name


def docstring_pairs(document, node):
    """A docstring's first sentence with the name and names within, and with its
    rest."""
    said = [
        SPACES.sub(" ", part) for part in (ast.get_docstring(node) or "").split("\n\n")
    ]
    first, _, more = said[0].partition(". ")
    if len(first) < LEAST_SAID or not first.isascii():
        return
    names = list(dict.fromkeys([node.name, *names_in(node)]))
    key = f"{node.name}:{node.lineno}"
    yield pair(document, key, "code", first, " ".join(names[:MOST_NAMES]))
    rest = plain(" ".join([more, *said[1:]]))
    if len(rest) > LEAST_SAID:
        yield pair(document, key, "docstring", first, f"{node.name}: {rest}")


def readmes(paths):
    """The sections of the descriptions of packages."""
    for path in paths:
        for name, data in opened(path, "*.dist-info/METADATA"):
            text = data.decode("utf-8", "replace").partition("\n\n")[2]
            for section in markdown_sections(text):
                yield from section_record(name, section.mark, {"en": section})


def dialogues(paths):
    """What is said, and what is answered."""
    for name, data in opened(paths[0], "*/data/*/*.yml"):
        tongue = TONGUES.get(name.split("/")[-2], "")
        conversations = yaml.safe_load(data).get("conversations", []) if tongue else []
        for number, conversation in enumerate(conversations):
            texts = [plain(str(text)) for text in conversation]
            for first, second in pairwise(texts):
                yield {
                    "document": name,
                    "key": str(number),
                    "kind": "dialogue",
                    "texts": {tongue: [first, second]},
                }


def novel(paths):
    """A paragraph with the next."""
    for name, data in opened(paths[0], "*/data/data.txt"):
        text = data.decode("utf-8", "replace")
        parts = [SPACES.sub(" ", part) for part in re.split(r"\n\s*\n", text)]
        kept = [part[:LONGEST] for part in parts if len(part) > LEAST_PARAGRAPH]
        for number, (first, second) in enumerate(pairwise(kept)):
            yield pair(name, str(number), "next", first, second)
