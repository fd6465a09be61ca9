"""What tokens look like that speak for themselves: one record a kind.

Group 1 of a pattern, or the whole match where it has no group, is the secret.
Only a drawing of one (`ghp_xxxx`) is let by. Tokens that are a prefix and a length
stand in `token_shapes.txt`."""

from memcli.text.matching import HintedRule, hints_of

_BEGIN = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
ASSIGN = r"""\\{0,3}["'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\{0,3}["'`]?"""
"""`:`, `=` or `=>`, and the quotes around it, which may be escaped."""


TOKENS = (
    HintedRule(
        "openai-key",
        ("sk-",),
        rf"""{_BEGIN} sk-(?: (?=[A-Za-z]{{0,60}}\d)[A-Za-z0-9]{{20,}}+
            | (?:[a-z]{{2,10}}-)? [A-Za-z0-9]{{40,}}+ ) (?![\w-])""",
    ),
    HintedRule(
        "aws-access-key",
        ("AKIA", "ABIA", "ACCA", "A3T"),
        rf"{_BEGIN} A(?:KIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{{16}} {_END}",
    ),
    HintedRule(
        "aws-access-key",
        ("ASIA",),
        rf"{_BEGIN} ASIA(?=[A-Z]{{0,15}}\d)[0-9A-Z]{{16}} {_END}",
    ),
    HintedRule(
        "aws-secret-key",
        ("ecret", "ECRET"),
        rf"""[sSſaA] (?i: (?<=s) ecret_?access_?key {ASSIGN}  # aws_secret_access_key = …
              | (?<=s) ecret_access_key \s        # aws configure set … …
              | (?<=a) ws [^\n\w]{{1,3}} secret (?:[^\n\w]{{1,3}}\w{{1,12}}){{0,3}} [:\s]\s? )
            ([A-Za-z0-9/+=]{{40}}) (?![A-Za-z0-9/+=])""",
    ),
    HintedRule(
        "slack-token",
        ("xox",),
        rf"{_BEGIN} xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,}}+",
    ),
    HintedRule("slack-token", ("xapp-",), rf"{_BEGIN} xapp-\d-[A-Za-z0-9-]{{20,}}+"),
    HintedRule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)",
    ),
    HintedRule(
        "discord-webhook",
        ("/api/webhooks/",),
        r"/api/webhooks/\d{10,20}/([\w-]{20,}+)",
    ),
    HintedRule(
        "discord-token",
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        r"""[MNO] (?<![A-Za-z0-9].) (?: (?<=M)[Tjz] | (?<=N)[DTjz] | (?<=O)[DT] )
            [A-Za-z\d_-]{22,26} \.[\w-]{6}\.[\w-]{27,40}(?![\w-])""",
    ),
    HintedRule(
        "twilio-key",
        ("SK", "AC"),
        rf"[SA] (?<![A-Za-z0-9].) (?: (?<=S)K | (?<=A)C ) [0-9a-f]{{32}} {_END}",
    ),
    HintedRule(
        "telegram-token", (":AA",), r"(?<!\d) \d{8,10}:AA[\w-]{32,35} (?![\w-])"
    ),
    HintedRule(
        "braintree-token",
        ("access_token$",),
        r"access_token\$(?:production|sandbox)\$[A-Za-z0-9]{16}\$[a-f0-9]{32}",
    ),
    HintedRule("telegram-token", ("/bot",), r"/bot(\d{8,10}:[\w-]{35})(?![\w-])"),
    HintedRule(
        "jwt",
        ("eyJ",),
        r"(?<![\w-]) eyJ[\w-]{5,}+ \.eyJ[\w-]{5,}+ (?>(?:\.[\w-]*+)*)",
    ),
    HintedRule(
        "azure-key",
        ("AccountKey", "SharedAccessKey"),
        r"Key\s?=\s?([A-Za-z0-9+/]{40,}+={0,2})",
    ),
    HintedRule("azure-key", ("sig=",), r"[?&;]sig=([\w%+/=-]{40,}+)"),
    HintedRule(
        "azure-key", ("Q~",), r"(?<![\w.~-]) [\w.~-]{3}\dQ~[\w.~-]{31,34} (?![\w.~-])"
    ),
    HintedRule(
        "mailgun-key",
        hints_of("ailgun|AILGUN"),
        r"(?<![\w-]) [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8} (?![\w-])",
    ),
    HintedRule(
        "asana-token",
        ("1/", "2/"),
        r"(?<![\w/.]) [12]/\d{13,19}(?:/\d{13,19})?:[0-9a-f]{32} (?!\w)",
    ),
    HintedRule("okta-token", ("SSWS ",), r"SSWS\s{1,3}(00[\w-]{38,42}) (?![\w-])"),
    # The body of a private key in a form of its own.
    HintedRule(
        "private-key",
        ("Private-Lines:",),
        r"""Private-Lines:\ \d{1,3}\s+
            ((?:[A-Za-z0-9+/=]{8,}\s+){1,80} (?:Private-MAC:\ \w+)?)""",
    ),
    HintedRule(
        "private-key",
        ("LS0tLS1CRUdJTi",),  # base64 of "-----BEGIN", perhaps wrapped
        r"""LS0tLS1CRUdJTiB
            (?:SU0Eg|QUklWQVRF|PUEVOU1NI|FQyBQUkl|FTkNSWVBU|EU0Eg)
            [A-Za-z0-9+/=]{30,}+
            (?>(?:(?:\s|\\n|[>|"'+,]){1,24} [A-Za-z0-9+/=]{20,}+)*)
            (?:\s{1,12} [A-Za-z0-9+/]{1,19}={1,2} (?!\S))?""",
    ),
    HintedRule(
        "private-key",
        # The first bytes of an RSA, PKCS#8, EC and OpenSSH key: a body without BEGIN.
        ("MII", "MHcCAQEEI", "MIG", "b3BlbnNzaC1rZXktdjE"),
        rf"""{_BEGIN} (?: MII[A-Za-z0-9+/]{{1,4}}IBAA[KN] | MII[A-Za-z0-9+/]{{1,3}}IBADANBg
              | MHcCAQEEI | MIG[HT]AgEA | b3BlbnNzaC1rZXktdjE )
            (?: [A-Za-z0-9+/=]{{90,}}+
              | [A-Za-z0-9+/=]{{20,}}+ (?= (?:\s|\\n|[>|"'+,]){{1,24}} [A-Za-z0-9+/=]{{20}} ) )
            (?>(?:(?:\s|\\n|[>|"'+,]){{1,24}} [A-Za-z0-9+/=]{{20,}}+)*)
            (?:\s{{1,12}} [A-Za-z0-9+/]{{1,19}}={{0,2}} (?!\S))?""",
    ),
    HintedRule(
        "password-hash",
        ("$1$", "$5$", "$6$", "$y$"),
        # Of an account, as /etc/shadow has it: the scheme, a salt, the sum.
        r"\$[156y]\$[\w./=,$+-]{22,}+",
    ),
)

NUMBERS = (
    # Which no other rule takes for a secret.
    HintedRule(
        "password",
        hints_of("pin |pin:|PIN |PIN:|Pin |Pin:"),
        r"""[pP] (?<![A-Za-z].) (?i:in) (?: \s(?:code|number|for|of|to|the|[a-z]{2,12}) ){0,6}?
            (?: \s(?:is|was|ist)\s | \s?[:=]\s? ) (\d{4,12}) (?![\w-]|\.\d)""",
    ),
    HintedRule(
        "api-key",
        ("ey", "EY", "oken", "OKEN", "ecret", "ECRET"),
        r"""[aAsSſlLcC] (?<![A-Za-z].)
            (?: (?<=[aA])(?i:pi|ccess|ccount|uth) | (?<=[sSſ])(?i:ecret|ervice)
              | (?<=[lL])(?i:icense) | (?<=[cC])(?i:lient) )
            [ _-]? (?i:key|token|secret) \b ["'`]?
            \s{0,3} (?: (?: (?i:is|was|ist|es|est)\s | [=:：] ) \s{0,3} )? ["'`]?
            (\d{10,64}) (?![\w-]|\.\d)""",
    ),
    HintedRule(
        "password",
        hints_of(
            "assw|ASSW|assc|ASSC|assp|ASSP|assW|assC|assP|ASSw|ASSc|ASSp|wd|WD|ennwort"
        ),
        r"""[pPkK] (?<![A-Za-z].)
            (?: (?<=[pP])(?i:ass(?:word|wort|code|phrase)|wd) | (?<=[kK])(?i:ennwort) )
            \s{0,3} (?: (?i:is|was|ist)\s | [=:：] ) \s{0,3} ["'`]?
            (\d{4,20})
            (?! [\w-] | \.\d | \s?(?:char|letter|digit|byte|bit|Zeichen) )""",
    ),
)
