"""Every number by which a search ranks, and why it is what it is.

Figures are of the development halves in docs/benchmarks.md, over memory files of
repositories, turns, facts, functions and long sessions; `python -m tests.bench.choose`
measures what a change of each does. What helped in few of them went. How many are
looked at, and the tokens and characters that are read or shown, stand where that is
done: they bound time and room. Four more a user may set, `inject_min`, `context`,
`mmr_lambda` and `prominence_weight`: `Config`."""

# What a text has of the words of a task, in memory files and in history.
PHRASE = 0.1  # what a phrase of the task adds; the contract asks for one
LENGTH = 0.35  # how much a text counts less for being long; FTS5's .75 puts a
# bare subject before the message that gives the reason (6 of 26 first, and 17)
SHORT = 400  # characters from which on a text meets words by its length: of long
# sessions 42 first instead of 19; paragraphs are cut there
PASSAGE = 1200  # characters of bullets that are searched and shown together
LIKENESS = 0.2  # below this cosine two words, or the words of two exchanges, have
# nothing to do with each other

# Fusions of the contract; the blend gives BM25, cosine and words one weight.
OF_LINEAR = 0.7  # share of the cosine in the linear fusion, as the contract has it
RANK_CONSTANT = 60  # of reciprocal rank fusion (Cormack et al. 2009)

# Marks that lower a hit.
OUTDATED = 0.8  # it names what the code has no more
RULED_OUT = 0.001  # the record of a decision that does not hold ranks last

# From which cosine on a text is near by its vector alone: a text of word salad is not.
NEAR = 0.3
NEAR_STEP = 0.03  # so much more for every doubling of the texts beyond `NEAR_FROM`,
NEAR_FROM = 500  # of which some are near by chance

# History: exchanges and commits.
GONE = 0.5  # how much the words of removal count where a task asks about what is gone:
# of 49 such questions 36 are answered first, 18 without
SAID_BESIDE = 0.5  # of what exchanges beside it lend (`lend`, as in files): of
# 1,018 questions 73 first, 70 without
SAID = 0.6  # share of its words that is said already: it is not told again, and what
# shares less is not compared word by word; and the cosine from which a word of memory
# says what one of a prompt in another language does: of 42 such prompts 15 are told
# something instead of 9, of 168 of other repositories 6 instead of 2; 0.5 tells 18 and 8
OF_RELEVANCE = 0.1  # share of an entry's relevance by which it stands in one list with
# history, where it has less of the task's words

# The gate of prompts, one of both corpora: `inject_min` is reached by the terms that
# are met beyond `OTHERS`, in memory by the two that say most and the cosine, too. A
# prompt is pointed at what reaches it so; with LIKELY in its place 454 of 2,968 prompts
# about something else are, not 48. LIKELY is the bar of what is shown to who asks. It,
# QUESTION, TERMS and `inject_min` were chosen by cross-validation over 36 repositories;
# docs/benchmarks.md has the figures of the parts that were left out.
OTHERS = 2  # terms of a task that the best text of another history has, too; with 1
# or 3 a false alarm of 1 % leaves 73 and 63 of 100 questions, not 74
EACH = 0.65  # what each further one says where all of the task stands together: of
# 3,888 pairs of a prompt and another repository's history `inject_min` is reached by
# 0.85 %, chosen anew without each fifth of the histories by 0.9 %; in memory without it
# 74 of 255 questions are told the answer, not 88, and 39 of 2,968 others anything, not 41
LIKELY = 0.34  # by terms alone, standing entries that bear on a task less give way
QUESTION = 0.15  # so much less is enough where a sentence asks
BY_CHANCE = 0.2  # so much more in memory for every doubling of a prompt's terms beyond
# 2 ** TERMS: of 868 long reports about other things 17 are told, with 0.15 31
TERMS = 3
BEST = 0.2  # of what the best term says: the second says all, one alone nothing
MORE = 0.05  # of what all of them say, where sentences are compared
ASKED = 0.5  # power of a word's rarity in other projects where a sentence asks, and
# in the order of commits: of 49 questions about what is gone 18 first, 10 without
STATED = 1.25  # and in others; one power for both tells 20 of 121 less
FEW = 10  # texts more, as it were: in a memory of five no word is rare; in fewer than
# these less is met by chance
WORTH = 0.5  # share of the best one's strength that what stands beside it must have: a
# sentence, a commit, what lends; of the bar beside what reaches it; and of a hit's
# score, what is left one edge away from it

# The room of an answer.
OF_ROOM = 0.4  # share of it for one hit of memory: where history is strong, it has the
# rest
OF_HISTORY = 0.7  # share of what history has left for each of its hits: of 31
# decisions the block has 30; 29 with 0.6
