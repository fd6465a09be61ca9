"""Every number by which a search ranks, and why it is what it is.

Figures are of the development halves in docs/benchmarks.md, over memory files of
repositories, turns, facts, functions and long sessions; `python -m tests.bench.choose`
measures what a change of each does. What moved nothing in most of them went: the share
of a text that meets the task, the share of a title as a signal, what kind of thing is
asked for, a least relevance of lenders."""

from typing import Final

# What a text has of the words of a task.
TITLE: Final = 1.5  # a word of the title counts so much, one of the text 1
SUB_WORDS: Final = 0.7  # a hump of an identifier, a pair of characters
COVERAGE: Final = 0.6  # share of BM25 that depends on how much of the task is met
PHRASE: Final = 0.1  # what a phrase of the task adds; the contract asks for one
TRANSLATED: Final = 3.0  # points by idf of a concept under another name

# How words and vectors become one relevance, each relative to the best.
LEXICAL: Final = 0.30
COSINE: Final = 0.40
WORDS: Final = 0.35
OF_LINEAR: Final = 0.7  # share of the cosine for strong embedders, as the seed has it
RANK_CONSTANT: Final = 60  # of reciprocal rank fusion (Cormack et al. 2009)
SHORT: Final = 400  # characters from which on a text meets words by its length
LONG: Final = 0.7  # and how much less: of long sessions 42 first instead of 19

# What a section of prose has of its file, and an entry of what stands beside it.
SCRAP: Final = 150  # characters below which a section says little by itself
SCRAPPY: Final = 0.3
OF_FILE: Final = 0.6  # what the mean of its file adds: right file first, 3 of 100
LENT: Final = 1.2  # what a best neighbour adds where the task names the title
FARTHER: Final = 0.5  # of the neighbour after it
TOGETHER: Final = 0.3  # of all that was written in one session or on one day

# Marks that lower a hit.
OUTDATED: Final = 0.8  # it names what the code has no more
RULED_OUT: Final = 0.001  # the record of a decision that does not hold ranks last

# From which cosine on a text is near by its vector alone: a text of word salad is not.
NEAR: Final = {"local": 0.28, "other": 0.30}
NEAR_STEP: Final = 0.03  # so much more for every doubling beyond 500 texts
