"""Near-duplicates, clusters and contradictions among entry bodies: lexical, exact, order-independent.

A wrong merge hides a lesson, a missed merge only costs a line; every doubt here says "different".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations
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


# -- vocabulary ---------------------------------------------------------------------------------

_TRANSPARENT = frozenset(
    """a an the this that these those it its is are was were be been being am do does did has have had having
    will would shall should must may might can could need needs ought let lets we you i they he she our your
    their my his her us them one there here please just simply really very also too already still now today
    currently actually basically generally quite always ever each any all every both own such ok okay fine
    sure ensure note remember recommended s t re ve ll d m
    der die das den dem des ein eine einen einem einer ist sind wird werden man sich es immer bitte auch muss
    müssen soll sollen el la los las un una unos unas es son se lo le al del que siempre debe deben
    le les est sont il faut toujours""".split()
)
_GOVERNORS = {
    word: line.split()[0]
    for line in """before vor antes avant
    after nach nachdem después despues après
    instead rather statt anstatt lugar
    over
    than
    then danach luego
    from von desde
    to zu zum zur a
    into onto
    until till bis hasta
    when wenn sobald cuando quand
    if falls si
    unless
    except excluding außer salvo excepto
    only solely exclusively nur solo sólo solamente
    because weil porque
    since
    so
    but aber pero sondern sino however otherwise
    while whereas
    in im en
    on auf
    at bei
    for für para pour
    with mit con avec
    by durch por
    via
    of de
    off
    out aus
    under below unter bajo
    above über
    between zwischen entre
    through
    during während durante
    across against per about as although though where which who whose whether
    toward towards inside outside within beyond up down""".splitlines()
    for word in line.split()
    if word != "a"
}
_GOVERNORS.update(
    (word, word) for word in "against per about as where whether inside outside up down".split()
)
_SCOPE_ENDS = frozenset({"because", "since", "so", "but", "while", "instead", "when", "if", "unless", "then"})
_STICKY = frozenset({"not", "instead", "only", "except", "before", "after"})
_JOINERS = frozenset({"and", "or", "und", "oder", "y", "o", "e", "et", "ou", "plus"})
_PARTICLES = frozenset(
    """not no never none nothing nobody nowhere neither nor non dont doesnt didnt cant cannot wont isnt
    nicht kein keine keinen keinem keiner keines nie niemals weder nunca jamás jamas ningún ninguna ninguno
    nada ni tampoco ne pas jamais aucun aucune não nao nem""".split()
)
_REFUSALS = frozenset(
    """without avoid avoids avoiding avoided refrain forbid forbids forbidden prohibit prohibits prohibited
    ban bans banned unable ohne vermeide vermeiden vermeidet verboten sin evitar evita evite prohibido
    sans éviter sem""".split()
)
_NOT_NEGATED = frozenset("only just merely necessarily matter forget forgets fail hesitate neglect".split())
_LIGHT = frozenset("use do be make put rely call try attempt want set have get even let allow".split())
_RESUME = frozenset("use do keep always instead then let prefer".split())
_LIMITS = {"only": "only", "except": "except", "unless": "except"}
_CONDITIONS = frozenset({"if", "when", "unless", "except", "only", "until", "while", "during", "where"})
_DIRECTED = frozenset({"before", "after", "not", "instead", "over", "than", "until", "then"})
_COUNTS = {
    word: str(value)
    for value, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
}
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "z.b", "d.h", "u.a", "p.ej", "a.k.a", "vs", "u.s"})
_SLASHED = frozenset(
    """and/or i/o ci/cd tcp/ip client/server read/write on/off true/false yes/no input/output either/or n/a
    w/o start/stop enable/disable before/after his/her he/she start/end dev/prod open/close up/down""".split()
)

_SYNONYMS = """full entire whole complete
run execute invoke launch
use utilize employ leverage
fix repair resolve
check verify confirm
create generate
delete erase
build compile
begin commence
fast quick rapid
big large huge
small tiny little
repo repository
config configuration configure settings
db database
docs documentation
dir directory folder
env environment
prod production
dev development
param parameter
arg argument
app application
auth authentication authenticate
func function
var variable
msg message
info information
spec specification
perf performance
async asynchronous asynchronously
sync synchronous synchronously
push pushing
deploy deployment
release ship
break fail
error failure
crash abort
prefer favour favor
must should required mandatory
show display
choose select pick
change modify alter
keep retain preserve
happen occur
help assist
ask request
give provide supply
get obtain fetch retrieve
send transmit
old outdated
problem issue bug
job task
often frequently
since because
when once whenever
hence therefore thus
developer engineer
wrong incorrect
right correct
different distinct
important crucial critical essential
hang stall
slow sluggish
flaky unstable
local locally
automatic automatically
manual manually by-hand
colour color
behaviour behavior
serialise serialize
initialise initialize
normalise normalize
optimise optimize
authorise authorize
licence license
cancelled canceled
commit check-in
branch branches
statement instruction
k8s kubernetes
postgres postgresql
js javascript
ts typescript
py python
verwende verwenden benutze benutzen nutze nutzen
usa usar utiliza utilizar
ausführen starte starten
ejecuta ejecutar"""

# Claims that cannot both be followed.
_OPPOSITES = """enable disable
activate deactivate
allow deny
allow forbid
allow block
allow disallow
permit deny
permit prohibit
accept reject
increase decrease
increase reduce
raise lower
grow shrink
before after
on off
true false
yes no
add remove
append remove
insert delete
create delete
include exclude
start stop
start kill
lock unlock
show hide
keep remove
keep delete
keep drop
require optional
mandatory optional
must optional
sync async
blocking nonblocking
safe dangerous
trust distrust
accept refuse
prefer avoid
run skip
respect ignore
follow ignore
open close
mutable immutable
strict lenient
strict loose
tabs spaces
merge split
eager lazy
public private
with without
above below
more less
more fewer
faster slower
higher lower
greater smaller
least most
always sometimes
always rarely
always seldom
everything nothing
everyone nobody
pass fail
succeed fail
success failure
work break
good bad
right wrong
possible impossible
required forbidden
erlauben verbieten
vor nach
immer selten
hinzufügen entfernen
öffnen schließen
erhöhen senken
aktivieren deaktivieren
aktiviere deaktiviere
antes después
siempre nunca
habilitar deshabilitar
habilita deshabilita
activar desactivar
activa desactiva
añadir eliminar
añade elimina
permitir prohibir
permite prohíbe
abrir cerrar
abre cierra
aumentar disminuir
aumenta disminuye
aumentar reducir
aumenta reduce
启用 禁用
开启 关闭
打开 关闭
允许 禁止
增加 减少
之前 之后
同步 异步
添加 删除
加锁 解锁
必须 可选
总是 偶尔
有効 無効"""

# Groups whose members differ, though two claims that differ in them may both hold.
_CONTRASTS = """min max
minimum maximum
minimal maximal
first last
first second third
old new
oldest newest
left right
top bottom
up down
in out
inside outside
input output
inbound outbound
incoming outgoing
ingress egress
source target
source destination
parent child
read write
reader writer
get set
get post put patch delete head
push pull
upload download
import export
encode decode
encrypt decrypt
compress decompress
serialize deserialize
connect disconnect
login logout
attach detach
mount unmount
install uninstall
subscribe unsubscribe
upgrade downgrade
begin end
start end
start finish
from to
to into
over under
until when
until if
until after
until before
when before
when after
if before
if after
before during
after during
must may
must can
must might
should may
may required
all some
all none
every some
many few
often rarely
usually rarely
always usually
always often
always occasionally
once twice thrice
early late
earlier later
early lazy
fast slow
long short
big small
high low
high medium low
hot cold
heavy light
deep shallow
positive negative
even odd
ascending descending
asc desc
forward backward
forwards backwards
forward reverse
horizontal vertical
primary secondary
primary replica
leader follower
client server
frontend backend
sender receiver
producer consumer
publisher subscriber
request response
caller callee
upstream downstream
local remote
internal external
global local
static dynamic
static random
serial parallel
sequential parallel
temporary permanent
relative absolute
soft hard
weak strong
empty full
missing present
absent present
null notnull
staging production development testing preview sandbox
unit integration e2e
debug release
debug info warning error critical fatal
info warn
merge rebase squash
amend fixup
save discard
npm pnpm yarn bun deno
pip uv poetry conda pipenv pdm
postgres mysql sqlite mariadb oracle mongodb dynamodb cassandra
redis memcached valkey
kafka rabbitmq sqs nats pulsar
docker podman containerd
kubernetes nomad swarm
aws gcp azure cloudflare
github gitlab bitbucket gitea
jenkins circleci travis buildkite
linux macos windows freebsd
ubuntu debian alpine fedora centos
chrome firefox safari edge
android ios
python ruby go rust java kotlin scala typescript javascript php perl swift elixir
bash zsh fish powershell
json yaml toml xml csv ini protobuf avro
rest graphql grpc soap
http https
tcp udp
ssh https
pytest unittest nose
jest vitest mocha jasmine
cypress playwright selenium
ruff flake8 pylint
black yapf ruff
mypy pyright pytype
eslint biome prettier
react vue svelte angular
webpack vite rollup esbuild parcel
flask django fastapi
make just bazel gradle maven ninja cmake
terraform pulumi ansible cloudformation
gcc clang msvc
main develop master trunk
utc local
ascii utf
md5 sha
x86 arm
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
hourly daily nightly weekly monthly yearly annually quarterly
morning evening
millisecond second minute hour day week month year
byte kilobyte megabyte gigabyte
red green yellow blue
uppercase lowercase
singular plural
snake camel kebab pascal
admin user guest
reads writes
rows columns
row column
width height
cpu gpu
memory disk
thread process
class function module
alpha beta
montag dienstag mittwoch donnerstag freitag samstag sonntag
lunes martes miércoles jueves viernes sábado domingo
测试 生产 开发 预发
最大 最小
推送 拉取
上传 下载
读取 写入
主库 从库
客户 服务
前端 后端"""

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
    return {_stem(word): _stem(line.split()[0]) for line in _SYNONYMS.splitlines() for word in line.split()}


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """The word's stem, or the first of its synonyms."""
    stem = _stem(word)
    return _synonyms().get(stem, stem)


def _table(text: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in text.splitlines():
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
      (?P<url>https?://[^\s<>`"')\]]+)
    | (?P<date>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?)
    | (?P<flag>(?<![\w-])--?[A-Za-z][\w-]*)
    | (?P<issue>\#\d+\b)
    | (?P<path>[A-Za-z]:\\[\w\\.-]+
        | (?<![\w.])[\w@$*.{{}}+~-]*(?:/[\w@$*.{{}}\[\]+-]*)+
        | (?<![\w*])\*+\.[\w*{{}},-]+
        | (?<![\w.])\.[A-Za-z][\w.-]*
        | (?<![\w.])[A-Za-z_][\w-]*(?:\.[A-Za-z0-9_*][\w*-]*)+)
    | (?P<number>(?<![^\s(\[=:,<>`"'])-?(?=\d)(?:\d[\d_]*(?:[.,:]\d+)*)(?:\.x\b)?(?:[-]?(?:rc|alpha|beta|dev|post)\.?\d*)?
        (?:\ ?(?:ms|msecs?|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?
            |percent|[kmgt]i?b|bytes?)(?![^\W_])|\ ?%|\w*)
        | \d\w*(?:[.,:]\d+)*)
    | (?P<operator>[=!<>]=|&&|\|\||(?<=\s)[<>](?=\ ?\d)|[≤≥≠])
    | (?P<run>[{_UNSPACED}]+)
    | (?P<word>(?:(?![{_UNSPACED}])[\w{_MARKS}])+(?P<call>\(\))?)
    | (?P<comma>[,，、])
    | (?P<stop>[.;:!?()。；：！？—–…]|\n\s*\n|\s-\s)
    """
    return {
        "token": re.compile(token, re.VERBOSE | re.IGNORECASE),
        "heading": re.compile(
            r"^[ \t]{0,3}#{1,6}[ \t]+(?:\[?\d{4}-\d\d-\d\d[^\]\s]*\]?[ \t:–—-]*)?(.*?)[ \t#]*$", re.MULTILINE
        ),
        "bullet": re.compile(
            r"^[ \t>]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+|>[ \t]*|(?=\[\d{4}))(?:\[\d{4}-\d\d-\d\d[^\]\s]*\][ \t:–—-]*)?",
            re.MULTILINE,
        ),
        "code": re.compile(
            r"^[ \t]*(?:```|~~~).*?$(.*?)^[ \t]*(?:```|~~~)[ \t]*$|(`+)(.+?)\2", re.DOTALL | re.MULTILINE
        ),
        "emphasis": re.compile(r"(?<![\w*/])(\*{1,3})(?=[^\s*/.])([^*\n]+?)(?<=\S)\1(?![\w*/])"),
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
    text = patterns["bullet"].sub("\n\n", text)
    text = patterns["emphasis"].sub(r"\2", text)
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
        kind = "word" if kind == "call" else kind
        if kind == "word":
            yield _word(raw, code=code, proper=not fresh and raw[0].isupper())
        elif kind in ("url", "path"):
            yield from _path(raw, code=code)
        elif kind in ("comma", "stop"):
            yield _Token("comma" if kind == "comma" and not code else "gap" if code else "stop", raw)
        else:
            yield _literal(kind, raw, code=code)
        fresh = kind == "stop"


def _word(raw: str, *, code: bool, proper: bool) -> _Token:
    word = raw.removesuffix("()").strip("_")
    if "_" in word or raw.endswith("()") or (word[:1].islower() and not word.islower() and word.isascii()):
        return _Token("name", word, code)
    folded = word.casefold()
    if folded in _COUNTS and not code:
        return _Token("number", _COUNTS[folded])
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
        self.commas: list[int] = []

    def add(self, term: str) -> None:
        """Append a content term; "and" followed by the negated verb again ends the negation."""
        if self.joined and self.negated and not self.terms and (term == self.head or term in _RESUME):
            self.governor, self.negated = "", False
        if self.negated and not self.head and term not in _LIGHT:
            self.head = term
        self.joined = ""
        self.terms.append(term)

    def close(self) -> None:
        """End the phrase; a bare "not" that ends it negates what went before ("Verwende X nicht")."""
        if self.terms:
            self.done.append(Phrase(self.clause, self.governor, self.negated, tuple(self.terms)))
        self.terms = []

    def govern(self, governor: str) -> None:
        """Open a phrase under a preposition or conjunction; "not in", "instead of" stay what they are."""
        if governor in _SCOPE_ENDS:
            self.settle()
            self.negated = False
        elif not self.terms and self.governor in _STICKY:
            return
        self.close()
        self.governor = governor

    def join(self, word: str) -> None:
        """ "and", "or": a new clause under the same governor."""
        self.close()
        self.clause += 1
        self.joined = word

    def negate(self, *, refusal: bool) -> None:
        """Open a negated phrase; "never avoid", "not without" cancel out."""
        if refusal and self.negated and not self.terms and self.governor == "not":
            self.governor, self.negated = "", False
            return
        self.close()
        self.governor, self.negated, self.head = "not", True, ""

    def settle(self) -> None:
        """A negation with nothing after it belongs to the phrase before it, or stands alone."""
        if self.negated and self.governor == "not" and not self.terms:
            last = self.done[-1] if self.done else None
            if last is not None and last.clause == self.clause and not last.negated:
                self.done[-1] = last._replace(governor="not", negated=True)
            else:
                self.done.append(Phrase(self.clause, "not", True, ()))
            self.governor = ""

    def comma(self) -> None:
        self.stop()
        self.commas.append(len(self.done))

    def stop(self) -> None:
        self.settle()
        self.close()
        self.clause += 1
        self.governor, self.negated, self.joined, self.head = "", False, "", ""


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
        elif token.kind != "gap":
            state.add(token.text)
    state.stop()
    return _lists(state.done, state.commas)


def _take(state: _Phrases, token: _Token, previous: str, following: str) -> None:
    word = token.text
    if token.code:
        state.add(_term(word))
    elif _negates(word, previous, following):
        state.negate(refusal=word not in _PARTICLES)
    elif word in _JOINERS:
        state.join(word)
    elif word in _GOVERNORS:
        state.govern(_GOVERNORS[word])
    elif word in _TRANSPARENT:
        if state.joined and word in _RESUME:
            state.governor, state.negated = "", False
    else:
        state.add(_term(word))


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
            state.negate(refusal=False)
            start = match.end()
    for term in _bigrams(run[start:]) if start < len(run) else ():
        state.add(term)


def _lists(phrases: list[Phrase], commas: list[int]) -> tuple[Phrase, ...]:
    """In "never commit A, B or C" the items after a comma stand under the governor of the first."""
    for at in commas:
        if not 0 < at < len(phrases):
            continue
        head, item = phrases[at - 1], phrases[at]
        last = phrases[at + 1] if at + 1 < len(phrases) else None
        listed = item.governor == "" and len(item.terms) <= 2 and head.governor
        if listed and last is not None and (at + 1 in commas or last.governor == ""):
            phrases[at] = item._replace(governor=head.governor, negated=head.negated)
            if at + 1 not in commas:
                phrases[at + 1] = last._replace(governor=head.governor, negated=head.negated)
    return tuple(phrases)


def claim(text: str) -> Claim:
    """What `text` asserts. Heading marks, heading and bullet dates, bullets and emphasis do not count."""
    tokens = list(_tokens(text))
    words: set[str] = set()
    kinds: dict[str, set[str]] = {}
    for token in tokens:
        if token.kind == "run":
            words.update(_bigrams(token.text))
        elif token.kind not in ("stop", "comma", "gap"):
            words.add(token.text.casefold())
        kinds.setdefault(token.kind, set()).add(token.text)
    found = {kind: frozenset(texts) for kind, texts in kinds.items()}
    none: frozenset[str] = frozenset()
    phrases = _phrases(tokens)
    return Claim(
        words=frozenset(words),
        phrases=phrases,
        numbers=found.get("number", none) | found.get("date", none),
        paths=found.get("path", none),
        flags=found.get("flag", none),
        names=found.get("name", none),
        code=frozenset(token.text for token in tokens if token.code and token.kind == "word"),
        proper=frozenset(_term(token.text) for token in tokens if token.proper),
        limits=frozenset(
            _LIMITS[g] for w in found.get("word", none) if (g := _GOVERNORS.get(w, "")) in _LIMITS
        ),
    )


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
    if a[1:] == b[1:]:
        return None
    return next((reason for reason, fires in _GUARDS if fires(a, b)), None)


def near_duplicate(a: Claim, b: Claim, threshold: float = 0.8) -> bool:
    """Whether the two say the same: Jaccard above `threshold` (strictly) and no guard."""
    return jaccard(a, b) > threshold and guard(a, b) is None
