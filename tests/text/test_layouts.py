"""Secrets in many layouts, and harmless lines beside them, by lists.

Half of `layouts.txt` and `harmless.txt` was looked at while the rules were made; the
lists named `once` were written after them. When first scored, the other half missed 15
of 196 and raised one alarm in 94; `once` missed 15 of 100 and raised 2 in 76; `prose`
(ten languages, a word between the name and the value) missed 6 of 60 and raised none in
60; `fifth` (what people tell an agent in five languages) missed 2 of 30 and raised none
in 60, and was not mended. What is asserted here is the state after those were mended, too."""

import base64
import random
import textwrap
from string import ascii_letters, ascii_lowercase

import pytest

from memcli.text.chosen import looks_random
from memcli.text.secrets import find_secrets, redact_secrets
from tests.docs.generate import ROOT
from tests.text.layouts import ALPHABETS, PLACE, layouts, lines, made
from tests.text.test_secret_forms import BODY, PEM
from tests.work import ends

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "line",
    [
        "Do not commit the API key {}.",
        "in commit abc we leaked the access token {}",
        "never commit credentials: {}",
        "the API key {} of the websocket gateway",
        "The token {} opens the public API",
    ],
)
def test_a_word_of_prose_makes_no_named_key_public(line):
    """Hex alone is a commit, and only what is called so a public key."""
    assert find_secrets(line.format("8fK2mQz9Xv4Lp7Rt1Wy6Bn3c"))
    drawn = "8fd0c2a9b1e37f6a5d4c3b2a1908f7e6d5c4b3a2"
    assert not find_secrets(f"the key of commit {drawn}")
    assert not find_secrets("public key 8fK2mQz9Xv4Lp7Rt1Wy6Bn3c")


def test_what_mem_writes_is_shown_as_it_is():
    """The addresses of robots in it, too, which are no names with passwords."""
    for path in (ROOT / "memcli/install/templates").iterdir():
        assert find_secrets(path.read_text()) == [], path


def test_no_secret_passes_as_the_address_of_a_robot():
    """It is a number and a name, at that host alone."""
    assert find_secrets("users: 41898282+github-actions[bot]@example.com")
    assert find_secrets("users: tr0ub4dor+git!x[bot]@users.noreply.github.com")


@pytest.mark.parametrize(
    ("names", "rows", "most"),
    [
        ("layouts layouts_once layouts_prose", 533, 26),
        # What people tell in a chat.
        ("layouts_fifth", 30, 2),
        # By a hand that had read the code, not the tables of rules. At first 53 of 327
        # were missed; 49 after its first half had been mended. What is left has been
        # looked at since, and the look of values was made for it.
        ("layouts_third", 327, 10),
        # Written when the rules were done, by the hand that had written the last of
        # them. Scored once, 12 of 281 were missed (4 %, 2.5 to 7.3) and 5 of 151
        # harmless lines were touched; here is the state after some were mended.
        ("layouts_fourth", 281, 5),
        # Of programs and vendors, written before the rules were looked at. Scored once,
        # 11 of 140 were missed (8 %, 4.4 to 13.5); after those were mended, 7 of the
        # other 77 (9 %, 4.5 to 17.6), and none of 169 harmless lines was touched. Here
        # is the state after both were mended; three lines whose secret was misnamed are
        # put right.
        ("layouts_sixth", 217, 2),
        # Of many programs, written before the rules were looked at, and parted by
        # chance. Of the first half 16 of 61 were missed, 3 after they were mended; of
        # the second then 18 of 62 (it had been 19), 10 after some were mended by what
        # holds for more than one. Of 120 harmless lines 3 were touched, and 1 now.
        ("layouts_seventh", 123, 13),
        # Written before the rules were looked at: files of configuration, command lines
        # and logs, then prose, devices and code. The measure of neighbours was made on
        # the first, its limit chosen on the second. Of the third 23 of 138 were missed,
        # scored once (44 before); here is the state after some were mended.
        ("layouts_eighth", 341, 21),
    ],
)
def test_of_each_list_few_secrets_are_left(names, rows, most):
    """So many of its rows at most."""
    listed = [row for name in names.split() for row in layouts(f"{name}.txt")]
    missed = [row.frame for row in listed if row.secret in redact_secrets(row.text)]
    assert len(listed) == rows
    assert len(missed) <= most, missed


@pytest.mark.parametrize(
    ("alphabet", "size"),
    [
        (ALPHABETS["a"], 12),
        (ALPHABETS["U"], 12),
        (ascii_lowercase, 12),
        (ascii_letters, 12),
        (ascii_lowercase, 20),
    ],
)
def test_what_is_drawn_has_rare_neighbours(alphabet, size):
    """Of values of letters, with digits or without, one in ten at most is passed
    over."""
    dice = random.Random(5)
    drawn = ["".join(dice.choices(alphabet, k=size)) for _ in range(300)]
    assert sum(not looks_random(value) for value in drawn) <= 30


def test_what_is_drawn_goes_from_a_line_about_access():
    dice = random.Random(5)
    drawn = [made("a12", dice) for _ in range(300)]
    left = [
        value
        for value in drawn
        if value in redact_secrets(f"the login of the panel takes {value} now")
    ]
    assert len(left) <= 30


@pytest.mark.parametrize(
    "frame",
    [
        "flights KEY {h24}",
        "panelTOKEN {a20}",
        "routerPRIVATE:{h40}",
        "the secret of that box: {h32}",
        "sitekey={U20}",
        "tokens: {h32}, {h32}, {h32}",
    ],
)
def test_letters_of_one_alphabet_go_behind_their_name(frame):
    dice = random.Random(frame)
    values = list[str]()

    def put(place):
        values.append(made(place[1], dice))
        return values[-1]

    left = redact_secrets(PLACE.sub(put, frame))
    assert not [value for value in values if value in left]


def test_a_long_token_goes_wherever_it_stands():
    """No word for access, and no prefix that a table has."""
    dice = random.Random(11)
    tokens = [f"zqv_live_{made('a32', dice)}" for _ in range(100)]
    left = [value for value in tokens if value in redact_secrets(f"reports: {value}")]
    assert len(left) <= 5


@pytest.mark.parametrize(
    "text",
    [
        "the limit is 30,000 tokens per minute (org: 525d1899-c25e-485c-b1b5-60ceca53b817)",
        "cache key 5f45a34f4fc3553beae200b6191bf977",
        "the auth fix is in commit 4f1c0a9be8d3572610aef7c9b24d58e3610fa27b",
        "alphabet = 123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        "example.com/box v1.0.0 h1:jESBY40agJOlLYnnv9jE0mLqDGTxEk0hkOnx7YGyRlQ=",
        "an image:\nQ7xTr9ZkLm3Bv6WpHs2NcYd8Jf4GqAe1\nZkLm3Bv6WpHs2NcYd8Jf4GqAe1Q7xTr9",
    ],
)
def test_what_is_drawn_and_known_to_all_stays(text):
    assert redact_secrets(text) == text


@pytest.mark.parametrize(
    "name",
    [
        "getAccessToken2",
        "objectToProxy",
        "HTTPServerFactory",
        "checkout-api-7d9f8b6c54-x2k9q",
        "WebAuthn2",
        "refresh_token_v2",
    ],
)
def test_what_is_named_stays_beside_a_password(name):
    text = f"the login of the panel takes {name} now"
    assert redact_secrets(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "token: ghp_abcDEF1234567890gh\n  IJKLmn4567890123",
        'key = "sk-ant-api03-Qw8xLv2RtY5zNc1a" +\n      "Jp7Kd3Hs9Fg4Bm6T"',
        "AWS_SECRET_ACCESS_KEY=wJalrXUtn2FEMIqK7MDENG\\\n    bPxRfi8CYzLq4KEYx",
        "API_KEY=Qw8xLv2RtY5zNc1aJp7K\nd3Hs9Fg4Bm6TQw8xLv2R",
        "> api_key: Qw8xLv2RtY5zNc1aJp7K\n> d3Hs9Fg4Bm6TQw8xLv2R",
    ],
)
def test_a_credential_goes_with_its_second_line(text):
    first, second = text.split("\n")
    left = redact_secrets(f"Before.\n\n{text}\n\nAfter it.")
    assert first[-12:].strip('" +') not in left
    assert second.split()[-1].strip('"') not in left
    assert left.startswith("Before.") and left.endswith("After it.")


def test_a_line_below_a_short_value_stays():
    text = "password: Tiger4821\nproduction2\n\nThe rest."
    assert "production2" in redact_secrets(text)
    text = "commit 4f1c0a9be8d3572610aef7c9b24d58e3610fa27b\nabc123def456\n"
    assert redact_secrets(text) == text


def test_a_value_that_looks_like_a_secret_needs_a_line_about_access():
    """The look alone is not enough, nor is the word alone."""
    value = "Fj3kQ!x9vLw2"
    assert value not in redact_secrets(f"the users' panel takes {value} at the door")
    assert value in redact_secrets(f"the panel takes {value} at the door")
    table = "| host | password |\n|---|---|\n| a | Tiger4821 |\n\nTiger4822"
    assert "Tiger4821" not in redact_secrets(table)
    assert "Tiger4822" in redact_secrets(table)
    asked = "What is the root password?\nIt is Tiger4821.\nA Tiger4822."
    assert "Tiger4821" not in redact_secrets(asked)
    assert "Tiger4822" in redact_secrets(asked)


@pytest.mark.parametrize(
    "name",
    [
        "harmless_fifth.txt",
        "harmless.txt",
        "harmless_once.txt",
        "harmless_prose.txt",
        "harmless_third.txt",
        "harmless_fourth.txt",
        "harmless_sixth.txt",
        "harmless_seventh.txt",
        "harmless_eighth.txt",
    ],
)
def test_no_harmless_line_is_touched(name):
    texts = [row.replace("\\n", "\n") for row in lines(name)]
    assert [text for text in texts if find_secrets(text)] == []


@pytest.mark.parametrize("width", [64, 76, 120])
@pytest.mark.parametrize("margin", ["", "    ", "> "])
def test_a_key_in_base64_goes_with_all_its_lines(width, margin):
    coded = base64.b64encode("\n".join(PEM).encode()).decode()
    text = textwrap.indent("\n".join(textwrap.wrap(coded, width)), margin)
    left = redact_secrets(f"tls.key:\n{text}\n\nAfter the key.")
    assert coded[200:220] not in left and coded[-30:-10] not in left
    assert left.endswith("After the key.")


@pytest.mark.parametrize("margin", ["    ", "\t", "> ", "# "])
def test_a_key_without_its_first_line_goes_also_where_it_is_indented(margin):
    text = textwrap.indent("\n".join(PEM[1:]), margin)
    left = redact_secrets(f"Before.\n\n{text}\nAfter.")
    assert not [line for line in BODY if line[:20] in left]
    assert left.startswith("Before.") and left.endswith("After.")


def test_the_body_of_a_key_alone_goes():
    body = "MIIEpAIBAAKCAQEA" + BODY[0][16:]
    left = redact_secrets("\n".join([body, *BODY[1:]]))
    assert not [line for line in BODY[1:] if line[:20] in left]


@pytest.mark.parametrize(
    "unit",
    [
        "pwd:",
        "password=",
        "password is a ",
        "pass ",
        "user?\n",
        "|pw|\n",
        "pw for a b ",
        "user a on b ",
        "pin for the ",
        "$6$a",
        "create_user SHA ",
    ],
)
def test_time_is_by_length(unit):
    """A run of names is judged once: 100 KB of them come to an end."""
    with ends():
        find_secrets(unit * (100_000 // len(unit)))
