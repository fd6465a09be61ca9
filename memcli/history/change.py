"""Whether a text says that it changes what another said. Pure.

What a session teaches has cues of its own: extraction/rules/cues.txt."""

import re
from collections.abc import Collection

from memcli.memory.words import stems
from memcli.text.matching import regex

CHANGES = r"""
      \bno\ longer\b | (?:\bnot\b|n['’]t\b) .{1,60} \bany\s?(?:more|longer)\b   # English
    | \binstead\b | \bin\ place\ of\b | \brather\ than\b
    | \bfrom\ now\ on\b | \bas\ of\ (?:now|today|this|next|version)\b
    | \bsupersed\w+ | \bamend\w* | \breplac(?:es?|ed|ing)\b
    | \brevers(?:es?|ed|ing)\b | \breverts?\b | \breverted\b | \bundo(?:es|ne)?\b
    | \bgo(?:es|ing)?\ back\ to\b | \bchanged?\ (?:my|our)\ minds?\b
    | \bswitch(?:es|ed|ing)?\b .{1,40} \b(?:from|to)\b
    | \b(?:rais|lower|bump|mov|chang|increas|reduc|cut)(?:es?|ed|ing|s)?\b
      .{0,40} \bfrom\b .{1,30} \bto\b
    | \b(?:rais|lower|bump|increas|reduc)(?:es?|ed|ing|s)?\b .{1,40} \bto\ \d
    | \bgo(?:es)?\ (?:up|down)\ to\b | \bwe\b .{1,12} \bdrop(?:ped|ping)?\b
    | ^\W*(?:scrap|drop|forget|correction|update)\b | \btook\ over\b
    | \bused\ to\b .{1,60} \b(?:now|stops?|stopped)\b
    | \bwas\ (?:wrong|the\ wrong)\b | \bis\ gone\b

    | \bnicht\ mehr\b | \bstatt(?:dessen)?\b | \banstelle\b    # German
    | \bab\ (?:sofort|jetzt|heute)\b | \bkünftig\b | \bersetz\w+ | \bgeändert\b

    | \bdésormais\b | \bdorénavant\b | \bau\ lieu\ d | \bà\ la\ place\b     # French
    | \bn['’ ]?e?(?:st|sont)?\ ?\w*\ plus\b | \bon\ change\b | \bremplac\w+

    | \bya\ no\b | \ben\ (?:vez|lugar)\ de\b | \ba\ partir\ de\ (?:ahora|hoy)\b  # Spanish
    | \b(?:reemplaz|sustitu)\w+ | \bcambi(?:a|amos|ó)\b

    | \bnão\b .{1,30} \bmais\b | \bem\ vez\ d | \bno\ lugar\ d  # Portuguese
    | \ba\ partir\ de\ (?:agora|hoje)\b | \bsubstitu\w+ | \bmudamos\b

    | \bnon\b .{1,30} \bpiù\b | \binvece\b | \bal\ posto\b | \bsostitu\w+   # Italian
    | \bd['’]ora\ in\ poi\b

    | \bбольше\ не\b | \bвместо\b | \bотныне\b | \bвпредь\b | \bзамен\w+    # Russian
    | \bотмен\w+ | \bперешли\b | \bперенес\w+ | \bуже\ не\b

    | 不再 | 改为 | 改成 | 换成 | 取代 | 代替 | 从现在起 | 作废    # Chinese
    | に変更 | 代わり | 今後は | これからは | 廃止 | もう.{1,12}ない   # Japanese
    | 이제부터 | 더\ 이상 | 대신 | 변경 | 바꾸 | 바뀌   # Korean
"""
"""Words by which people say that something was otherwise before, in the languages of
the rules for learning."""

_SENTENCE = r"(?<=[.!?])\s+|(?<=[。！？])|\n+"
_NEAR = 1  # sentences on either side in which the thing that changes is named


def says_so(text: str, thing: Collection[str], asked: Collection[str]) -> bool:
    """Whether a text says that it changes something, in or beside a sentence which has
    two of the words of the `thing`, or all there are, and one of what is `asked`."""
    changes = regex(CHANGES, re.VERBOSE | re.IGNORECASE)
    sentences = [part for part in regex(_SENTENCE).split(text) if part]
    wanted = min(len(thing), 2)
    for place, sentence in enumerate(sentences):
        if changes.search(sentence):
            around = " ".join(sentences[max(place - _NEAR, 0) : place + _NEAR + 1])
            words = stems(around)
            if len(words & set(thing)) >= wanted and words & set(asked):
                return True
    return False
