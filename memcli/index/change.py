"""Whether a text says that it changes what another said. Pure.

What a session teaches has cues of its own: extraction/rules/cues.txt."""

import re
from collections.abc import Set
from functools import lru_cache

from memcli.index.lexical import is_english
from memcli.memory.words import stems
from memcli.text.matching import regex
from memcli.text.sentences import sentences

CHANGES = r"""
      \b (?: no\ longer\b    # English
    | not\b .{1,60} \bany\s?(?:more|longer)\b
    | instead\b | in\ place\ of\b | rather\ than\b
    | from\ now\ on\b | as\ of\ (?:now|today|this|next|version)\b
    | supersed\w+ | amend\w* | replac(?:es?|ed|ing)\b
    | revers(?:es?|ed|ing)\b | reverts?\b | reverted\b | undo(?:es|ne)?\b
    | go(?:es|ing)?\ back\ to\b | changed?\ (?:my|our)\ minds?\b
    | switch(?:es|ed|ing)?\b .{1,40} \b(?:from|to)\b
    | (?:rais|lower|bump|mov|chang|increas|reduc|cut)(?:es?|ed|ing|s)?\b
      .{0,40} \bfrom\b .{1,30} \bto\b
    | (?:rais|lower|bump|increas|reduc)(?:es?|ed|ing|s)?\b .{1,40} \bto\ \d
    | go(?:es)?\ (?:up|down)\ to\b | we\b .{1,12} \bdrop(?:ped|ping)?\b
    | (?:get|gets|got|getting)\ rid\ of\b | took\ over\b | used\ to\b .{1,60} \b(?:now|stops?|stopped)\b
    | was\ (?:wrong|the\ wrong)\b | (?:is|are)\ gone\b
    | (?:no\ one|nobody|none|nothing|never)\b .{1,60} \bany\s?(?:more|longer)\b
    | (?:stop(?:s|ped)?|quit)\ \w+ing\b | gave\ up\b | abandon\w+ | obsolete\b
    | (?:mov|migrat)(?:es?|ed|ing)\b .{0,30} \b(?:away\ from|off)\b
    | (?:was|were)\ too\ \w+ | not\ \d

    | nicht\ mehr\b | statt(?:dessen)?\b | anstelle\b    # German
    | ab\ (?:sofort|jetzt|heute)\b | künftig\b | ersetz\w+ | geändert\b
    | nicht\ länger\b | nur\ noch\b | kein\w*\b .{1,30} \bmehr\b | umgestellt\b
    | (?:umgestiegen|gewechselt|abgeschafft|abgelöst|überholt|entfällt)\b
    | (?:erhöht|gesenkt|verlängert|verkürzt|reduziert)\b .{0,20} \bauf\b

    | désormais\b | dorénavant\b | au\ lieu\ d | à\ la\ place\b     # French
    | n['’ ]?e?(?:st|sont)?\ ?\w*\ plus\b | on\ change\b | remplac\w+
    | abandonn\w+ | supprim\w+ | pass(?:e|ons|é)\w*\ (?:de|à|au)\b
    | (?:port|mont|rédui|augment|abaiss)\w+\ (?:de\b .{1,20} \b)? à\ \d

    | ya\ no\b | en\ (?:vez|lugar)\ de\b | a\ partir\ de\ (?:ahora|hoy)\b  # Spanish
    | (?:reemplaz|sustitu)\w+ | cambi(?:a|amos|ó)\b | en\ adelante\b | abandon\w+
    | dej(?:a|an|ó|amos|aron|ado)\ de\b | pas(?:a|an|ó|amos|aron|ado)\ a\b
    | (?:sub|baj|reduc|reduj|aument|ampli)\w+\ (?:de\b .{1,20} \b)? a\ \d

    | não\b .{1,30} \bmais\b | em\ vez\ d | no\ lugar\ d  # Portuguese
    | a\ partir\ de\ (?:agora|hoje)\b | substitu\w+ | mudamos\b
    | deix\w+\ de\b | pass(?:a|am|ou|amos|aram)\ a\b | troc(?:amos|ou|aram)\b
    | (?:sub|baix|reduz|aument|ampli)\w+\ (?:de\b .{1,20} \b)? para\ \d

    | non\b .{1,30} \bpiù\b | invece\b | al\ posto\b | sostitu\w+   # Italian
    | d['’]ora\ in\ poi\b | sme(?:tt|ss)\w+\ di\b | abbandon\w+
    | pass(?:a|ano|iamo|ato|ata|ati)\ a\b
    | (?:aument|ridot|port|abbass|alz)\w+\ (?:da\b .{1,20} \b)? a\ \d

    | больше\ не\b | вместо\b | отныне\b | впредь\b | замен\w+    # Russian
    | отмен\w+ | перешли\b | перенес\w+ | уже\ не\b
    | отказ(?:ал|ыва)\w+ | перев(?:ели|одим) | сменил\w* | устарел\w*
    | (?:увелич|уменьш|повы|пони|сокра|продл)\w+\ (?:с\b .{1,20} \b)? до\b )

    | n['’]t\b .{1,60} \bany\s?(?:more|longer)\b
    | ^\W*(?:scrap|drop|forget|correction|update)\b
    | 不再 | 改为 | 改成 | 换成 | 取代 | 代替 | 从现在起 | 作废    # Chinese
    | 调整为 | 调整到 | 改用 | 改到 | 换为 | 换用 | 弃用 | 停用 | 废弃 | 不用了 | 取消 | 变更
    | 切换 | (?:提高|降低|降|增加|减少|延长|缩短|推迟|提前)(?:到|至|为)
    | に変更 | 代わり | 今後は | これからは | 廃止 | もう.{1,12}ない   # Japanese
    | 切り替え | 移行し | やめ(?:て|ま|た) | 使わな | に変え | 改めて
    | に(?:延ば|伸ば|引き上げ|引き下げ|増や|減ら|短縮|延長)
    | 이제부터 | 더\ 이상 | 대신 | 변경 | 바꾸 | 바뀌 | 바꿨   # Korean
    | 이제(?:는|\ ) | 전환 | 폐기 | 옮기 | 옮겼 | 쓰지\ 않
    | 교체 | 로\ (?:늘|줄|높|낮|연장|단축)
"""
"""Words by which people say that something was otherwise before, in the languages of
the rules for learning."""

GONE = "remove | drop | delete | replace | switch"
"""What commits say of what was so before: any of these, in the forms of each."""

_TAKES_OUT = "remov | drop | delet"  # the stems of what takes something out
# How English asks of it: the words of all languages take six milliseconds to compile,
# which a hook has seldom to spare.
_ASKS_OF_IT = rf"""(?xi)
    \b (?: {_TAKES_OUT} | replac | happened\ to\b | gone\b | no\ longer\b
      | any\ ?(?: more | longer )\b | rid\ of\b | instead\ of\b | stopped\ \w+ing\b )
"""
_WORD_OF_IT = rf"""(?x)
    (?: {_TAKES_OUT} | replac ) \w*
    | happened | gone | rid | get | longer | any | anymore | more
"""
READ = 2_000  # characters of a task in which words of change are looked for
_REMOVES = rf"(?xi) \b (?: {_TAKES_OUT} )"
_VERSION = r"(?<![\w.])\d+(?:\.\d+)+(?!\w)"
_NEAR = 1  # sentences on either side in which the thing that changes is named


def _changes() -> re.Pattern[str]:
    return regex(CHANGES, re.VERBOSE | re.IGNORECASE)


def asks_of_it(task: str) -> bool:
    """Whether a task asks about something that was otherwise before."""
    head = task[:READ]
    if regex(_ASKS_OF_IT).search(head):
        return True
    is_other = not is_english(head.lower())
    return is_other and bool(_changes().search(head))


def is_word_of_it(term: str) -> bool:
    """Whether a term of such a task says that something changed, not what."""
    return regex(_WORD_OF_IT).fullmatch(term) is not None


def removes(subject: str) -> bool:
    """Whether a commit's subject says that it takes something away."""
    return regex(_REMOVES).search(subject) is not None


def versions(text: str) -> frozenset[str]:
    """The versions in a text."""
    return frozenset(regex(_VERSION).findall(text))


def says_so(text: str, thing: Set[str], asked: Set[str]) -> bool:
    """Whether a text says that it changes something, in or beside a sentence which has
    two of the words of the `thing` and one of what is `asked`."""
    return any(
        len(words & thing) > 1 and not words.isdisjoint(asked)
        for words in _around_changes(text)
    )


@lru_cache(maxsize=16)  # one text is compared with several others
def _around_changes(text: str) -> list[set[str]]:
    """The words in and beside each sentence that says that something changes."""
    changes = _changes()
    parts = sentences(text, clauses=True)
    return [
        stems(" ".join(parts[max(place - _NEAR, 0) : place + _NEAR + 1]))
        for place, sentence in enumerate(parts)
        if changes.search(sentence)
    ]
