"""What a person takes back in a session: "forget what I said about …", "X is no longer
true", "… replaces what I told you about …". Pure."""

from functools import lru_cache
from typing import NamedTuple

from memcli.text.matching import verbose

LONGEST = 600
"""Characters of a turn in which something is looked for that is taken back."""


class TakenBack(NamedTuple):
    """`about` names what is taken back in the person's words; `every`: all about it;
    `instead` is what holds now."""

    about: str
    every: bool = False
    instead: str = ""


@verbose(ignore_case=True)
def replacing() -> str:
    """A new value, and what it replaces."""
    return r"""
        \A (?: (?:please\s)? remember \s (?:this|that)? (?: \s from \s now \s on )? \s* [:,]? \s* )?
        (?P<instead> .+? [.!。！]? ) \s+
        (?: it | this | that | which ) \s (?: replaces | supersedes | overrides ) \s
        (?: what \s I \s (?: told \s you | said ) (?: \s before | \s earlier )? \s about | the \s old | my \s old ) \s
        (?P<about> .+? ) [.!]* \s* \Z
    """


@verbose(ignore_case=True)
def forgetting() -> str:
    """The person asks that something be forgotten, or says that it was wrong."""
    return r"""
        \A (?: (?: ok(?:ay)? | no | hey | sorry | actually | please | bitte | also ) [,.!]? \s )*
        (?: forget \s (?P<every> everything | anything | all )
          | (?: forget | ignore | disregard | drop | scratch ) \s
            (?: (?P<every_said> everything | anything | all )
                \s (?:that\s)? I \s (?:ever\s)? (?:said|told \s you)
              | what(?:ever)? \s I \s (?:just\s)? (?: said | told \s you ) (?: \s (?:before|earlier) )?
              | the \s (?: rule | note ) ) )
        \s (?: about | on | regarding | concerning | that \s says ) \s (?P<about> .+? )
        (?: [,.;] \s (?: I \s misspoke | that \s was \s wrong | it \s was \s wrong
            | it['’]?s \s (?: wrong | no \s longer \s true ) ) .* )?
        [.!]* \s* \Z
      | \A (?: vergiss | vergessen \s Sie ) [,\s]+ (?: was \s ich \s (?: dir \s | Ihnen \s )?
            (?: über | zu | von ) | alles \s (?P<every_de> über ) ) \s (?P<about_de> .+? )
            (?: \s (?: gesagt | erzählt ) \s (?:habe|hatte) )? [.!]* \s* \Z
      | \A oublie (?:z)? \s (?: ce \s que \s (?:j['’]ai|je \s t['’]ai) \s dit | (?P<every_fr> tout ) ) \s
            (?: sur | à \s propos \s d[eu'’] | au \s sujet \s d[eu'’] ) \s? (?P<about_fr> .+? ) [.!]* \s* \Z
      | \A olvida \s (?: lo \s que \s (?: te \s )? dije | (?P<every_es> todo ) ) \s (?: sobre | de | acerca \s de ) \s
            (?P<about_es> .+? ) [.!]* \s* \Z
      | \A esque[çc]a \s (?: o \s que \s (?:eu\s)? (?: te \s )? disse | (?P<every_pt> tudo ) ) \s (?: sobre | de ) \s
            (?P<about_pt> .+? ) [.!]* \s* \Z
      | \A dimentica \s (?: quello \s che \s (?: ti \s )? ho \s detto
          | (?P<every_it> tutto ) ) \s (?: su (?:l|lla|llo|i|gli|lle)? | di | riguardo \s a ) \s
            (?P<about_it> .+? ) [.!]* \s* \Z
      | \A забудь (?:те)? [,\s]+ (?: что \s я \s (?: тебе \s | вам \s )? (?: сказал[аи]? | говорил[аи]? )
          | (?P<every_ru> всё | все ) )
            \s (?: о | об | про | насчёт ) \s
            (?P<about_ru> .+? ) [.!]* \s* \Z
      | \A (?:请)? (?: 忘掉 | 忘记 | 忘了 ) (?: 我 (?:之前|刚才)? (?: 说的 | 告诉你的 | 说过的 )? )? (?: 关于 | 有关 )?
            (?P<about_zh> .+? ) (?: 的 (?: 事 | 话 | 内容 | 规则 ) )? [。！.!]* \s* \Z
      | \A (?P<about_ja> .+? ) (?: について | に関して ) (?: 言った | 話した | 伝えた ) こと(?:は|を)? (?: 忘れて | 無視して ) .* \Z
      | \A (?P<about_ko> .+? ) (?: 에 \s 대해 | 에 \s 관해 ) (?:\s 내가)? \s (?: 말한 | 한 ) \s?
          (?: 것 | 거 | 말 ) (?: 은 | 을 )? \s (?: 잊어 | 무시해 ) .* \Z
    """


@verbose(ignore_case=True)
def misspoken() -> str:
    """What holds instead of what the person said wrongly: its contrary."""
    return r"""
        \A (?: (?: ok(?:ay)? | no | hey | sorry | actually ) [,.!]? \s )*
        I \s (?: misspoke | was \s (?: wrong | mistaken ) ) (?: \s (?: before | earlier ) )? \s? [,.;:—–-]+ \s
        (?P<instead>
            (?: please \s )? (?: do \s not | don['’]?t | never | (?: we | you ) \s (?: do \s not | don['’]?t
                | should \s not | shouldn['’]?t | must \s not | mustn['’]?t ) ) \s
            (?! (?: mind | worry | bother ) \b )                 # no order at all
            (?P<about> [^,;.!—–]+ ) .* )
        \Z
    """


@verbose(ignore_case=True)
def no_longer() -> str:
    """What is said to hold no more, or to have been wrong. "The eslint rule is wrong"
    is of ESLint's rule: only what holds no longer is a rule that was remembered."""
    return r"""
        \A (?: actually | no | sorry | by \s the \s way )? [,.]? \s*
        (?: (?: the | our | my ) \s (?P<named> [^,;.]+? ) \s (?: rule | note )
              \s is \s no \s longer \s (?: true | valid | needed )
          | (?: the \s (?: rule | note ) \s (?: about | on | that ) \s (?P<about> .+? )
              | what \s I \s (?: said | told \s you ) \s about \s (?P<said> .+? ) )
            \s
            (?: is \s no \s longer \s (?: true | valid | needed )
              | (?: is | was ) \s (?: wrong | a \s mistake )
              | does (?:n['’]t| \s not) \s (?: hold | apply ) \s? (?: anymore | any \s more | any \s longer )? )
          | (?: (?: that | it ) (?: \s was | \s is | ['’]s ) \s (?: wrong | a \s mistake ) ,? \s
                what \s I \s (?: said | told \s you )
              | I \s misspoke | I \s was \s (?: wrong | mistaken ) )
            \s about \s (?P<wrong> [^,;]+? )
          | (?P<rule> .+? ) \s
            (?: is \s no \s longer \s true
              | is (?: \s not | n['’]t ) \s true \s (?: anymore | any \s more | any \s longer )
              | gilt \s nicht \s mehr | n['’]est \s plus \s (?: vrai | valable ) | ya \s no \s vale
              | (?: is \s no \s longer \s (?: valid | needed )
                  | no \s longer \s (?: holds | applies ) )
                (?= [^\w]+ (?: please \s )? forget \b ) ) )         # else of a file, too
        (?: \s? [,;.–—-]+ \s (?: please \s | bitte \s )?
            (?: forget \s (?: that | it | this ) (?: \s rule )?
              | vergiss \s (?: es | das ) | oublie (?: -l[ae] | \s ça ) | olvída l[ao] ) )?
        [.!]* \s* \Z
    """


@verbose(ignore_case=True)
def last_one() -> str:
    """The person takes back what was learned last, without its name. "Forget it" may be
    said of the work at hand, and so may "drop that rule"."""
    return r"""
        \A (?: (?: ok(?:ay)? | no | hey | sorry | actually | please | bitte ) [,.!]? \s )*
        (?: (?: (?: that | this | it ) (?: \s was | \s is | ['’]s ) \s
                    (?: wrong | incorrect | a \s mistake | not \s (?: right | true ) )
              | I \s (?: misspoke | was \s (?: wrong | mistaken ) )
              | das \s (?: war | ist ) \s falsch | c['’]était \s faux | eso \s (?: estaba \s mal | era \s falso )
            ) [,.;:!—–-]+ \s (?: please \s | so \s | and \s | bitte \s )? )?
        (?: (?: forget | unlearn | scratch ) \s (?: about \s )? (?: that | this | the \s last ) \s (?: last \s )?
                (?: rule | note | lesson | memory | entry | instruction ) (?: \s again | \s please )?
          | vergiss \s (?: diese | die \s letzte ) \s (?: regel | notiz | lektion | anweisung ) (?: \s wieder )?
          | oublie \s cette \s (?: règle | note | leçon | consigne )
          | olvida \s es[ao] \s (?: regla | nota | lección | instrucción ) )
        [.!]* \s* \Z
    """


def taken_back(text: str) -> TakenBack | None:
    """What a person's turn takes back, None for nothing; `about` is "" where it is what
    was learned last. The turn is that and no more: a sentence within a longer one is
    left to the person."""
    statement = " ".join(text.split())
    return _taken_back(statement) if 0 < len(statement) <= LONGEST else None


@lru_cache(maxsize=4096)  # each pass over a session asks again
def _taken_back(statement: str) -> TakenBack | None:
    if last_one().match(statement):
        return TakenBack(about="")
    for pattern in (replacing(), misspoken(), forgetting(), no_longer()):
        match = pattern.match(statement)
        if match is not None:
            groups = {name: text for name, text in match.groupdict().items() if text}
            instead = groups.pop("instead", "").strip()
            every = [groups.pop(name) for name in [*groups] if name.startswith("every")]
            (about,) = groups.values()
            return TakenBack(about=about.strip(), every=bool(every), instead=instead)
    return None
