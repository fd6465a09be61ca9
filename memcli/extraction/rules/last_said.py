"""A session as it stands once the person has taken something back in it. Pure."""

from memcli.extraction.rules import find
from memcli.extraction.rules.statements import standing
from memcli.sessions.model import Session
from memcli.sessions.taking_back import taken_back


def as_it_stands(session: Session) -> Session:
    """The session without what is taken back later in it, where "forget that rule" names
    what it means: the rule that was learned last before."""
    turns = [*session.turns]
    for place, turn in enumerate(session.turns):
        back = taken_back(turn.text) if turn.human else None
        if back is None or back.about:
            continue
        before = standing(session._replace(turns=tuple(turns[:place])))
        for learned in find(before).kept[-1:]:
            named = f"Forget what I said about {learned.body}"
            turns[place] = turn._replace(text=named)
    return standing(session._replace(turns=tuple(turns)))
