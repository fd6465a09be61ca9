"""What each piece of evidence is worth, for what a person says and for what an agent finds out.

Fitted by `python -m tests.bench.fit_rules SESSIONS`: logistic regression on labelled sessions,
drawn towards values that were set by hand. A sentence counts from 0 on. The base of what agents
find out is set 0.7 lower than it was fitted: what they say of the work at hand looks much the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def _table(text: str) -> Mapping[str, float]:
    rows = (row.strip().rpartition(" ") for row in text.replace("\n", " ").split("|"))
    return {name: float(weight) for name, _, weight in rows}


PERSON = _table("""
both halves 2.8 | preference 1.5 | begins: prefers 1.5 | durable 1.34 | one over another 1.19 |
begins: lasts 1.0 | note 0.87 | begins: corrects 0.87 | past 0.81 | autonomy 0.8 | manner 0.79 |
ours 0.78 | conceded 0.76 | chosen 0.73 | oblige 0.62 | reason 0.58 | interrupted 0.54 | instead
0.51 | finding 0.47 | 8 to 25 words 0.44 | correct 0.43 | settle 0.41 | over 25 words 0.39 |
forbid 0.39 | general 0.33 | wish 0.32 | identifier 0.32 | in the closing summary 0.21 | said by
the agent later 0.19 | only sentence 0.19 | after a question 0.15 | because 0.14 | surprise 0.13 |
said by the agent thrice 0.11 | condition 0.11 | you 0.1 | done -0.14 | begins: points -0.15 |
assent -0.15 | what was done -0.18 | plan -0.21 | moment -0.33 | place in code -0.34 | begins:
asks -0.4 | url -0.41 | said by the person elsewhere -0.44 | 4 to 7 words -0.5 | first turn -0.58
| begins: tasks -0.64 | long turn -0.71 | question -0.98 | about nothing -1.01 | ends in a colon
-1.02 | heading -1.5 | base -1.75 | taken back -2.0 | very long turn -2.01 | under 4 words -2.04
""")
AGENT = _table("""
finding 0.69 | surprise 0.65 | reason 0.62 | settle 0.61 | lead 0.57 | said by the person
elsewhere 0.51 | over 25 words 0.42 | general 0.41 | durable 0.41 | in the closing summary 0.37 |
past 0.34 | code 0.33 | after an error 0.33 | denial 0.31 | 8 to 25 words 0.31 | because 0.29 |
note 0.28 | dash 0.26 | said by the agent thrice 0.22 | about what was asked 0.22 | said by the
agent later 0.2 | agreed to 0.2 | oblige 0.19 | condition 0.12 | wish 0.11 | hedge -0.14 | task
-0.16 | in a list -0.21 | place in code -0.25 | you -0.28 | person -0.38 | begins: points -0.39 |
now -0.42 | what was done -0.44 | assent -0.52 | only sentence -0.64 | begins: tasks -0.7 | done
-0.73 | very long turn -0.82 | ends in a colon -0.94 | heading -0.97 | 4 to 7 words -1.0 | plan
-1.13 | question -1.43 | about nothing -1.49 | taken back -2.0 | under 4 words -2.01 | base -3.24
""")


def worth(evidence: Iterable[str], *, human: bool) -> float:
    """The sum of the evidence, above 0 for what is worth keeping."""
    table = PERSON if human else AGENT
    return table["base"] + sum(table.get(name, 0.0) for name in evidence)
