"""Keys in every layout, tokens of the table, passwords in sentences; and texts that
only look so."""

import base64
import random
import re
from pathlib import Path

import pytest

from memcli.text import secrets
from memcli.text.secret_rules import PLACES, PROSE
from memcli.text.secrets import find_secrets, redact_secrets
from memcli.text.token_rules import NUMBERS, TOKENS

pytestmark = pytest.mark.unit
SHAPES = (
    Path(secrets.__file__)
    .with_name("token_shapes.txt")
    .read_text("utf-8")
    .splitlines()[1:]
)
RANDOM = random.Random(7)
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
HEX = "0123456789abcdef"
DRAWN = "DNxril3RavGD5MfvJ7NScUykT8C8UBkkpdhiG37LeXSyYV4g6snRoUYA4fXr"
DRAWN_LETTERS = "gmikzbgwanbmpeahnxdtadysggkaceraqcsprgncmguycwseftxbbirvtexi"


def made(pattern, dice):
    """A text that the pattern of a row matches, by chance."""
    plain = re.sub(r"\(\?:(.+?)\|.+?\)", r"\1", pattern)
    atoms = re.findall(r"(\[[^\]]+\]|\\?.)(?:\{(\d+)(?:,\d*)?\})?", plain)
    return "".join(
        some(
            int(count or 1),
            "".join(c for c in ALNUM + "+/=_.-" if re.fullmatch(atom, c)),
            dice,
        )
        for atom, count in atoms
    )


def some(length, alphabet=ALNUM, dice=RANDOM):
    return "".join(dice.choice(alphabet) for _ in range(length))


BODY = [*(some(64, ALNUM + "+/") for _ in range(9)), some(30) + "=="]
PEM = [
    "-----BEGIN " + "RSA PRIVATE KEY-----",
    *BODY,
    "-----END " + "RSA PRIVATE KEY-----",
]
LAYOUTS = {
    **{mark: "\n".join(mark + line for line in PEM) for mark in ("", "> ", "- ", "+", "# ", "// ", " * ", "        ")},
    **{repr(glue): glue.join(PEM) for glue in ("\r\n", " ", "\\n", "\\\\n", "<br>", "%0A", "&#10;", "\\012")},
    "numbers": "\n".join(f"{i}: {line}" for i, line in enumerate(PEM)),
    "grep": "\n".join(f"conf/key.pem:{i}:{line}" for i, line in enumerate(PEM)),
    "log": "\n".join(f"2026-01-02 10:00:01 INFO {line}" for line in PEM),
    "table": "\n".join(f"| {line} |" for line in PEM),
    "strings": "\n".join(f"    '{line}\\\\n' +" for line in PEM),
    "no end": "\n".join(PEM[:-1]),
    "no begin": "\n".join(PEM[1:]),
    "one line": PEM[0] + "\n" + "".join(BODY) + "\n" + PEM[-1],
    "ssh2": "---- BEGIN SSH2 PRIVATE KEY ----\nComment: x\n" + "\n".join(BODY) + "\n---- END SSH2 PRIVATE KEY ----",
    "ppk": "Private-Lines: 10\n" + "\n".join(BODY) + "\nPrivate-MAC: 9f",
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_private_key_goes_whole(name):
    """Whatever stands before, between or behind its lines; what follows the key
    stays."""
    left = redact_secrets(f"Before.\n\n{LAYOUTS[name]}\n\nAfter the key.")
    assert not [
        run for run in re.findall(r"[A-Za-z0-9+/]{12,}", left) if run in "".join(BODY)
    ]
    assert "Before." in left and left.endswith("After the key.")


def test_a_key_in_other_clothes():
    """Base64 of a PEM, and the private member of a JWK."""
    coded = base64.b64encode("\n".join(PEM).encode()).decode()
    assert coded[:60] not in redact_secrets(f"KEY_B64 {coded}")
    jwk = f'{{"kty": "EC", "x": "public", "d": "{some(43)}"}}'
    assert [span.kind for span in find_secrets(jwk)] == ["private-key"]


@pytest.mark.parametrize("row", SHAPES)
def test_each_shape_is_found(row):
    """A token made after a row of the table is found, at each of its prefixes."""
    kind, prefixes, rest = row.split(" ", 2)
    dice = random.Random(row)  # whatever ran before it
    for prefix in prefixes.split(","):
        value = prefix + made(rest, dice)
        found = find_secrets(f"x {value} y")
        assert any(span.end - span.start > len(prefix) for span in found), (kind, value)


@pytest.mark.parametrize("end", ["\\\n", "\\\r\n"])
def test_a_token_that_a_backslash_takes_to_the_next_line_goes_whole(end):
    """As a shell reads it; where a word ends there, nothing is joined."""
    for start, rest in (("ghp_", some(36)), ("AKIA", some(16, "QEGRZPLMXK279"))):
        for cut in range(4, len(rest) - 4, 3):
            text = f"x {start}{rest[:cut]}{end}{rest[cut:]} y"
            left = redact_secrets(text)
            assert rest[:cut] not in left, text
            assert rest[cut:] not in left, text
    shell = f"curl -H ghp_short \\{end}  --data {some(12)}{end}--fast"
    assert redact_secrets(shell) == shell


PHRASE = "legal winner thank year wave sausage worth useful river winner thank yellow"
FRAMES = """
The wallet's seed phrase is {}
Seed phrase: {}.
WALLET_MNEMONIC="{}"
The seed words of the hot wallet are {}
Die Seed-Phrase der Wallet lautet {}
seed is '{}' keep it safe
backup phrase (24 words): {} {}
""".strip().splitlines()
SEEDLESS = """
The seed phrase is never stored in plain text because anyone who reads it owns it.
Support will never request secret words over email, chat, phone, fax, paper, or letter.
The wallet service retries failed transfers, logs each attempt, alerts oncall engineers
seed: run make seed, then npm test, docker compose logs, pytest cart, ruff check, mypy
A mnemonic helps people remember; choose short vivid images, link each image, rehearse
The database seed creates users, roles, teams, plans, invoices, orders, carts, coupons
""".strip().splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "the password is hunter2abc",
        "log in to the admin page with user zebra and pass correcthorse77.",
        "Log in as zebra with pw correcthorse77",
        "Das Passwort lautet Geheim77x",
        "密码是 Zx9k22pq",
        "La contraseña es Perro88gato",
        "le mot de passe est Chien99xx",
        "le mot de passe c'est Chien99xx",
        "clave root: Luna-4492xy",
        "пароль: Qwerty77x",
        "パスワードは Neko88sama です",
        "machine api.example.com login me password s3cr3tpw9",
        "localhost:5432:db:me:s3cr3tpw9",
        "postgres://u:p4ss/w0rd9@db.example.com/x",
        f"https://{some(40)}@github.com/o/r.git",
        f"Cookie: sessionid={some(32)}",
        "_auth=" + base64.b64encode(b"user:pa55word!").decode(),
        '{"auth": "' + base64.b64encode(b"user:pa55word!").decode() + '"}',
        f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{some(27)}",
        f"{some(32, HEX)}-us12",
        *(frame.replace("{}", PHRASE) for frame in FRAMES),
        "mnemonic:\n" + "\n".join(f"{n}. {w}" for n, w in enumerate(PHRASE.split(), 1)),
        "my recovery phrase for the ledger: " + PHRASE.replace(" ", ", "),
    ],
)
def test_credentials_in_other_forms(text):
    """Sentences, netrc, pgpass, URLs, cookies, registries."""
    assert find_secrets(text), text


@pytest.mark.parametrize(
    "text",
    [
        "The password is required for login and stored in the vault.",
        "密码是必填项",
        "log in as user ann and pass --fast2 on, or as user bob and pass it to 2 jobs",
        "Das Passwort ist in 1Password gespeichert",
        "password is process.env.DB_PASS",
        "the password is sha256-hashed; bcrypt-hashed before",
        "Never commit -----BEGIN PRIVATE KEY-----; check `git grep`.",
        "Between -----BEGIN RSA PRIVATE KEY----- and -----END RSA PRIVATE KEY----- stands base64.",
        "-----BEGIN CERTIFICATE-----\n"
        + "\n".join(BODY)
        + "\n-----END CERTIFICATE-----",
        "http://host:8080/path@v2/x and https://user@github.com/org/repo.git",
        "git+https://github.com/org/some-long-repository-name@v1.2.3",
        f"https://raw.example.com/o/r/{some(40, HEX)}/f.md, sha256:{some(64, HEX)}",
        "ports: 5432:5432, host:5432:db:user:password",
        "MyModule.Module1.SomeVeryLongFunctionNameHereXXXX",
        *SEEDLESS,
    ],
)
def test_harmless_texts(text):
    """What only names a secret is left word for word."""
    assert redact_secrets(text) == text


def test_each_rule_has_one_group_at_most():
    """Group 1, or the whole match, is the secret: another would be none at all."""
    rules = (*TOKENS, *NUMBERS, *PLACES, *PROSE)
    grouped = [re.compile(rule.pattern, re.VERBOSE).groups for rule in rules]
    assert max(grouped) == 1


@pytest.mark.parametrize("name", ["securestring", "SecureString", "SECURESTRING"])
def test_a_secure_string_is_found_in_any_case(name):
    assert redact_secrets(f'$it = ConvertTo-{name} "falcon8590"').count("falcon") == 0


@pytest.mark.parametrize(
    "line",
    [
        f'SNYK_API_KEY ?= "{DRAWN[:36]}"',
        f"API_TOKEN += {DRAWN[:36]}",
        f"sk-pyx-{DRAWN_LETTERS}",
        f"one sk-{DRAWN_LETTERS} two",
        f"HRKU-{DRAWN}\nHRKU-{DRAWN}",
        "packagist_ack_" + "34d10e5e7933a07804ce4507ce3dd5f7",
    ],
)
def test_tokens_behind_a_short_name_and_values_of_make(line):
    """A token that says whose it is goes also as a line of its own; make assigns in
    more than one way."""
    left = redact_secrets(line)
    assert DRAWN[:36] not in left
    assert DRAWN_LETTERS not in left
    assert "34d10e5e" not in left
