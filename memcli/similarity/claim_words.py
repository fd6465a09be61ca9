"""The words that claims are compared by: which carry no meaning, which govern, negate, equal or
oppose.
"""

from __future__ import annotations

from functools import cache, lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRANSPARENT = _words(
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
GOVERNORS = {word: line.split()[0] for line in _GOVERNING.split("|") for word in line.split()}
SCOPE_ENDS = frozenset(
    {"because", "since", "so", "but", "while", "instead", "when", "if", "unless", "then"}
)
STICKY = frozenset({"not", "instead", "only", "except", "before", "after"})
JOINERS = frozenset({"and", "or", "und", "oder", "y", "o", "e", "et", "ou", "plus"})
PARTICLES = _words(
    """
    not no never none nothing nobody nowhere neither nor non dont doesnt didnt cant cannot wont isnt
    nicht kein keine keinen keinem keiner keines nie niemals weder nunca jamás jamas ningún ninguna
    ninguno nada ni tampoco ne pas jamais aucun aucune não nao nem
    """
)
REFUSALS = _words(
    """
    without avoid avoids avoiding avoided refrain forbid forbids forbidden prohibit prohibits prohibited
    ban bans banned unable ohne vermeide vermeiden vermeidet verboten sin evitar evita evite prohibido
    sans éviter sem
    """
)
NOT_NEGATED = _words("only just merely necessarily matter forget forgets fail hesitate neglect")
LIGHT = _words("use do be mak put rely call try attempt want set get even verwend usa")
RESUME = _words("use do keep always instead then let prefer")
NOT_ADVERBS = _words("assembly anomaly multiply butterfly")
TRAILING = frozenset({"nicht", "pas"})
LIMITS = {"only": "only", "except": "except", "unless": "except"}
CONDITIONS = frozenset(
    {"if", "when", "unless", "except", "only", "until", "while", "during", "where"}
)
DIRECTED = frozenset({"before", "after", "not", "instead", "over", "than", "until", "then"})
_NUMERALS = "two three four five six seven eight nine ten eleven twelve"
PREFIXES = ("un", "in", "im", "ir", "il", "dis", "de", "des", "non", "anti", "mis")
COUNTS = {word: str(count) for count, word in enumerate(_NUMERALS.split(), 2)}
ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "z.b", "d.h", "u.a", "p.ej", "a.k.a", "vs", "u.s"})
SLASHED = _words(
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

UNITS = {
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
    """The word without English inflection: a lighter Porter step 1 (run and running are equal)."""
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
    return {
        _stem(word): _stem(line.split()[0])
        for line in _SYNONYMS.split("|")
        for word in line.split()
    }


@lru_cache(maxsize=1 << 16)
def canonical(word: str) -> str:
    """The word's stem, or the first of its synonyms."""
    stem = _stem(word)
    return _synonyms().get(stem, stem)


def _table(text: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in text.split("|"):
        group = {canonical(word) for word in line.split()}
        for word in group:
            table.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in table.items()}


@cache
def opposites() -> dict[str, frozenset[str]]:
    """For each term those that cannot hold together with it."""
    return _table(_OPPOSITES)


@cache
def contrasts() -> dict[str, frozenset[str]]:
    """For each term those that mean something else, though both may hold."""
    return _table(_CONTRASTS)
