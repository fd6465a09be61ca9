"""Texts and terms in the form that the full text search of the server takes: words with
blanks between them.

What is a word is decided here, and accents and case are removed, so that nothing
depends on the locale of a database. The server stems the words."""

import re
import unicodedata
from collections.abc import Mapping

from memcli.index.lexical import EITHER
from memcli.memory.words import normalized

LONGEST = 500  # characters of a word: PostgreSQL takes 2,046 bytes
MOST = 200_000  # characters of a text: the words of more would not fit into one row

_PIECE = re.compile(r"[^\W_]+")


def searched(text: str) -> str:
    """The words of a text, lower-case and without accents."""
    text = text[:MOST].lower()
    if not text.isascii():
        letters = normalized("NFKD", text)
        remaining = [letter for letter in letters if not unicodedata.combining(letter)]
        text = unicodedata.normalize("NFC", "".join(remaining))
    return " ".join(word for word in _PIECE.findall(text) if len(word) <= LONGEST)


def as_query(term: str) -> str:
    """A term of a question (see `lexical.build`) as a query: words in a row, any word
    with a beginning (`*`), or one of several. "" if it has no words."""
    alternatives = []
    for alternative in term.split(EITHER):
        words = searched(alternative).replace(" ", " <-> ")
        beginning = ":*" if words and alternative.endswith("*") else ""
        alternatives.append(f"{words}{beginning}")
    return " | ".join(filter(None, alternatives))


def gate(counts: Mapping[str, int], limit: int) -> str:
    """The query that finds candidates: any of the rarest words, which about `limit`
    chunks have. More common words only add to the scores of these."""
    chosen = list[str]()
    matching = 0
    for query in sorted(counts, key=lambda query: counts[query]):
        matching += counts[query]
        if chosen and matching > limit:
            break
        chosen.append(query)
    return " | ".join(f"({query})" for query in chosen)
