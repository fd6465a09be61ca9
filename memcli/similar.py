"""Near-duplicates, clusters and contradictions among entry bodies: lexical, exact, order-independent.

A wrong merge hides a lesson, a missed merge only costs a line; every doubt here says "different".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, combinations, product
from math import ceil
from typing import NamedTuple


class Phrase(NamedTuple):
    """Content terms between two function words or punctuation marks.

    `governor` is the preposition, conjunction or "not" that opens it ("" for a main clause).
    """

    clause: int
    governor: str
    negated: bool
    terms: tuple[str, ...]


class Claim(NamedTuple):
    """What one body asserts: its words for Jaccard, the rest for the guard.

    `numbers`, `paths`, `flags` and `names` (identifiers, operators) must be equal in duplicates;
    `code` holds the plain words of code spans, `proper` the terms with a capital inside a sentence.
    """

    words: frozenset[str]
    phrases: tuple[Phrase, ...]
    numbers: frozenset[str]
    paths: frozenset[str]
    flags: frozenset[str]
    names: frozenset[str]
    code: frozenset[str]
    proper: frozenset[str]
    limits: frozenset[str]


class Cluster(NamedTuple):
    """Bodies connected by near-duplicate pairs; to be merged only when `guarded` is empty.

    `guarded` names member pairs which a guard keeps apart, with its reason, whether they are joined
    through other members or not; of several identical bodies the one with the smallest index stands.
    """

    members: tuple[int, ...]
    guarded: tuple[tuple[int, int, str], ...]


class _Token(NamedTuple):
    kind: str
    text: str
    code: bool = False
    proper: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- vocabulary ---------------------------------------------------------------------------------

LONG_CLAUSE = 64
"""How many terms of one clause are compared in pairs; no sentence of a person has more."""
_TRANSPARENT = _words(
    """
    a an the this that these those it its is are was were be been being am do does did has have had
    having will would shall should must may might can could need needs ought let lets we you i they he
    she our your their my his her us them one there here please just simply really very also too already
    still now today currently actually basically generally quite always ever each any all every both own
    such ok okay fine sure ensure note remember recommended s t re ve ll d m der die das den dem des ein
    eine einen einem einer ist sind wird werden man sich es immer bitte auch muss müssen soll sollen el
    la los las un una unos unas es son se lo le al del que siempre debe deben le les est sont il faut
    toujours
    """
)
_GOVERNING = """
    before vor antes avant | after nach nachdem después despues après | instead rather statt anstatt
    lugar | over | than | then danach luego | from von desde | to zu zum zur | into onto | until till
    bis hasta | when wenn sobald cuando quand | if falls si | unless | except excluding außer salvo
    excepto | only solely exclusively nur solo sólo solamente | because weil porque | since | so | but
    aber pero sondern sino however otherwise | while whereas | in im en | on auf | at bei | for für para
    pour | with mit con avec | by durch por | via | of de | off | out aus | under below unter bajo |
    above über | between zwischen entre | through | during während durante | across | against |
    per | about | as | although though | where | which who whose | whether | toward towards |
    inside within | outside | beyond | up | down
"""
_GOVERNORS = {word: line.split()[0] for line in _GOVERNING.split("|") for word in line.split()}
_SCOPE_ENDS = frozenset({"because", "since", "so", "but", "while", "instead", "when", "if", "unless", "then"})
_STICKY = frozenset({"not", "instead", "only", "except", "before", "after"})
_JOINERS = frozenset({"and", "or", "und", "oder", "y", "o", "e", "et", "ou", "plus"})
_PARTICLES = _words(
    """
    not no never none nothing nobody nowhere neither nor non dont doesnt didnt cant cannot wont isnt
    nicht kein keine keinen keinem keiner keines nie niemals weder nunca jamás jamas ningún ninguna
    ninguno nada ni tampoco ne pas jamais aucun aucune não nao nem
    """
)
_REFUSALS = _words(
    """
    without avoid avoids avoiding avoided refrain forbid forbids forbidden prohibit prohibits prohibited
    ban bans banned unable ohne vermeide vermeiden vermeidet verboten sin evitar evita evite prohibido
    sans éviter sem
    """
)
_NOT_NEGATED = _words("only just merely necessarily matter forget forgets fail hesitate neglect")
_LIGHT = _words("use do be mak put rely call try attempt want set get even verwend usa")
_RESUME = _words("use do keep always instead then let prefer")
_NOT_ADVERBS = _words("assembly anomaly multiply butterfly")
_TRAILING = frozenset({"nicht", "pas"})
_LIMITS = {"only": "only", "except": "except", "unless": "except"}
_CONDITIONS = frozenset({"if", "when", "unless", "except", "only", "until", "while", "during", "where"})
_DIRECTED = frozenset({"before", "after", "not", "instead", "over", "than", "until", "then"})
_NUMERALS = "two three four five six seven eight nine ten eleven twelve"
_COUNTS = {word: str(count) for count, word in enumerate(_NUMERALS.split(), 2)}
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "z.b", "d.h", "u.a", "p.ej", "a.k.a", "vs", "u.s"})
_SLASHED = _words(
    """
    and/or i/o ci/cd tcp/ip client/server read/write on/off true/false yes/no input/output either/or n/a
    w/o start/stop enable/disable before/after his/her he/she start/end dev/prod open/close up/down
    """
)

_SYNONYMS = """
    full entire whole complete | run execute invoke launch | use using used utilize employ leverage |
    fix repair resolve | check verify confirm | create generate | delete erase | build compile |
    begin commence | fast quick rapid | big large huge | small tiny little | repo repository |
    config configuration configure settings | db database | docs documentation | dir directory folder |
    env environment | prod production | dev development | param parameter | arg argument |
    app application | auth authentication authenticate | func function | var variable | msg message |
    info information | spec specification | perf performance | async asynchronous asynchronously |
    sync synchronous synchronously | deploy deployment | release ship | break fail | error failure |
    crash abort | prefer favour favor | must should required mandatory | show display |
    choose select pick | change modify alter | keep retain preserve | happen occur | help assist |
    ask request | give provide supply | get obtain fetch retrieve | send transmit | old outdated |
    problem issue bug | job task | often frequently | since because | when whenever |
    hence therefore thus | developer engineer | wrong incorrect | right correct | different distinct |
    important crucial critical essential | hang stall | slow sluggish | missing absent unset |
    inside within | path location | see view | look search | stay remain | local locally |
    automatic automatically | manual manually by-hand | colour color | behaviour behavior |
    serialise serialize | initialise initialize | normalise normalize | optimise optimize |
    authorise authorize | licence license | cancelled canceled | branch branches | statement instruction |
    k8s kubernetes | postgres postgresql | js javascript | ts typescript | py python |
    verwende verwenden benutze benutzen nutze nutzen | usa usar utiliza utilizar |
    ausführen starte starten | ejecuta ejecutar | become became | run ran | take took taken |
    break broke broken | send sent | write wrote written | choose chose chosen | give gave given |
    get got gotten | go went gone | keep kept | lose lost | make made | hang hung | begin began begun |
    build built | drop dropped | mean meant | throw threw thrown | freeze froze frozen | hide hid hidden |
    know knew known | catch caught | find found | hold held | tell told
"""

# Claims that cannot both be followed.
_OPPOSITES = """
    enable disable | activate deactivate | allow deny | allow forbid | allow block | allow disallow |
    permit deny | permit prohibit | accept reject | increase decrease | increase reduce | raise lower |
    grow shrink | before after | on off | true false | yes no | add remove | append remove |
    insert delete | create delete | include exclude | start stop | start kill | lock unlock | show hide |
    keep remove | keep delete | keep drop | require optional | mandatory optional | must optional |
    sync async | blocking nonblocking | safe dangerous | trust distrust | accept refuse | prefer avoid |
    run skip | respect ignore | follow ignore | open close | mutable immutable | strict lenient |
    strict loose | tabs spaces | merge split | eager lazy | public private | with without | above below |
    more less | more fewer | faster slower | higher lower | greater smaller | least most |
    always sometimes | always rarely | always seldom | everything nothing | everyone nobody | pass fail |
    succeed fail | success failure | work break | good bad | right wrong | possible impossible |
    required forbidden | erlauben verbieten | vor nach | immer selten | hinzufügen entfernen |
    öffnen schließen | erhöhen senken | aktivieren deaktivieren | aktiviere deaktiviere | antes después |
    siempre nunca | habilitar deshabilitar | habilita deshabilita | activar desactivar |
    activa desactiva | añadir eliminar | añade elimina | permitir prohibir | permite prohíbe |
    abrir cerrar | abre cierra | aumentar disminuir | aumenta disminuye | aumentar reducir |
    aumenta reduce | 启用 禁用 | 开启 关闭 | 打开 关闭 | 允许 禁止 | 增加 减少 | 之前 之后 | 同步 异步 |
    添加 删除 | 加锁 解锁 | 必须 可选 | 总是 偶尔 | 有効 無効
"""

# Groups whose members differ, though two claims that differ in them may both hold.
_CONTRASTS = """
    in out | under out | min max | minimum maximum |
    minimal maximal | first last | first second third | old new |
    oldest newest | left right | top bottom | up down | inside outside | input output | inbound outbound |
    incoming outgoing | ingress egress | source target | source destination | parent child | read write |
    reader writer | get set | get post put patch delete head | push pull | upload download |
    import export | encode decode | encrypt decrypt | compress decompress | serialize deserialize |
    connect disconnect | login logout | attach detach | mount unmount | install uninstall |
    subscribe unsubscribe | upgrade downgrade | begin end | start end | start finish | from to |
    over under | until when | until if | until after | until before | when before | before during |
    after during | must may | must can | must might | should may | may required | all some | all none |
    every some | many few | often rarely | usually rarely | always usually | always often |
    always occasionally | once twice thrice | early late | earlier later | fast slow | long short |
    big small | high low | high medium low | hot cold | heavy light | deep shallow | positive negative |
    even odd | ascending descending | asc desc | forward backward | forwards backwards | forward reverse |
    horizontal vertical | primary secondary | primary replica | leader follower | client server |
    frontend backend | sender receiver | producer consumer | publisher subscriber | request response |
    caller callee | upstream downstream | local remote | internal external | global local |
    static dynamic | static random | serial parallel | sequential parallel | temporary permanent |
    relative absolute | soft hard | weak strong | empty full | missing present | absent present |
    null notnull | staging production development testing preview sandbox | unit integration e2e |
    debug release | debug info warning error critical fatal | info warn | merge rebase squash |
    amend fixup | save discard | npm pnpm yarn bun deno | pip uv poetry conda pipenv pdm |
    postgres mysql sqlite mariadb oracle mongodb dynamodb cassandra | redis memcached valkey |
    kafka rabbitmq sqs nats pulsar | docker podman containerd | kubernetes nomad swarm |
    aws gcp azure cloudflare | github gitlab bitbucket gitea | jenkins circleci travis buildkite |
    linux macos windows freebsd | ubuntu debian alpine fedora centos | chrome firefox safari edge |
    android ios | python ruby go rust java kotlin scala typescript javascript php perl swift elixir |
    bash zsh fish powershell | json yaml toml xml csv ini protobuf avro | rest graphql grpc soap |
    http https | tcp udp | ssh https | pytest unittest nose | jest vitest mocha jasmine |
    cypress playwright selenium | ruff flake8 pylint | black yapf ruff | mypy pyright pytype |
    eslint biome prettier | react vue svelte angular | webpack vite rollup esbuild parcel |
    flask django fastapi | make just bazel gradle maven ninja cmake |
    terraform pulumi ansible cloudformation | gcc clang msvc | main develop master trunk | utc local |
    ascii utf | md5 sha | x86 arm | monday tuesday wednesday thursday friday saturday sunday |
    january february march april june july august september october november december |
    hourly daily nightly weekly monthly yearly annually quarterly | morning evening |
    millisecond second minute hour day week month year | byte kilobyte megabyte gigabyte |
    red green yellow blue | uppercase lowercase | singular plural | snake camel kebab pascal |
    admin user guest | reads writes | rows columns | row column | width height | cpu gpu | memory disk |
    thread process | class function module | alpha beta |
    montag dienstag mittwoch donnerstag freitag samstag sonntag |
    lunes martes miércoles jueves viernes sábado domingo | 测试 生产 开发 预发 | 最大 最小 | 推送 拉取 |
    上传 下载 | 读取 写入 | 主库 从库 | 客户 服务 | 前端 后端
"""

_UNITS = {
    unit: (dimension, factor)
    for dimension, factor, units in (
        ("s", 0.001, "ms msec msecs millisecond milliseconds"),
        ("s", 1.0, "s sec secs second seconds"),
        ("s", 60.0, "min mins minute minutes"),
        ("s", 3600.0, "h hr hrs hour hours"),
        ("s", 86400.0, "d day days"),
        ("s", 604800.0, "week weeks"),
        ("%", 1.0, "% percent"),
        ("B", 1.0, "byte bytes"),
        ("B", 1e3, "kb"),
        ("B", 1e6, "mb"),
        ("B", 1e9, "gb"),
        ("B", 1e12, "tb"),
        ("B", 1024.0, "kib"),
        ("B", 1024.0**2, "mib"),
        ("B", 1024.0**3, "gib"),
        ("", 1e3, "k"),
    )
    for unit in units.split()
}


def _stem(word: str) -> str:
    """The word without English inflection: a lighter Porter step 1, enough to equate run and running."""
    if not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for suffix, least in (("ing", 6), ("ed", 5), ("ly", 6)):
        if word.endswith(suffix) and len(word) >= least:
            word = word[: -len(suffix)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


@cache
def _synonyms() -> dict[str, str]:
    return {_stem(word): _stem(line.split()[0]) for line in _SYNONYMS.split("|") for word in line.split()}


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """The word's stem, or the first of its synonyms."""
    stem = _stem(word)
    return _synonyms().get(stem, stem)


def _table(text: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in text.split("|"):
        group = {_term(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


@cache
def _opposites() -> dict[str, frozenset[str]]:
    return _table(_OPPOSITES)


@cache
def _contrasts() -> dict[str, frozenset[str]]:
    return _table(_CONTRASTS)


# -- text to tokens -----------------------------------------------------------------------------

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0f00-\u0fff"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compiled on first use: importing this module must cost nothing."""
    token = rf"""
      (?P<plain>(?<!\S)[a-z]++(?=[\s,]))  # what most words are: known before all else is tried
    | (?P<url>https?://[^\s<>`"')\]]+)
    | (?P<date>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)
    | (?P<step>\0\d+)
    | (?P<flag>(?<![\w-])--?[A-Za-z][\w-]*)
    | (?P<issue>\#\d+\b)
    | (?P<path>[A-Za-z]:\\[\w\\.-]+
        | (?<![\w@$*.{{}}+~-])[\w@$*.{{}}+~-]*(?:/[\w@$*.{{}}\[\]+-]*)+
        | (?<![\w*])\*+\.[\w*{{}},-]+
        | (?<![\w.])\.[A-Za-z][\w.-]*
        | (?<![\w.-])[A-Za-z_][\w-]*(?:\.[A-Za-z0-9_*][\w*-]*)+)
    | (?P<number>(?<![^\s(\[=:,<>`"'])-?(?=\d)(?:\d[\d_]*(?:[.,:]\d+)*)(?:\.x\b)?
        (?:-?(?:rc|alpha|beta|dev|post)\.?\d*)?
        (?:\ ?(?:ms|msecs?|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?
            |percent|[kKMGT]i?[bB]|[Bb]ytes?)(?![^\W_])|\ ?%|\w*)
        | \d\w*(?:[.,:]\d+)*)
    | (?P<operator>[=!<>]=|&&|\|\||(?<=\s)[<>](?=\ ?\d)|[≤≥≠])
    | (?P<run>[{_UNSPACED}]+)
    | (?P<word>(?:(?![{_UNSPACED}])[\w{_MARKS}])+(?P<call>\(\))?)
    | (?P<comma>[,，、])
    | (?P<stop>[.;:!?()。；：！？—–…]|\n\s*\n|\s-\s)
    """
    return {
        "token": re.compile(token, re.VERBOSE),
        "heading": re.compile(
            r"^[ \t]{0,3}#{1,6}[ \t]+(?:\[?\d{4}-\d\d-\d\d[^\]\s]*\]?[ \t:–—-]*)?(.*)$", re.MULTILINE
        ),
        "bullet": re.compile(
            r"^[ \t>]*(?:(?:[-*+]|(?P<step>\d{1,2})[.)])[ \t]+|>[ \t]*|(?=\[\d{4}))"
            r"(?:\[\d{4}-\d\d-\d\d[^\]\s]*\][ \t:–—-]*)?",
            re.MULTILINE,
        ),
        "code": re.compile(
            r"^[ \t]*(?:```|~~~)[^\n]*$(.*?)^[ \t]*(?:```|~~~)[ \t]*$"
            r"|(?<!`)(`{1,3})(?!`)(.{1,400}?)(?<!`)\2(?!`)",
            re.DOTALL | re.MULTILINE,
        ),
        "emphasis": re.compile(r"(?<![\w*/])(\*{1,3})(?=[^\s*/.])([^*\n]+?)(?<=\S)\1(?![\w*/])"),
        "numeral": re.compile(rf"\b(?:{'|'.join(_COUNTS)})\b", re.IGNORECASE),
        "short": re.compile(r"\b(\w+?)n't\b|\b(can)not\b|'(?:s|re|ve|ll|d|m)\b", re.IGNORECASE),
        "unspaced": re.compile(
            r"(?P<idiom>不同|不仅|不但|不断|不过|不管|不论|无论|非常|特别|别的|未来|没错|区别|级别|类别|识别|个别|分别|是否)"
            r"|(?P<negator>不要|不得|不能|不可|不应|禁止|切勿|请勿|避免|没有|不|勿|别|没|未|无|莫|ません|ない|避け|ไม่|อย่า|ห้าม)"
        ),
        "count": re.compile(r"^(-?\d[\d_]*(?:,\d{3})*(?:\.\d+)?) ?([^\W\d_]+|%)?$"),
    }


def _spell_out(match: re.Match[str]) -> str:
    head = (match[1] or match[2] or "").casefold()
    return {"ca": "can", "wo": "will", "sha": "shall"}.get(head, head) + " not" if head else ""


def _plain(text: str) -> str:
    """The text without heading marks and dates, bullets, emphasis and contractions."""
    if not text.isascii():
        import unicodedata  # a shared library that English text need not load

        text = unicodedata.normalize("NFKC", text)
    patterns = _patterns()
    text = text.replace("\r\n", "\n").replace("\u2019", "'")
    text = patterns["heading"].sub("\n\n\\1\n\n", text)
    text = patterns["bullet"].sub(lambda m: f"\n\n\0{m['step']} " if m["step"] else "\n\n", text)
    text = patterns["emphasis"].sub(r"\2", text)
    text = patterns["numeral"].sub(lambda m: _COUNTS[m[0].casefold()], text)
    return patterns["short"].sub(_spell_out, text) if "n" in text or "'" in text else text


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of a body in order; code spans differ from prose only by their mark."""
    start, plain = 0, _plain(text)
    for match in _patterns()["code"].finditer(plain):
        yield from _scan(plain[start : match.start()], code=False, fresh=start == 0)
        yield from _scan(match[1] or match[3] or "", code=True, fresh=False)
        start = match.end()
    yield from _scan(plain[start:], code=False, fresh=start == 0)


def _scan(text: str, *, code: bool, fresh: bool) -> Iterator[_Token]:
    for match in _patterns()["token"].finditer(text):
        kind, raw = match.lastgroup or "", match[0]
        kind = "word" if kind in ("call", "plain") else kind
        if kind == "word":
            yield _word(raw, code=code, proper=not fresh and raw[0].isupper())
        elif kind in ("url", "path"):
            yield from _path(raw, code=code)
        elif kind in ("comma", "stop"):
            yield _Token("comma" if kind == "comma" and not code else "gap" if code else "stop", raw)
        else:
            yield _literal(kind, raw, code=code)
        fresh = kind == "stop"


@lru_cache(maxsize=16_384)
def _word(raw: str, *, code: bool, proper: bool) -> _Token:
    word = raw.removesuffix("()").strip("_")
    if "_" in word or raw.endswith("()") or (word[:1].islower() and not word.islower() and word.isascii()):
        return _Token("name", word, code)
    folded = word.casefold()
    if folded[:1] == "v" and folded[1:].isdecimal():
        return _Token("number", folded[1:], code)
    return _Token("word", folded, code, proper)


def _path(raw: str, *, code: bool) -> Iterator[_Token]:
    path = raw.rstrip(".,;:!?/").removeprefix("./")
    folded = path.casefold()
    if not path or folded in _ABBREVIATIONS:
        return
    if folded in _SLASHED or (path.isupper() and path.replace("/", "").isalpha()):
        yield from (_word(part, code=code, proper=True) for part in path.split("/") if part)
    elif folded[0] == "v" and folded[1:2].isdecimal():
        yield _Token("number", folded[1:], code)
    else:
        yield _Token("path", path if "/" in path else folded, code)


def _literal(kind: str, raw: str, *, code: bool) -> _Token:
    if kind == "number":
        return _Token("number", _measure(raw), code)
    if kind == "operator":
        return _Token("name", {"≤": "<=", "≥": ">=", "≠": "!="}.get(raw, raw), code)
    if kind == "issue":
        return _Token("name", raw, code)
    return _Token(kind, raw, code)


def _measure(raw: str) -> str:
    """A number in base units: "2 min" and "120s" are both "120 s"; what has no such reading stays."""
    match = _patterns()["count"].match(raw.casefold())
    if match is None:
        return raw.casefold()
    digits, unit = match[1].replace(",", "").replace("_", ""), match[2] or ""
    if unit not in _UNITS:
        return digits + unit
    dimension, factor = _UNITS[unit]
    return f"{float(digits) * factor:.12g} {dimension}".rstrip()


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


# -- tokens to phrases --------------------------------------------------------------------------


class _Phrases:
    """Collects phrases while the tokens of one body pass by."""

    def __init__(self) -> None:
        self.done: list[Phrase] = []
        self.clause = 0
        self.governor = ""
        self.negated = False
        self.terms: list[str] = []
        self.joined = ""
        self.head = ""
        self.trailing = False
        self.commas: set[int] = set()
        self.joins: set[int] = set()

    def add(self, term: str) -> None:
        """Append a content term; "and" followed by the negated verb again ends the negation."""
        if self.joined and self.negated and not self.terms and (term == self.head or term in _RESUME):
            self.governor, self.negated = "", False
        if self.negated and not self.head and term not in _LIGHT:
            self.head = term
        self.joined = ""
        self.terms.append(term)

    def close(self) -> None:
        """End the phrase that is open, if it has terms."""
        if self.terms:
            self.done.append(Phrase(self.clause, self.governor, self.negated, tuple(self.terms)))
        self.terms = []

    def govern(self, governor: str) -> None:
        """Open a phrase under a preposition or conjunction; "not in", "instead of" stay what they are."""
        ends = governor in _SCOPE_ENDS or (self.trailing and self.governor == "not" and not self.terms)
        if not ends and not self.terms and self.governor in _STICKY:
            return
        if ends:
            self.settle()
        self.close()
        self.governor, self.negated = governor, self.negated and not ends

    def join(self, word: str) -> None:
        """Open a new clause under the same governor, as "and" and "or" do."""
        self.close()
        self.clause += 1
        self.joins.add(len(self.done))
        self.joined = word

    def negate(self, *, refusal: bool = False, trailing: bool = False) -> None:
        """Open a negated phrase; "never avoid", "not without" cancel out."""
        if refusal and self.negated and not self.terms and self.governor == "not":
            self.governor, self.negated = "", False
            return
        self.close()
        self.governor, self.negated, self.head, self.trailing = "not", True, "", trailing

    def settle(self) -> None:
        """A negation with nothing after it belongs to the phrase before it ("Verwende X nicht")."""
        if self.negated and self.governor == "not" and not self.terms:
            last = self.done[-1] if self.done else None
            if last is not None and last.clause == self.clause and not last.negated:
                self.done[-1] = last._replace(governor="not", negated=True)
            else:
                self.done.append(Phrase(self.clause, "not", True, ()))
            self.governor = ""

    def comma(self) -> None:
        self.stop()
        self.commas.add(len(self.done))

    def stop(self) -> None:
        self.settle()
        self.close()
        self.clause += 1
        self.governor, self.negated, self.joined, self.head, self.trailing = "", False, "", "", False


def _phrases(tokens: Sequence[_Token]) -> tuple[Phrase, ...]:
    state = _Phrases()
    for i, token in enumerate(tokens):
        if token.kind == "word":
            following = tokens[i + 1].text if i + 1 < len(tokens) else ""
            previous = tokens[i - 1].text if i else ""
            _take(state, token, previous, following)
        elif token.kind == "run":
            _take_run(state, token.text)
        elif token.kind in ("stop", "comma"):
            state.stop() if token.kind == "stop" else state.comma()
        elif token.kind == "step":
            state.govern(token.text)
        elif token.kind != "gap":
            state.add(token.text)
    state.stop()
    return _lists(state)


def _take(state: _Phrases, token: _Token, previous: str, following: str) -> None:
    word = token.text
    if token.code or _is_content(word):
        state.add(_term(word))
    elif _negates(word, previous, following):
        state.negate(refusal=word not in _PARTICLES, trailing=word in _TRAILING)
    elif word in _JOINERS:
        state.join(word)
    elif word in _GOVERNORS:
        state.govern(_GOVERNORS[word])
    elif word in _TRANSPARENT or _adverb(word) or (word == "make" and following == "sure"):
        if state.joined and word in _RESUME:
            state.governor, state.negated = "", False
    else:
        state.add(_term(word))


@lru_cache(maxsize=16_384)
def _is_content(word: str) -> bool:
    """Whether a word only ever adds a term: no particle, conjunction, preposition or adverb."""
    special = (_PARTICLES, _REFUSALS, _JOINERS, _GOVERNORS, _TRANSPARENT, ("stop", "make"))
    return not any(word in group for group in special) and not _adverb(word)


def _adverb(word: str) -> bool:
    """An English manner adverb: its place in the sentence is free."""
    return len(word) > 6 and word.endswith("ly") and word not in _NOT_ADVERBS


def _negates(word: str, previous: str, following: str) -> bool:
    if word == "stop":
        return following.endswith("ing")
    if word not in _PARTICLES and word not in _REFUSALS:
        return False
    return following not in _NOT_NEGATED and previous not in ("or", "no")


def _take_run(state: _Phrases, run: str) -> None:
    start = 0
    for match in _patterns()["unspaced"].finditer(run):
        if match.lastgroup == "negator":
            for term in _bigrams(run[start : match.start()]) if match.start() > start else ():
                state.add(term)
            state.negate()
            start = match.end()
    for term in _bigrams(run[start:]) if start < len(run) else ():
        state.add(term)


def _lists(state: _Phrases) -> tuple[Phrase, ...]:
    """In "never commit A, B or C" the items after a comma stand under the governor of the first."""
    phrases = state.done
    for at in sorted(state.commas):
        last = at
        while last in state.commas and last < len(phrases) and _lists_on(phrases[at - 1], phrases[last]):
            last += 1
        if at and last > at and last in state.joins:
            for i in range(at, min(last + 1, len(phrases))):
                phrases[i] = phrases[i]._replace(
                    governor=phrases[at - 1].governor, negated=phrases[at - 1].negated
                )
    return tuple(phrases)


def _lists_on(head: Phrase, item: Phrase) -> bool:
    fresh = item.terms[:1] and item.terms[0] not in _LIGHT | _RESUME | set(head.terms)
    return bool(fresh and head.governor and not item.governor and len(item.terms) <= 2)


def claim(text: str) -> Claim:
    """What `text` asserts. Heading marks, heading and bullet dates, bullets and emphasis do not count."""
    tokens = list(_tokens(text))
    plain = {token.text for token in tokens if token.kind == "word"}  # folded already
    words = set(plain)
    kinds: dict[str, set[str]] = {"word": plain}
    for token in tokens:
        if token.kind == "word":
            continue
        if token.kind == "run":
            words.update(_bigrams(token.text))
        elif token.kind not in ("stop", "comma", "gap", "step"):
            words.add(token.text.casefold())
        kinds.setdefault(token.kind, set()).add(token.text)
    found = {kind: frozenset(texts) for kind, texts in kinds.items()}
    none: frozenset[str] = frozenset()
    return Claim(
        words=frozenset(words),
        phrases=_phrases(tokens),
        numbers=found.get("number", none) | found.get("date", none),
        paths=found.get("path", none) | found.get("url", none),
        flags=found.get("flag", none),
        names=found.get("name", none),
        code=frozenset(token.text for token in tokens if token.code and token.kind == "word"),
        proper=frozenset(_term(token.text) for token in tokens if token.proper),
        limits=_limits(found.get("word", none), found.get("run", none)),
    )


def _limits(words: frozenset[str], runs: frozenset[str]) -> frozenset[str]:
    """Which kinds of restriction ("only", "except") a text makes."""
    governors = {_GOVERNORS[word] for word in words if word in _GOVERNORS}
    marks = (("只", "only"), ("仅", "only"), ("除", "except"))
    unspaced = {limit for mark, limit in marks if any(mark in run for run in runs)}
    return frozenset(unspaced.union(_LIMITS[governor] for governor in governors if governor in _LIMITS))


# -- two claims ---------------------------------------------------------------------------------


def jaccard(a: Claim, b: Claim) -> float:
    """Shared body words over all body words, 0.0 to 1.0; 0.0 for two empty bodies, which never merge."""
    return _overlap(a.words, b.words)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if shared else 0.0


def guard(a: Claim, b: Claim) -> str | None:
    """Why the two are different claims although alike, or None. Symmetric; None for equal claims.

    Reasons: order, negation, antonym, number, path, flag, code, exception, word.
    """
    if a == b:
        return None
    return next((reason for reason, fires in _GUARDS if fires(a, b)), None)


def near_duplicate(a: Claim, b: Claim, threshold: float = 0.8) -> bool:
    """Whether the two say the same: Jaccard above `threshold` (strictly) and no guard."""
    return jaccard(a, b) > threshold and guard(a, b) is None


def _literals(a: Claim) -> tuple[frozenset[str], ...]:
    return (a.numbers, a.paths, a.flags, a.names)


def _content(a: Claim) -> list[str]:
    return [term for phrase in a.phrases for term in phrase.terms]


def _apart(a: Claim, b: Claim) -> tuple[frozenset[str], frozenset[str]]:
    """The terms that only the one and only the other uses, inflection and synonyms put aside."""
    ours = frozenset(map(_term, a.words - b.words))
    theirs = frozenset(map(_term, b.words - a.words))
    return ours - theirs, theirs - ours


def _differing(a: Claim, b: Claim) -> tuple[list[Phrase], list[Phrase]]:
    """The phrases that only the one and only the other has, wherever they stand."""
    ours, theirs = {p[1:] for p in a.phrases}, {p[1:] for p in b.phrases}
    return [p for p in a.phrases if p[1:] not in theirs], [p for p in b.phrases if p[1:] not in ours]


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in groups.items()}


def _governed(phrases: Iterable[Phrase]) -> set[tuple[str, str]]:
    return {(term, phrase.governor) for phrase in phrases for term in phrase.terms}


def _ordered(phrases: Iterable[Phrase], reach: int) -> set[tuple[str, str]]:
    """The terms (y, x) where y follows x, at most `reach` places on in one phrase."""
    pairs: set[tuple[str, str]] = set()
    for phrase in phrases:
        for distance in range(1, reach + 1):
            pairs.update(zip(phrase.terms[distance:], phrase.terms, strict=False))
    return pairs


def _swaps(ours: set[tuple[str, str]], theirs: set[tuple[str, str]]) -> set[frozenset[str]]:
    """The values that two keys have exchanged: what x had, y has now, and the other way round."""
    before, after = _grouped(ours - theirs), _grouped(theirs - ours)
    moved = {(before[key], after[key]) for key in before.keys() & after.keys()}
    return {x | y for x, y in moved if (y, x) in moved}


def _clauses(a: Claim) -> Iterable[list[str]]:
    clauses: dict[int, list[str]] = {}
    for phrase in a.phrases:
        clauses.setdefault(phrase.clause, []).extend(phrase.terms)
    return clauses.values()


def _mates(a: Claim) -> dict[str, frozenset[str]]:
    """For each term, the terms of its clauses, itself among them."""
    lines = (part for terms in _clauses(a) for part in _stretches(terms))
    return _grouped((term, mate) for terms in lines for term in terms for mate in terms)


def _stretches(terms: Sequence[str]) -> Iterator[list[str]]:
    """The distinct terms of a clause, at most `LONG_CLAUSE` together: what is compared in pairs."""
    distinct = list(dict.fromkeys(terms))
    return (distinct[i : i + LONG_CLAUSE] for i in range(0, len(distinct), LONG_CLAUSE))


def _rebound(a: Claim, b: Claim) -> bool:
    """Whether two terms have exchanged the words they belong to ("connect 5 s, read 9 s")."""
    ours, theirs = _mates(a), _mates(b)
    changed = sorted(x for x in ours.keys() & theirs.keys() if ours[x] != theirs[x])
    if len(changed) > LONG_CLAUSE:
        return True  # too much to compare in pairs: kept apart
    return any(
        (ours[x] - ours[y] - {x}) & (theirs[y] - theirs[x] - {y})
        and (ours[y] - ours[x] - {y}) & (theirs[x] - theirs[y] - {x})
        for x, y in combinations(changed, 2)
    )


def _literal_pairs(a: Claim) -> set[tuple[str, str]]:
    literals = frozenset().union(*_literals(a))
    lines = ([term for term in terms if term in literals] for terms in _clauses(a))
    return {pair for line in lines for part in _stretches(line) for pair in combinations(part, 2)}


def _exchanged(a: Claim, b: Claim) -> bool:
    """Whether two numbers, paths, flags or names of one clause have changed places."""
    ours, theirs = _literal_pairs(a), _literal_pairs(b)
    return any((y, x) in theirs and (y, x) not in ours for x, y in ours - theirs)


def _reversed(a: Iterable[Phrase], b: Iterable[Phrase]) -> bool:
    """Whether some phrase has the same terms in another order ("client calls server")."""
    ours, theirs = _ordered(a, 5), _ordered(b, 5)
    return any(x != y and (x, y) in theirs and (x, y) not in ours for y, x in ours - theirs)


def _in_step(a: Claim, b: Claim) -> bool:
    """Whether the terms that both use come in one order."""
    terms, others = _content(a), _content(b)
    ours, theirs = set(terms), set(others)
    return [x for x in terms if x in theirs] == [x for x in others if x in ours]


def _order(a: Claim, b: Claim) -> bool:
    ours, theirs = _differing(a, b)
    if _swaps(_governed(ours), _governed(theirs)):
        return True
    if _in_step(a, b):
        return False
    if _swaps(_ordered(ours, 1), _ordered(theirs, 1)) or _reversed(ours, theirs):
        return True
    return _exchanged(a, b) or _rebound(a, b)


def _negated(a: Claim) -> set[str]:
    return {term for phrase in a.phrases if phrase.negated for term in phrase.terms}


def _heads(a: Claim) -> set[str]:
    """What each negation is about: the first term in its scope that is no light verb."""
    scopes = [phrase.terms for phrase in a.phrases if phrase.governor == "not" and phrase.terms]
    return {next((term for term in terms if term not in _LIGHT), terms[-1]) for terms in scopes}


def _denies(a: Claim, b: Claim) -> bool:
    """Whether `a` negates something that `b` asserts."""
    heads = _heads(a)
    return bool(heads and heads.intersection(_content(b)) - _negated(b))


def _negation(a: Claim, b: Claim) -> bool:
    first, second = any(p.negated for p in a.phrases), any(p.negated for p in b.phrases)
    if first != second or not first:
        return first != second
    ours, theirs = _negated(a), _negated(b)
    if _denies(a, b) or _denies(b, a):
        return True
    return bool((ours - theirs).intersection(_content(b)) and (theirs - ours).intersection(_content(a)))


def _facing(
    ours: frozenset[str], theirs: frozenset[str], table: dict[str, frozenset[str]]
) -> set[tuple[str, str]]:
    none: frozenset[str] = frozenset()
    return {(x, y) for x in ours for y in table.get(x, none) & theirs}


def _prefixed(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether a word faces its own negation: valid, invalid; stateless, stateful."""
    negative = {prefix + x for x in ours if len(x) > 3 for prefix in _PREFIXES}
    bare = {x.removesuffix("less") for x in ours if x.endswith("less")}
    return bool(negative & theirs) or any(x.endswith("ful") and x.removesuffix("ful") in bare for x in theirs)


def _turned_round(a: Claim, b: Claim) -> bool:
    """Whether "A before B" and "B after A" say the same: what `before` governs, `after` does not."""
    before = {term for phrase in a.phrases if phrase.governor == "before" for term in phrase.terms}
    after = {term for phrase in b.phrases if phrase.governor == "after" for term in phrase.terms}
    return bool(before and after) and not before & after


def _polar(a: Claim, b: Claim) -> bool:
    """Whether the two differ in words that cannot both hold (enable, disable)."""
    ours, theirs = _apart(a, b)
    pairs = _facing(ours, theirs, _opposites())
    if _turned_round(a, b) or _turned_round(b, a):
        pairs -= {(_term("before"), "after"), ("after", _term("before"))}
    return bool(pairs) or _prefixed(ours, theirs) or _prefixed(theirs, ours)


def _antonym(a: Claim, b: Claim) -> bool:
    return _polar(a, b) or bool(_facing(*_apart(a, b), _contrasts()))


def _undigited(words: Iterable[str]) -> set[str]:
    stripped = {word: "".join(c for c in word if not c.isdecimal()) for word in words}
    return {bare for word, bare in stripped.items() if bare and bare != word}


def _number(a: Claim, b: Claim) -> bool:
    """Other numbers, or one word with other digits in it (sha1, sha256)."""
    ours, theirs = a.words - b.words, b.words - a.words
    return a.numbers != b.numbers or bool(
        _undigited(ours.difference(*_literals(a))) & _undigited(theirs.difference(*_literals(b)))
    )


def _code(a: Claim, b: Claim) -> bool:
    return a.names != b.names or bool(a.code - b.words or b.code - a.words)


def _kin(x: str, y: str) -> bool:
    """Whether two words are of one family: configure, configuration."""
    shared = next((i for i, (c, d) in enumerate(zip(x, y, strict=False)) if c != d), min(len(x), len(y)))
    return shared >= 5 and shared > 0.6 * max(len(x), len(y))


def _slots(terms: Sequence[str], own: set[str]) -> set[tuple[str, str]]:
    """The neighbours (before, after) of each run of `own` terms; "" at the ends."""
    slots, before, inside = set(), "", False
    for term in (*terms, ""):
        if term not in own:
            if inside:
                slots.add((before, term))
            before = term
        inside = term in own
    return slots


def _same_slot(ours: set[tuple[str, str]], theirs: set[tuple[str, str]]) -> bool:
    befores, afters = {x for x, _ in theirs} - {""}, {y for _, y in theirs} - {""}
    return bool(ours & theirs) or any(x in befores or y in afters for x, y in ours)


def _beyond(ours: set[str], theirs: set[str]) -> set[str]:
    """Without the character pairs that close the gap where the other text has more characters."""
    characters = set("".join(theirs))
    return {term for term in ours if term < _FIRST_UNSPACED or not characters.issuperset(term)}


def _own_terms(a: Claim, b: Claim) -> tuple[set[str], set[str]]:
    """Content terms of only the one and only the other, without kin and opposites."""
    ours, theirs = set(_content(a)), set(_content(b))
    ours, theirs = ours - theirs, theirs - ours
    paired = {(x, y) for x in ours for y in theirs if _kin(x, y)}
    paired |= _facing(frozenset(ours), frozenset(theirs), _opposites())
    ours, theirs = ours - {x for x, _ in paired}, theirs - {y for _, y in paired}
    return _beyond(ours, theirs), _beyond(theirs, ours)


def _replaced(a: Sequence[str], b: Sequence[str], ours: set[str], theirs: set[str]) -> bool:
    """Whether `ours` stand in `a` where `theirs` stand in `b`, or where `b` repeats a word."""
    slots, others = _slots(a, ours), _slots(b, theirs)
    if ours and theirs:
        joined = "".join(x for x in a if x in ours) == "".join(x for x in b if x in theirs)
        return not joined and _same_slot(slots, others)
    if any(term >= _FIRST_UNSPACED for term in ours | theirs):
        return False
    return bool(slots & set(zip(b, b[2:], strict=False)) or others & set(zip(a, a[2:], strict=False)))


def _word_for_word(a: Claim, b: Claim) -> bool:
    """Whether a content word stands where the other has another one ("billing worker", "search worker").

    In a long body one plain word is wording; there only names count.
    """
    ours, theirs = _own_terms(a, b)
    if not ours and not theirs:
        return False
    terms, others = _content(a), _content(b)
    if not _replaced(terms, others, ours, theirs):
        return False
    return min(map(_weight, (terms, others))) < _LONG or bool(ours & a.proper and theirs & b.proper)


def _weight(terms: Iterable[str]) -> float:
    """How many different words; two characters without spaces are half a word."""
    return sum(1.0 if term < _FIRST_UNSPACED else 0.5 for term in set(terms))


_LONG = 24
_FIRST_UNSPACED = "\u0e00"
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "de", "des", "non", "anti", "mis")
_GUARDS: tuple[tuple[str, Callable[[Claim, Claim], bool]], ...] = (
    ("order", _order),
    ("negation", _negation),
    ("antonym", _antonym),
    ("number", _number),
    ("path", lambda a, b: a.paths != b.paths),
    ("flag", lambda a, b: a.flags != b.flags),
    ("code", _code),
    ("exception", lambda a, b: a.limits != b.limits),
    ("word", _word_for_word),
)


# -- contradictions -----------------------------------------------------------------------------

_SAME_SUBJECT = 0.6
_SERIES = 8
_CROWD = 256


def _subject(a: Claim) -> frozenset[str]:
    """What a claim is about: its content terms without numbers and without words that have an opposite."""
    return frozenset(_content(a)) - a.numbers - frozenset(_opposites())


def _conditions(a: Claim) -> frozenset[str]:
    return _CONDITIONS.intersection(phrase.governor for phrase in a.phrases)


def _masked(a: Claim) -> tuple[object, ...]:
    """Everything but the values of its numbers; units, dates and issue numbers stay."""
    values = {number: _mask(number) for number in a.numbers}
    phrases = tuple((p.governor, p.negated, tuple(values.get(t, t) for t in p.terms)) for p in a.phrases)
    rest = frozenset(word for word in a.words if word not in values)
    return (rest, phrases, a.paths, a.flags, a.names)


def _mask(number: str) -> str:
    if number.count("-") > 1:
        return number
    return "# " + "".join(c for c in number if c.isalpha() or c == "%")


def _opposed(a: Claim, b: Claim) -> bool:
    """Same literals, same conditions, and exactly one of order, negation and antonym turned round."""
    if _literals(a) != _literals(b) or a.limits != b.limits or _conditions(a) != _conditions(b):
        return False
    polar, negates = _polar(a, b), _denies(a, b) != _denies(b, a)
    if polar == negates:
        return not polar and _turned(a, b) and bool(_negated(a)) == bool(_negated(b))
    if polar and bool(_negated(a)) != bool(_negated(b)):
        return False
    contrasted = _order(a, b) or _facing(*_apart(a, b), _contrasts()) or _word_for_word(a, b)
    return not contrasted


def _turned(a: Claim, b: Claim) -> bool:
    """Whether two terms have changed places around a "before", "not", "over" or their like."""
    swapped = (governors - {""} for governors in _swaps(*map(_governed, _differing(a, b))))
    return any(governors and governors <= _DIRECTED for governors in swapped) and not _word_for_word(a, b)


def contradiction(a: Claim, b: Claim) -> bool:
    """Whether the two make opposite claims about the same thing. Unsure is False. Symmetric.

    Numbers and versions alone count only where everything else is equal.
    """
    if _masked(a) == _masked(b):
        return bool(_subject(a)) and a.numbers != b.numbers
    return _overlap(_subject(a), _subject(b)) > _SAME_SUBJECT and _opposed(a, b)


def contradictions(claims: Sequence[Claim]) -> list[tuple[int, int]]:
    """The contradicting pairs (i < j), sorted; one pair of indices for any two distinct claims.

    More than 8 values of one number in otherwise equal claims are a series ("run 1", "run 2", …),
    not a contradiction.
    """
    distinct = _distinct(claims)
    found = [(a, b) for a, b in _same_but_for_numbers(distinct) if contradiction(a, b)]
    for bucket in _groups(distinct, _literals):
        found.extend((a, b) for a, b in _same_subject(bucket) if _opposed(a, b))
    pairs = ((distinct[a][0], distinct[b][0]) for a, b in found)
    return sorted({(min(pair), max(pair)) for pair in pairs})


def _same_but_for_numbers(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Claim]]:
    for group in _groups((a for a in claims if a.numbers), _masked):
        if len(group) <= _SERIES:
            yield from combinations(group, 2)


def _same_subject(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    groups = list(_groups(claims, _subject))
    for group in groups:
        yield from combinations(group, 2)
    for i, j, _ in _join([_subject(group[0]) for group in groups], _SAME_SUBJECT):
        yield from product(groups[i], groups[j])


# -- many claims --------------------------------------------------------------------------------


def _distinct(claims: Sequence[Claim]) -> dict[Claim, list[int]]:
    indices: dict[Claim, list[int]] = {}
    for i, a in enumerate(claims):
        if a.words:
            indices.setdefault(a, []).append(i)
    return indices


def _groups(claims: Iterable[Claim], key: Callable[[Claim], object]) -> Iterable[list[Claim]]:
    groups: dict[object, list[Claim]] = {}
    for a in claims:
        groups.setdefault(key(a), []).append(a)
    return groups.values()


def _rarest_first(sets: Sequence[frozenset[str]]) -> list[list[int]]:
    """Each set as token numbers in one global order: by frequency, then by text."""
    frequency: dict[str, int] = {}
    for tokens in sets:
        for token in tokens:
            frequency[token] = frequency.get(token, 0) + 1
    order = sorted(frequency, key=lambda token: (frequency[token], token))
    rank = {token: number for number, token in enumerate(order)}
    return [sorted(rank[token] for token in tokens) for tokens in sets]


def _join(sets: Sequence[frozenset[str]], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Every pair of sets with Jaccard above `threshold`, by prefix filtering with a size filter.

    Two sets with Jaccard >= t share a token among the first n - ceil(t n) + 1 of either in any one
    global order; taken shortest first, n - ceil(2t / (1 + t) n) + 1 need indexing. Chaudhuri, Ganti
    and Kaushik, ICDE 2006; AllPairs: Bayardo, Ma and Srikant, WWW 2007; PPJoin: Xiao et al., WWW 2008.
    """
    ranked = _rarest_first(sets)
    order = sorted(range(len(sets)), key=lambda i: len(sets[i]))
    sizes = [len(sets[i]) for i in order]
    index: dict[int, list[int]] = {}
    for place, i in enumerate(order):
        size = sizes[place]
        least = ceil(threshold * size - 1e-9)
        first = bisect_left(sizes, least)
        for other in _candidates(index, ranked[i][: size - least + 1], first):
            score = _overlap(sets[i], sets[order[other]])
            if score > threshold:
                yield (min(i, order[other]), max(i, order[other]), score)
        shared = ceil(2 * threshold / (1 + threshold) * size - 1e-9)
        for token in ranked[i][: size - shared + 1]:
            index.setdefault(token, []).append(place)


def _candidates(index: dict[int, list[int]], prefix: Sequence[int], first: int) -> set[int]:
    found: set[int] = set()
    for token in prefix:
        places = index.get(token)
        if places is not None:
            found.update(places[bisect_left(places, first) :])
    return found


def similar_pairs(claims: Sequence[Claim], threshold: float) -> list[tuple[int, int, float]]:
    """All pairs (i, j, Jaccard), i < j, with Jaccard above `threshold` >= 0; exact and sorted.

    The list itself is quadratic in the number of equal bodies; `clusters` is not.
    """
    same: dict[frozenset[str], list[int]] = {}
    for i, a in enumerate(claims):
        if a.words:
            same.setdefault(a.words, []).append(i)
    members = list(same.values())
    pairs = [(i, j, 1.0) for group in members if threshold < 1 for i, j in combinations(group, 2)]
    for x, y, score in _join(list(same), threshold):
        pairs.extend((min(i, j), max(i, j), score) for i, j in product(members[x], members[y]))
    return sorted(pairs)


def clusters(
    claims: Sequence[Claim], threshold: float = 0.8, more: Iterable[tuple[int, int]] = ()
) -> list[Cluster]:
    """The connected components, of two or more, of the near-duplicate graph, by smallest member.

    `more` are pairs of indices that are alike by another measure; what keeps two apart holds for them, too.
    Claims whose numbers, paths, flags or names differ never meet: each such bucket is joined by itself.
    More than 256 different bodies in one component come from a template; they count as guarded ("crowd").
    """
    distinct = _distinct(claims) if threshold < 1 else {}
    pairs = [(claims[i], claims[j]) for i, j in more]
    found = [
        _cluster(component, distinct)
        for bucket in _groups(distinct, _literals)
        for component in _components(bucket, threshold, pairs)
        if sum(len(distinct[a]) for a in component) > 1
    ]
    return sorted(found)


def _components(
    claims: Sequence[Claim], threshold: float, more: Sequence[tuple[Claim, Claim]]
) -> Iterable[list[Claim]]:
    parent = list(range(len(claims)))
    place = {a: i for i, a in enumerate(claims)} if more else {}
    also = ((place[a], place[b]) for a, b in more if a in place and b in place)
    for i, j in chain(_near(claims, threshold), also):
        x, y = _root(parent, i), _root(parent, j)
        if x != y and guard(claims[i], claims[j]) is None:
            parent[max(x, y)] = min(x, y)
    components: dict[int, list[Claim]] = {}
    for i, a in enumerate(claims):
        components.setdefault(_root(parent, i), []).append(a)
    return components.values()


def _near(claims: Sequence[Claim], threshold: float) -> Iterator[tuple[int, int]]:
    same: dict[frozenset[str], list[int]] = {}
    for i, a in enumerate(claims):
        same.setdefault(a.words, []).append(i)
    members = list(same.values())
    for group in members:
        yield from combinations(group, 2)
    for x, y, _ in _join(list(same), threshold):
        yield from product(members[x], members[y])


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def _cluster(component: Sequence[Claim], distinct: dict[Claim, list[int]]) -> Cluster:
    members = tuple(sorted(i for a in component for i in distinct[a]))
    firsts = sorted(((distinct[a][0], a) for a in component), key=lambda first: first[0])
    if len(firsts) > _CROWD:
        return Cluster(members, ((firsts[0][0], firsts[1][0], "crowd"),))
    guarded = ((i, j, guard(a, b)) for (i, a), (j, b) in combinations(firsts, 2))
    return Cluster(members, tuple((i, j, reason) for i, j, reason in guarded if reason))
