"""An answer that says each sentence once. Pure."""

from collections.abc import Sequence
from itertools import dropwhile

from memcli.recall.hit import BETWEEN, Hit
from memcli.text.sentences import sentence_parts, sentences

FEWEST = 14  # bytes of a sentence that is told once
_LEADS = "no, no. no: no! nein, nein. non, non. and but also und aber et y".split()
_MARKS = " .,;:!?…*_`\"'#>|-。，！？"
_ANSWERS = frozenset(
    """
    no nope nah ok okay yes yeah yep sure right again fine good great nice cool
    perfect thanks thank you thx hm hmm oh ah so well now sorry please nein ja danke
    gut genau stimmt super bitte doch non oui merci bien parfait bon daccord sí si
    gracias vale bueno perfecto sì grazie bene perfetto va não sim obrigado obrigada
    certo ótimo нет да спасибо хорошо ладно отлично 不 不用 好 好的 是 是的 对 谢谢 可以 行 いいえ いえ
    はい ありがとう ありがとうございます 了解 아니 아니요 아니오 네 예 고마워 감사합니다 좋아 좋아요 알겠어 that this s is wrong
    incorrect falsch das ist faux 不对 不是 错了 違う 아니야
    """.split()
)
"""A text may begin with sentences of these alone: they answer what is not shown."""
_WORDS_OF_OTHERS = ("institutional", "history", "pointed")  # their heads name a place


def once(items: Sequence[Hit]) -> list[Hit]:
    """The items of an answer, no sentence twice: a title says it first, an episode
    last."""
    seen: set[str] = set()
    for item in items:
        if item.layer not in _WORDS_OF_OTHERS:
            title = item.head.partition(BETWEEN)[0]
            seen.update(map(_bare, [title, *sentences(title)]))
    episodes_last = sorted(items, key=lambda item: item.kind == "episode")
    texts = {id(item): _unsaid(item, seen) for item in episodes_last}
    return [item._replace(text=texts[id(item)]) for item in items]


def _unsaid(item: Hit, seen: set[str]) -> str:
    """The sentences of an item that were not `seen`, and now are; code stays whole."""
    if item.layer == "institutional" or "```" in item.text:
        return item.text
    every = sentence_parts(item.text)
    said = list(dropwhile(_answers, every)) or every
    kept = [sentence for sentence in said if _bare(sentence) not in seen]
    seen.update(bare for bare in map(_bare, said) if len(bare.encode()) >= FEWEST)
    return "".join(kept).strip()


def _answers(sentence: str) -> bool:
    return _ANSWERS.issuperset(_bare(sentence).replace(",", " ").split())


def _bare(sentence: str) -> str:
    """The words of a sentence, without what leads from another to it, and marks around
    them."""
    own = dropwhile(_LEADS.__contains__, sentence.casefold().split())
    return " ".join(own).strip(_MARKS)
