"""Find credentials by their shape, their place or their name, and take them out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from memcli.text.credentials import assigned, is_filler, is_masked, is_ordinary
from memcli.text.matching import Span, TextRule, due, lowered, regex, replaced, settle
from memcli.text.private_keys import KEY_HINT, private_keys
from memcli.text.token_shapes import SHAPES

_B: Final = r"(?<![A-Za-z0-9])"
_E: Final = r"(?![A-Za-z0-9])"
_SEP: Final = r"""\\{0,3}["'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\{0,3}["'`]?"""
# Shapes that speak for themselves. Group 1, where there is one, is what goes.
_TOKENS: Final = (
    TextRule("anthropic-key", ("sk-ant-",), _B + r"sk-ant-[\w-]{16,}+"),
    TextRule("openai-key", ("sk-",), _B + r"sk-(?:proj|svcacct|admin|None)-[\w-]{16,}+"),
    TextRule("openai-key", ("sk-",), _B + r"sk-(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{20,}+(?![\w-])"),
    TextRule("api-token", ("sk-",), _B + r"sk-(?:or|lf|v1|cp|kimi)-(?:v1-)?[\w-]{20,}+"),
    TextRule("aws-access-key", ("AKIA", "ABIA", "ACCA"), _B + r"A(?:KIA|BIA|CCA)[0-9A-Z]{16}" + _E),
    TextRule("aws-access-key", ("ASIA",), _B + r"ASIA(?=[A-Z]{0,15}\d)[0-9A-Z]{16}" + _E),
    TextRule(
        "aws-secret-key",
        ("ecret",),
        r"(?i:secret_?access_?key)" + _SEP + r"([A-Za-z0-9/+=]{40})(?![A-Za-z0-9/+=])",
    ),
    TextRule(
        "github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _B + r"gh[pousr]_[A-Za-z0-9][\w.-]{28,}\w"
    ),
    TextRule("github-token", ("github_pat_",), _B + r"github_pat_\w{30,}+"),
    TextRule(
        "gitlab-token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"),
        _B + r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent)-[\w-]{16,}+(?:\.[\w-]+)*+",
    ),
    TextRule("slack-token", ("xox",), _B + r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+"),
    TextRule("slack-token", ("xapp-",), _B + r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    TextRule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)",
    ),
    TextRule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d{10,20}/([\w-]{20,}+)"),
    TextRule("google-key", ("AIza",), _B + r"AIza[\w-]{30,}+"),
    TextRule("google-token", ("ya29.", "GOCSPX-"), _B + r"(?:ya29\.|GOCSPX-)[\w-]{20,}+"),
    TextRule("stripe-key", ("k_live_", "k_test_"), _B + r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+"),
    TextRule("stripe-key", ("whsec_",), _B + r"whsec_[A-Za-z0-9+/=]{20,}+"),
    TextRule(
        "discord-token",
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        _B + r"(?:M[Tjz]|N[DTjz]|O[DT])[A-Za-z\d_-]{22,26}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])",
    ),
    TextRule("private-key", ("Private-Lines:",), r"Private-Lines: \d{1,3}\s+((?:[A-Za-z0-9+/=]{8,}\s+){1,80}(?:Private-MAC: \w+)?)"),
    TextRule(
        "private-key",
        ("LS0tLS1CRUdJTi",),
        r"LS0tLS1CRUdJTiB(?:SU0Eg|QUklWQVRF|PUEVOU1NI|FQyBQUkl|FTkNSWVBU|EU0Eg)[A-Za-z0-9+/=]{30,}+",
    ),
    TextRule("npm-token", ("npm_",), _B + r"npm_[A-Za-z0-9]{30,}+"),
    TextRule("pypi-token", ("pypi-",), _B + r"pypi-[\w-]{32,}+"),
    TextRule("sendgrid-key", ("SG.",), _B + r"SG\.[\w-]{16,40}\.[\w-]{30,}+"),
    TextRule("twilio-key", ("SK", "AC"), _B + r"(?:SK|AC)[0-9a-f]{32}" + _E),
    TextRule("telegram-token", (":AA",), r"(?<!\d)\d{8,10}:AA[\w-]{32,35}(?![\w-])"),
    TextRule("jwt", ("eyJ",), r"(?<![\w-])eyJ[\w-]{5,}+\.eyJ[\w-]{5,}+(?:\.[\w-]*+)*+"),
    TextRule("azure-key", ("AccountKey", "SharedAccessKey"), r"Key\s?=\s?([A-Za-z0-9+/]{40,}+={0,2})"),
    TextRule("azure-key", ("sig=",), r"[?&;]sig=([\w%+/=-]{40,}+)"),
    TextRule("azure-key", ("Q~",), r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}(?![\w.~-])"),
    TextRule(
        "api-token",
        (
            "hf_", "gsk_", "r8_", "xai-", "pplx-", "_v1_", "lin_api_", "ntn_", "figd_", "PMAK-", "shpat_",
            "shpss_", "sntry", "hvs.", "hvb.", "glsa_", "sbp_", "pscale_", "ATATT3", "tskey-", "AGE-SECRET",
            "dckr_pat_", "NRAK-", "rubygems_", "lsv2_", "dapi",
        ),
        _B + r"(?:hf_|gsk_|r8_|xai-|pplx-|do[opr]_v1_|lin_api_|ntn_|figd_|PMAK-|shp(?:at|ss)_|sntry[su]_"
        r"|hv[sb]\.|glsa_|sbp_|pscale_\w{2,8}_|ATATT3|tskey-\w{3,8}-|AGE-SECRET-KEY-1|dckr_pat_|NRAK-"
        r"|rubygems_|lsv2_\w\w_|dapi(?=[0-9a-f]{32}))[\w=+-]{20,}+",
    ),
)  # fmt: skip
# These carry a value that may also be a placeholder or an ordinary word.
_CREDENTIALS: Final = (
    TextRule(
        "authorization",
        ("authorization",),
        r"(?i:authorization)" + _SEP + r"(?i:bearer|basic|token|digest|apikey|bot)\s{1,4}"
        r"""([^\s"'`\\,;<>{}$]{8,}+)(?![{(])""",
    ),
    TextRule("bearer-token", ("bearer",), r"\b(?i:bearer)\s{1,4}([\w.~+/-]{20,}+={0,2})"),
    TextRule(
        "url-password",
        ("://",),
        r"""(?<=[A-Za-z0-9])://[^\s/:@"'<>]{0,100}+:([^\s/"'`<>]{1,200})@(?!sha)""",
    ),
    TextRule(
        "curl-password",
        ("curl",),
        r"""(?<!\S)(?:-u|--user)[ =]?["']?[^\s:"'$/]{1,64}:([^\s"'`@$]{4,200}+)""",
    ),
)
# What these name may be any word: only a value that looks chosen counts.
_TOLD: Final = (
    TextRule(
        "password",
        ("passw", "kennwort", "contrase", "mot de passe", "senha", "пароль", "密码", "密碼", "パスワード", "口令"),
        r"""(?i:pass(?:word|wort|phrase)|kennwort|contraseña|mot\ de\ passe|senha|пароль|密码|密碼|口令|パスワード)"""
        r"""(?:\s{1,3}(?:for|für|of|to)\s[\w.@-]{1,40})?\s{0,3}(?:(?i:is|are|lautet|ist|es|est|é|was|now)\s|[是为は]|[:：])"""
        r"""\s{0,3}(?:now\s|jetzt\s)?["'`“「]?([^\s"'`”」,;<>()\[\]{}。，]{6,100})""",
    ),
    TextRule("password", ("machine",), r"\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(\S{4,200})"),
    TextRule(
        "password",
        (":5432:", ":*:", ":6432:", ":5433:"),
        r"(?<!\S)[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:(\S{6,200})",
    ),
    TextRule("url-token", ("://",), r"://([A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@[\w.-]"),
    TextRule(
        "url-password",
        ("://",),
        r"""://[^\s/:@"'<>]{1,100}:(?!\d{1,5}/)([^\s@"'`<>/]{1,100}/[^\s@"'`<>]{0,100})@[\w.-]{1,200}""",
    ),
    TextRule(
        "session-cookie",
        ("cookie",),
        r"(?i)(?:sess(?:ion)?(?:_?id)?|sid|phpsessid|jsessionid|remember_\w{1,20})=([\w%.:-]{16,400})",
    ),
    TextRule("npm-token", ("_auth",), r"""_auth\s?=\s?["']?([A-Za-z0-9+/=]{12,})"""),
    TextRule("docker-auth", ('"auth"',), r'"auth"\s?:\s?"([A-Za-z0-9+/=]{12,})"'),
    TextRule("private-key", ('"kty"',), r'"(?:d|p|q|k)"\s{0,4}:\s{0,4}"([\w-]{20,}+)"'),
    TextRule("mailchimp-key", ("-us",), r"(?<![0-9a-f])([0-9a-f]{32}-us\d{1,2})(?!\w)"),
)  # fmt: skip


@cache
def _shapes() -> tuple[TextRule, ...]:
    """The rules of the table of shapes."""
    rules = []
    for line in SHAPES.split("\n"):
        if line:
            kind, prefixes, rest = line.split(" ", 2)
            starts = tuple(prefixes.split(","))
            pattern = "|".join(map(re.escape, starts))
            rules.append(TextRule(kind, starts, rf"{_B}(?:{pattern}){rest}{_E}"))
    return tuple(rules)


def redact_secrets(text: str) -> str:
    """`text` with every credential replaced by a notice that names its kind."""
    return settle(redact_once, text)


def redact_once(text: str) -> str:
    found = find_secrets(text)
    return (
        replaced(text, [(s.start, s.end, f"[secret removed: {s.kind}]") for s in found])
        if found
        else text
    )


def find_secrets(text: str) -> list[Span]:
    """The credentials in `text`: ascending, disjoint, the more specific kind first choice."""
    low = lowered(text)
    found = list(private_keys(text)) if KEY_HINT in low else []
    for rule in due((*_TOKENS, *_shapes()), text):
        found += _shaped(rule, text, is_masked)
    for rule in due(_CREDENTIALS, low):
        found += _shaped(rule, text, is_filler)
    for rule in due(_TOLD, low):
        found += _shaped(rule, text, is_ordinary)
    return _disjoint([*found, *assigned(text, low)])


def _disjoint(found: list[Span]) -> list[Span]:
    result: list[Span] = []
    for secret in sorted(found, key=lambda s: s.start):
        if result and secret.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, secret.end))
        else:
            result.append(secret)
    return result


def _shaped(rule: TextRule, text: str, innocent: Callable[[str], bool]) -> Iterator[Span]:
    for match in regex(rule.pattern).finditer(text):
        group = 1 if match.lastindex else 0
        if not innocent(match[group]):
            yield Span(rule.kind, match.start(group), match.end(group))
