"""Every number by which a search ranks, and why it is what it is.

Figures are of the development halves in docs/benchmarks.md, over memory files of
repositories, turns, facts, functions and long sessions; `python -m tests.bench.choose`
measures what a change of each does. What moved nothing in most of them went: the share
of a text that meets the task, the share of a title as a signal, what kind of thing is
asked for, less for sections of a few words."""

# What a text has of the words of a task.
TITLE = 1.5  # a word of the title counts so much, one of the text 1
COVERAGE = 0.6  # share of BM25 that depends on how much of the task is met
PHRASE = 0.1  # what a phrase of the task adds; the contract asks for one
TRANSLATED = 3.0  # points by idf of a concept under another name

# How words and vectors become one relevance, each relative to the best.
LEXICAL = 0.30
COSINE = 0.40
WORDS = 0.35
SHORT = 400  # characters from which on a text meets words by its length
LONG = 0.7  # and how much less: of long sessions 42 first instead of 19

OF_LINEAR = 0.7  # share of the cosine in the linear fusion, as the contract has it
RANK_CONSTANT = 60  # of reciprocal rank fusion (Cormack et al. 2009)
STOP_WORD = 0.5  # what a stop word weighs in the vector of a task, by idf
LIKENESS = 0.2  # below this cosine two words have nothing to do with each other

# What a section of prose has of its file, and an entry of what stands beside it.
OF_FILE = 0.6  # what the mean of its file adds: right file first, 3 of 100
LENT = 1.2  # what a best neighbour, the next or the one after it, adds where
# the task names the title

# Marks that lower a hit.
OUTDATED = 0.8  # it names what the code has no more
RULED_OUT = 0.001  # the record of a decision that does not hold ranks last
WALKED = 0.5  # what is left of a hit's score one edge of weight 1 away from it

# From which cosine on a text is near by its vector alone: a text of word salad is not.
NEAR = {"local": 0.28, "other": 0.30}
NEAR_STEP = 0.03  # so much more for every doubling beyond 500 texts

# History: exchanges and commits.
LENGTH = 0.35  # how much a part counts less for being long; FTS5's .75 puts a
# bare subject before the message that gives the reason (6 of 26 first, and 17)
SAID_BESIDE = 0.5  # of what exchanges beside it lend (`lend`, as in files): of
# 1,018 questions 73 first, 70 without
SENTENCE = 1.0  # what the nearest sentences add to a stretch, as a whole and word by
# word, the best by BM25 being 1: of 1,018 questions 76 first, 73 without
ALIKE = 0.2  # cosine of words from which two are about one thing
FULL = 24.0  # points above the background that are as strong as any need be
GATE = 0.15  # strength from which on a hit is shown: 21 of 100 unrelated prompts
# have as much, each of 31 decisions has more
COVERED = 0.5  # share of the task from which on it is shown all the same
CLEAR = 0.55  # strength from which on standing entries give way, and a hook
# tells it: 1 of 100 unrelated prompts has as much, each of 31 decisions has more

SAID = 0.6  # share of its words that is said already: it is not told again
OF_RELEVANCE = 0.1  # share of an entry's relevance by which it stands in one list with
# history, where it has less of the task's words

# Which sentences of an exchange are shown, by points: chosen by hand, none of them
# measured alone.
ABOUT = 0.5  # for each word of the task or title, by its idf to the mean of all
OF_TITLE = 0.5  # what a word of the title says of what one of the task does
SETTLES = 0.7  # for each word of a rule or of a decision
MARKED = 0.35  # for each number, constant or code span
SPEAKER = {"person": 0.6, "error": -1.0}
RECAP = 1.4  # where it sums up
LATER = 2.0  # for the last exchange of a stretch
LAST = 0.4  # at the end of what is said in one go
OPENING = 0.8  # less for what was asked: it is known
EMPTY = 1.5  # less for thanks and plans, for a question, for a word alone
REPEATED = 0.7  # share of its words that a shown sentence has: it is not shown
FILLED = 0.9  # share of the room from which on no further one is looked for

# Which paragraphs of an entry are shown, by the weights of the terms in them.
ALONE = 0.5  # what the best paragraph of a run adds by itself
SHORTER = 1e-6  # less for each token: of two that say as much, the shorter

# The gate of prompts: what the terms say that are met, and the cosine, reach
# `inject_min` to be told and LIKELY to be pointed at. These four and `inject_min` were
# chosen by cross-validation over 36 repositories so that of prompts that memory does not
# answer 2 % are told anything and 10 % pointed anywhere; docs/benchmarks.md has the
# figures of the parts that were left out.
LIKELY = 0.34
QUESTION = 0.15  # so much less is enough where a sentence asks
BESIDE = 0.4  # the share of this that is enough beside what reaches it or is told
BY_CHANCE = 0.15
TERMS = 3  # so much more for every doubling of a prompt's terms beyond 2 ** 3
SHARES = (0.2, 1.0, 0.25, 0.05)  # of the best term, the second, the third, each
# but the best: one term alone is nothing
ASKED = 0.5  # power of a word's rarity in other projects where a sentence asks
STATED = 1.25  # and in others; one power for both tells 20 of 121 less
CONCEPT = 0.05  # rarity of a concept under another name: 0.8 tells 20 less
FEW = 10  # texts more, as it were: in a memory of five no word is rare
WORTH = 0.5  # share of the best sentence's strength that another must have
BEARS = 0.40  # strength of what terms say from which on a text bears on a task, so
# that standing entries that do not give way
