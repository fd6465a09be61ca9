"""How far a turn of the person says itself that it was not expected. Pure."""

from memcli.text.matching import verbose

REVELATION = 1.0
PIVOT = 0.7
LONGEST = 600  # characters: what is longer is pasted, or tells of something else


def surprise_said(text: str) -> float:
    """1.0 for what breaks the model of things ("I had no idea"), 0.7 for a pivot
    ("Wait, what?"), 0.0 for all else."""
    if len(text) > LONGEST:
        return 0.0
    if _revelation().search(text):
        return REVELATION
    return PIVOT if _pivot().search(text) else 0.0


@verbose(ignore_case=True)
def _revelation() -> str:
    """What was believed does not hold any more."""
    return r"""
        \b (?: I | we ) [ ] had [ ] no [ ] (?: idea | clue )
      | \b (?: this | that | which ) [ ] changes [ ] everything
      | \b (?: never | not ) [ ] (?: in [ ] a [ ] million [ ] years
                                   | would [ ] (?: I [ ])? have [ ] (?: guessed | thought ) )
      | \b das [ ] ändert [ ] alles | \b ich [ ] hatte [ ] keine [ ] ahnung
      | \b (?: ça | cela ) [ ] change [ ] tout
      | \b je [ ] n' (?: en [ ])? avais [ ] aucune [ ] idée
      | \b (?: eso | esto ) [ ] lo [ ] cambia [ ] todo | \b no [ ] tenía [ ] ni [ ] idea
      | \b isso [ ] muda [ ] tudo | \b eu [ ] não [ ] fazia [ ] ideia
      | \b questo [ ] cambia [ ] tutto | \b non [ ] (?: ne [ ])? avevo [ ] idea
      | это [ ] (?: всё | все ) [ ] меняет | понятия [ ] не [ ] имел
      | 完全没想到 | 这(?:就)?改变了一切 | 完全不知道
      | 全く知らなかった | 全然知らなかった | すべてが変わ | 話が変わ
      | 전혀 [ ]? 몰랐 | 모든 [ ] (?: 게 | 것이 ) [ ] (?: 바뀌 | 달라지 )
    """


@verbose(ignore_case=True)
def _pivot() -> str:
    """Something else is the case than was thought; it is said at the beginning."""
    return r"""
        \A \s* (?: oh | hm+ | huh | whoa | wow )? [ ,!.]*
        (?:
            wait [ ,.!…]+ what | what \s* \?\s*! | what \s* !\s*\?
          | (?: now [ ] )? that (?: 's | [ ] is ) [ ] (?: different | unexpected | surprising )
          | (?: I [ ] )? did (?: n't | [ ] not ) [ ] (?: expect | see [ ] that [ ] coming )
          | moment [ ,.!]+ was | warte [ ,.!]+ was | das [ ] ist [ ] ja [ ] etwas [ ] anderes
          | attends? [ ,.!]+ quoi | espera [ ,.!]+ (?: qué | o [ ] qu[eê] )
          | aspetta [ ,.!]+ (?: che | cosa ) | подожди | стоп [ ,.!]+ что
          | 等等 | 等一下 [，,!！]? 什么 | え [、,!！?？] | 待って | 잠깐 | 뭐 \s* \?
        )
    """
