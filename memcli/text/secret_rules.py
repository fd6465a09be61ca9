"""What secrets look like: one record a rule, by what proves them.

A rule is tried where one of its hints occurs. Group 1 of its pattern, or the whole
match where it has no group, is the secret. To add one, add a record to the tuple whose
proof fits, and a line to `tests/text/layouts.txt`; tokens that are a prefix and a length
stand in `token_shapes.txt`."""

import re
from typing import Final

from memcli.named import NamedTuple


class SecretRule(NamedTuple):
    """A verbose pattern, and the literals one of which a text must hold for it."""

    kind: str
    hints: tuple[str, ...]
    pattern: str


_BEGIN = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"
_OPEN = r"""["'`“「『«]?"""
"""What may open the quotation of a value."""
_ASSIGN = r"""\\{0,3}["'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\{0,3}["'`]?"""
"""`:`, `=` or `=>`, and the quotes around it, which may be escaped."""


def _hints(text: str) -> tuple[str, ...]:
    """The literals in `text`, which `|` separates."""
    return tuple(text.split("|"))


def _words(text: str) -> str:
    """An alternation of the words in `text`; `_` is a space within one."""
    return "(?:" + "|".join(re.escape(w.replace("_", " ")) for w in text.split()) + ")"


TOKENS: Final = (
    # Shapes that speak for themselves; only a drawing of one (`ghp_xxxx`) is let by.
    SecretRule("anthropic-key", ("sk-ant-",), rf"{_BEGIN} sk-ant-[\w-]{{16,}}+"),
    SecretRule(
        "openai-key",
        ("sk-",),
        rf"{_BEGIN} sk-(?:proj|svcacct|admin|None)-[\w-]{{16,}}+",
    ),
    SecretRule(
        "openai-key",
        ("sk-",),
        rf"{_BEGIN} sk-(?=[A-Za-z]{{0,60}}\d)[A-Za-z0-9]{{20,}}+(?![\w-])",
    ),
    SecretRule(
        "api-token",
        ("sk-",),
        rf"{_BEGIN} sk-(?:or|lf|v1|cp|kimi)-(?:v1-)?[\w-]{{20,}}+",
    ),
    SecretRule(
        "aws-access-key",
        ("AKIA", "ABIA", "ACCA", "A3T"),
        rf"{_BEGIN} A(?:KIA|BIA|CCA|3T[A-Z0-9])[0-9A-Z]{{16}} {_END}",
    ),
    SecretRule(
        "aws-access-key",
        ("ASIA",),
        rf"{_BEGIN} ASIA(?=[A-Z]{{0,15}}\d)[0-9A-Z]{{16}} {_END}",
    ),
    SecretRule(
        "aws-secret-key",
        ("ecret", "ECRET"),
        rf"""(?i: secret_?access_?key {_ASSIGN}     # aws_secret_access_key = …
              | secret_access_key \s              # aws configure set … …
              | aws [^\n\w]{{1,3}} secret (?:[^\n\w]{{1,3}}\w{{1,12}}){{0,3}} [:\s]\s? )
            ([A-Za-z0-9/+=]{{40}}) (?![A-Za-z0-9/+=])""",
    ),
    SecretRule(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        rf"{_BEGIN} gh[pousr]_[A-Za-z0-9][\w.-]{{28,}}\w",
    ),
    SecretRule("github-token", ("github_pat_",), rf"{_BEGIN} github_pat_\w{{30,}}+"),
    SecretRule(
        "gitlab-token",
        _hints("glpat-|glptt-|gldt-|glrt-|glcbt-|glsoat-|glft-|glimt-|glagent-"),
        rf"{_BEGIN} gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent)-[\w-]{{16,}}+(?:\.[\w-]+)*+",
    ),
    SecretRule(
        "slack-token",
        ("xox",),
        rf"{_BEGIN} xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{{10,}}+",
    ),
    SecretRule("slack-token", ("xapp-",), rf"{_BEGIN} xapp-\d-[A-Za-z0-9-]{{20,}}+"),
    SecretRule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,}+)",
    ),
    SecretRule(
        "discord-webhook",
        ("/api/webhooks/",),
        r"/api/webhooks/\d{10,20}/([\w-]{20,}+)",
    ),
    SecretRule(
        "discord-token",
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        rf"""{_BEGIN} (?:M[Tjz]|N[DTjz]|O[DT])[A-Za-z\d_-]{{22,26}}
            \.[\w-]{{6}}\.[\w-]{{27,40}}(?![\w-])""",
    ),
    SecretRule("google-key", ("AIza",), rf"{_BEGIN} AIza[\w-]{{30,}}+"),
    SecretRule(
        "google-token",
        ("ya29.", "GOCSPX-"),
        rf"{_BEGIN} (?:ya29\.|GOCSPX-)[\w-]{{20,}}+",
    ),
    SecretRule(
        "stripe-key",
        ("k_live_", "k_test_", "k_prod_"),
        rf"{_BEGIN} (?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{{10,}}+",
    ),
    SecretRule("stripe-key", ("whsec_",), rf"{_BEGIN} whsec_[A-Za-z0-9+/=]{{20,}}+"),
    SecretRule("npm-token", ("npm_",), rf"{_BEGIN} npm_[A-Za-z0-9]{{30,}}+"),
    SecretRule("pypi-token", ("pypi-",), rf"{_BEGIN} pypi-[\w-]{{32,}}+"),
    SecretRule(
        "sendgrid-key", ("SG.",), rf"{_BEGIN} SG\.[\w-]{{16,40}}\.[\w-]{{30,}}+"
    ),
    SecretRule("twilio-key", ("SK", "AC"), rf"{_BEGIN} (?:SK|AC)[0-9a-f]{{32}} {_END}"),
    SecretRule(
        "telegram-token", (":AA",), r"(?<!\d) \d{8,10}:AA[\w-]{32,35} (?![\w-])"
    ),
    SecretRule(
        "jwt",
        ("eyJ",),
        r"(?<![\w-]) eyJ[\w-]{5,}+ \.eyJ[\w-]{5,}+ (?:\.[\w-]*+)*+",
    ),
    SecretRule(
        "azure-key",
        ("AccountKey", "SharedAccessKey"),
        r"Key\s?=\s?([A-Za-z0-9+/]{40,}+={0,2})",
    ),
    SecretRule("azure-key", ("sig=",), r"[?&;]sig=([\w%+/=-]{40,}+)"),
    SecretRule(
        "azure-key", ("Q~",), r"(?<![\w.~-]) [\w.~-]{3}\dQ~[\w.~-]{31,34} (?![\w.~-])"
    ),
    SecretRule(
        "mailgun-key",
        _hints("ailgun|AILGUN"),
        r"(?<![\w-]) [0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8} (?![\w-])",
    ),
    SecretRule(
        "asana-token",
        ("1/", "2/"),
        r"(?<![\w/.]) [12]/\d{13,19}(?:/\d{13,19})?:[0-9a-f]{32} (?!\w)",
    ),
    SecretRule("okta-token", ("SSWS ",), r"SSWS\s{1,3}(00[\w-]{38,42}) (?![\w-])"),
    SecretRule(
        "okta-token",
        ("kta", "KTA"),
        r"(?i:okta)[\w\s\"'-]{0,20} [:=\s] \s?[\"']? (00[\w-]{38,42}) (?![\w-])",
    ),
    SecretRule(
        "bitbucket-token", ("ATBB", "ATCTT"), rf"{_BEGIN} AT(?:BB|CTT)[\w=+-]{{24,}}+"
    ),
    SecretRule(
        "cloudflare-key",
        ("cfut_", "cfat_", "cfk_"),
        rf"{_BEGIN} cf(?:ut|at|k)_[\w-]{{30,}}+",
    ),
    SecretRule(
        "cloudflare-key",
        ("uth-Key", "uth-key", "lobal api key", "lobal API Key", "lobal API key"),
        r"(?i:x-auth-key|global\ api\ key) [\"']?\s?[:=\s]\s?[\"']? ([0-9a-f]{37}) (?!\w)",
    ),
    SecretRule(
        "api-token",
        _hints(
            "hf_|gsk_|r8_|xai-|pplx-|_v1_|lin_api_|ntn_|figd_|PMAK-|shpat_|shpss_|sntry"
            "|hvs.|hvb.|glsa_|sbp_|pscale_|ATATT3|tskey-|AGE-SECRET|dckr_pat_|NRAK-"
            "|rubygems_|lsv2_|dapi"
        ),
        rf"""{_BEGIN} (?: hf_ | gsk_ | r8_ | xai- | pplx- | do[opr]_v1_ | lin_api_ | ntn_
            | figd_ | PMAK- | shp(?:at|ss)_ | sntry[su]_ | hv[sb]\. | glsa_ | sbp_
            | pscale_\w{{2,8}}_ | ATATT3 | tskey-\w{{3,8}}- | AGE-SECRET-KEY-1
            | dckr_pat_ | NRAK- | rubygems_ | lsv2_\w\w_ | dapi(?=[0-9a-f]{{32}}) )
            [\w=+-]{{20,}}+""",
    ),
    # The body of a private key in a form of its own.
    SecretRule(
        "private-key",
        ("Private-Lines:",),
        r"""Private-Lines:\ \d{1,3}\s+
            ((?:[A-Za-z0-9+/=]{8,}\s+){1,80} (?:Private-MAC:\ \w+)?)""",
    ),
    SecretRule(
        "private-key",
        ("LS0tLS1CRUdJTi",),  # base64 of "-----BEGIN", perhaps wrapped
        r"""LS0tLS1CRUdJTiB
            (?:SU0Eg|QUklWQVRF|PUEVOU1NI|FQyBQUkl|FTkNSWVBU|EU0Eg)
            [A-Za-z0-9+/=]{30,}+
            (?:(?:\s|\\n|[>|"'+,]){1,24} [A-Za-z0-9+/=]{20,}+)*+
            (?:\s{1,12} [A-Za-z0-9+/]{1,19}={1,2} (?!\S))?""",
    ),
    SecretRule(
        "private-key",
        # The first bytes of an RSA, PKCS#8, EC and OpenSSH key: a body without BEGIN.
        ("MII", "MHcCAQEEI", "MIG", "b3BlbnNzaC1rZXktdjE"),
        rf"""{_BEGIN} (?: MII[A-Za-z0-9+/]{{1,4}}IBAA[KN] | MII[A-Za-z0-9+/]{{1,3}}IBADANBg
              | MHcCAQEEI | MIG[HT]AgEA | b3BlbnNzaC1rZXktdjE )
            (?: [A-Za-z0-9+/=]{{90,}}+
              | [A-Za-z0-9+/=]{{20,}}+ (?= (?:\s|\\n|[>|"'+,]){{1,24}} [A-Za-z0-9+/=]{{20}} ) )
            (?:(?:\s|\\n|[>|"'+,]){{1,24}} [A-Za-z0-9+/=]{{20,}}+)*+
            (?:\s{{1,12}} [A-Za-z0-9+/]{{1,19}}={{0,2}} (?!\S))?""",
    ),
    # Numbers, which no other rule takes for a secret.
    SecretRule(
        "api-key",
        ("ey", "EY", "oken", "OKEN", "ecret", "ECRET"),
        r"""[aAsSſlLcC] (?<![A-Za-z].)
            (?: (?<=[aA])(?i:pi|ccess|ccount|uth) | (?<=[sSſ])(?i:ecret|ervice)
              | (?<=[lL])(?i:icense) | (?<=[cC])(?i:lient) )
            [ _-]? (?i:key|token|secret) \b ["'`]?
            \s{0,3} (?: (?: (?i:is|was|ist|es|est)\s | [=:：] ) \s{0,3} )? ["'`]?
            (\d{10,64}) (?![\w-]|\.\d)""",
    ),
    SecretRule(
        "password",
        _hints(
            "assw|ASSW|assc|ASSC|assp|ASSP|assW|assC|assP|ASSw|ASSc|ASSp|wd|WD|ennwort"
        ),
        r"""[pPkK] (?<![A-Za-z].)
            (?: (?<=[pP])(?i:ass(?:word|wort|code|phrase)|wd) | (?<=[kK])(?i:ennwort) )
            \s{0,3} (?: (?i:is|was|ist)\s | [=:：] ) \s{0,3} ["'`]?
            (\d{4,20})
            (?! [\w-] | \.\d | \s?(?:char|letter|digit|byte|bit|Zeichen) )""",
    ),
)


PLACES: Final = (
    # A place that holds nothing but a secret; it may also hold a placeholder.
    SecretRule(
        "authorization",
        ("authorization",),
        rf"""(?i:authorization) {_ASSIGN}
            (?i:bearer|basic|token|digest|apikey|bot) \s{{1,4}}
            ([^\s"'`\\,;<>{{}}$]{{8,}}+) (?![{{(])""",
    ),
    SecretRule(
        "bearer-token", ("bearer",), r"\b (?i:bearer)\s{1,4} ([\w.~+/-]{20,}+={0,2})"
    ),
    SecretRule(
        "url-password",
        ("://",),
        r"""(?<=[A-Za-z0-9]) :// [^\s/:@"'<>]{0,100}+ :
            ([^\s/"'`<>]{1,200}) @ (?!sha)""",
    ),
    SecretRule(
        "curl-password",
        ("curl", "http"),
        r"""(?<!\S) (?:-u|--user|-a|--auth) [ =]? ["']? [^\s:"'$/]{1,64}:
            ([^\s"'`@$]{4,200}+)""",
    ),
    SecretRule(
        "api-token",
        _hints(
            "key is |key ist |key lautet |token is |token ist |token lautet "
            "|secret is |secret ist |pat is "
        ),
        r"""(?<![A-Za-z]) (?i:api[ -]?key|access[ -]key|token|secret|PAT)
            \s{1,3} (?i:is|ist|lautet|est|es) \s{1,4} ["'`]? (?=\S{0,40}\d)
            ([^\s"'`,;<>()\[\]{}]{10,100}) (?![({\[])""",
    ),
    SecretRule(
        "api-token",
        ("api-key ", "apikey ", "token ", "secret "),
        r"""(?<![A-Za-z]) (?i:api-?key|token|secret) \s{1,3} (?:value\s|key\s)? ["'`]?
            (?=[A-Za-z_-]{0,40}\d) ([\w-]{24,200}) (?![\w./-])""",
    ),
    SecretRule(
        "api-key",
        _hints(
            "api key|api-key|api-schlüssel|chiave api|clé api|clave api|clave de api"
            "|clave de la api|chave de api|chave da api|chave api|ключ api|api-ключ"
            "|api 密钥|api密钥|apiキー|api-sleutel"
        ),
        r"""(?i: api[ -]?(?:key|schlüssel|sleutel|ключ|密钥|キー)
              | (?:chiave|clé|clave|chave|ключ)(?:\ (?:de|da|do|della|la))*\ api )
            (?:\s{1,2}[\w.@/'’-]{1,30}){0,4}? \s{0,3}
            (?: (?i:is|ist|lautet|est|es|è|é|ès|to|was)\s | [:：=是为はが] | [-=]> ) \s{0,3}
            ["'`“「]? (?=\S{0,60}\d) ([\w.+/=-]{16,200}) (?![\w({\[])""",
    ),
    SecretRule(
        "api-key",
        ("heroku", "tenant", "client secret", "client_secret"),
        r"""(?i:heroku|tenant|client)[\s_-] [\w\s-]{0,20}? (?:is\s|[:=]\s?|\s)
            ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) (?![\w-])""",
    ),
    SecretRule(
        "totp-seed",
        ("otpauth://", "totp", "2fa"),
        r"""(?: otpauth://\S{1,200}[?&]secret=
              | (?i:totp|2fa)\s(?i:seed|secret|key)\s?[:=\s]\s? )
            ([A-Z2-7]{16,64}) (?![\w])""",
    ),
    SecretRule(
        "aws-session-token",
        ("security-token",),
        rf"(?i:x-amz-security-token) {_ASSIGN} ([\w+/=]{{60,}})",
    ),
    SecretRule(
        "url-token",
        ("token=", "auth=", "key="),
        r"""[?&](?i:(?:access_|api_?|auth_?)?(?:token|key)|auth)= (?=[^&\s]{0,40}\d)
            ([\w.%~+/-]{16,400})""",
    ),
)


# A password's names in the languages of the people who write memories.
_PASSWORD = _words(
    "password passwort passphrase passcode passwd pwd kennwort contraseña contrasena "
    "mot_de_passe mdp senha пароль пароля паролем 密码 密碼 口令 パスワード 비밀번호 암호 "
    "hasło hasła wachtwoord lösenord lösenordet adgangskode adgangskoden passord passordet "
    "salasana heslo jelszó şifre şifresi parola parola_d'ordine parolă المرور "
    "clave_de_acceso clave_secreta"
)
_PASSWORD_HINTS: Final = _hints(
    "passw|passp|passc|pwd|kennwort|contrase|mot de passe|mdp|senha|парол|密码|密碼|口令"
    "|パスワード|비밀번호|암호|hasł|wachtwoord|lösenord|adgangskode|passord|salasana|heslo"
    "|jelszó|şifre|parola|parolă|المرور|clave de|clave secreta"
)
_VALUE = r"""([^\s"'`”」』»,;<>()\[\]{}。，]{6,100})"""
_IS = r"""
    (?: \s{0,3} (?: [:：=]>? | -> | → | — | – | [是为為はが] | [은는이가]\s ) \s{0,3}
      | \s{1,3} (?i: is | are | was | now | to | ist | lautet | war | est | es | era | è | é | à
          | jest | är | er | on | je | на | это | this | be )
        \s{1,3} (?: (?i: now | jetzt | ora | ahora | agora )\s{1,3} )? )
"""
"""What stands between the name and the value: a sign or a verb."""
_SOME_WORDS = r"""(?: [^\S\n]{1,2} [^\s:：="'`,;(){}<>]{1,24} ){0,6}?"""
"""A few words between: "the password for the staging box is …"."""
_WITH_A_SIGN = r"""(?= \S{0,60} [\d!#$%&*+=?@^~] )"""

PROSE: Final = (
    # A place where any word may stand: what follows must look chosen.
    SecretRule(
        "password",
        _PASSWORD_HINTS,
        rf"""(?i:{_PASSWORD}) [*_]{{0,3}} {_SOME_WORDS}
            {_IS} [*_]{{0,3}} {_OPEN} {_WITH_A_SIGN} {_VALUE}""",
    ),
    SecretRule(
        "password",
        _PASSWORD_HINTS,
        rf"(?i:{_PASSWORD}) {_SOME_WORDS} \s{{1,3}} {_OPEN} {_WITH_A_SIGN} {_VALUE}",
    ),
    SecretRule(
        "password",
        ("pw", "pass", "pwd", "psk", "pwort"),
        r"""(?<![A-Za-z]) (?i: (?:sudo\ |root\ |admin\ )? (?:pw|pwd|pass|psk) )
            [*_]{0,3} (?: \s{1,3}(?:is|ist|for\s\S{1,30}:)\s | \s{0,3}[:：=] ) [*_]{0,3} \s{0,3} ["'`]?
            (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}]{6,100})""",
    ),
    SecretRule(
        "password",
        _hints(
            "login|log in|logged in|credentials|creds|zugangsdaten|anmelde|connecte|accedi"
            "|usuario|utente|utilisateur|inloggen"
        ),
        # "login is admin / …", "log in as admin with …", "default login admin:…"
        r"""(?i: log(?:ged)?\ ?in | credentials | creds | zugangsdaten | anmelde\w{0,8} | connecte\S{0,6}
              | accedi | inloggen | usuario | utente | utilisateur )
            [^\n]{0,40}? [\s"'`*] [\w.@+-]{2,40} ["'`*]?
            (?: \s?/\s? | : | \s(?i:with|mit|avec|con|com|met)\s ) ["'`]?
            (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}/]{6,100})""",
    ),
    SecretRule(
        "password",
        ("login)", "login "),
        r"""(?<![\w/.]) (?:admin|root|user|guest|test|sa) \s?[/:]\s?
            (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}/:]{6,100}) \s \(? (?:default\s)? login""",
    ),
    SecretRule(
        "password",
        (" as ", " als pass", " als ", " comme ", " como "),
        r"""(?<!\S) ["'`]? (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}]{8,100}) ["'`]?
            \s (?i:as|als|comme|como) \s (?:[^\s.,;]{1,20}\s){0,3}?
            (?i:pass(?:word|wort|phrase)|mot\ de\ passe|contraseña|senha)""",
    ),
    # Lines of configuration whose second word is the secret.
    SecretRule(
        "password",
        ("pass", "pw", "secret", "community", "wireless-key", "masterauth", "psk"),
        r"""(?m: ^ [^\S\n]* (?:[\w.-]{1,30}[^\S\n]{1,3}){0,4}?
              (?i: [\w.-]{0,30}(?:pass(?:word|wd|phrase)?|pw|secret|auth|psk)
                 | community | wireless-key ) )
            \s{1,3} (?:[07]\s)? ["']? (?=\S{0,60}\d)
            ([^\s"'`,;<>()\[\]{}$]{6,100}) ["']? (?m: [^\S\n]* ;? [^\S\n]* $ )""",
    ),
    SecretRule(
        "password", ("olcrootpw", "rootpw"), r"(?i:rootpw)[:\s]{1,3}([^\s{$]{6,100})"
    ),
    # SQL
    SecretRule(
        "password",
        ("identified by", "password"),
        r"""(?i: identified\ by (?:\ password)? | (?:with|set)\ (?:encrypted\ )?password(?:\ =)?
              | password\s?\( | =\s?password\s?\( )
            \s{0,3} N?["']? ([^\s"'`;()$<>{}]{5,100})""",
    ),
    SecretRule(
        "password",
        ("machine",),
        r"\b machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+ (\S{4,200})",
    ),
    SecretRule(
        "password",
        (":5432:", ":*:", ":6432:", ":5433:"),
        r"""(?<!\S) [\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:
            (\S{6,200})""",
    ),
    SecretRule(
        "url-token",
        ("://",),
        r"://([A-Za-z0-9_-]{20,200}) (?::x-oauth-basic)? @[\w.-]",
    ),
    SecretRule(
        "url-password",
        ("://",),
        r"""://[^\s/:@"'<>]{1,100}: (?!\d{1,5}/)
            ([^\s@"'`<>/]{1,100}/[^\s@"'`<>]{0,100}) @[\w.-]{1,200}""",
    ),
    SecretRule(
        "url-password",
        ("@//", "jdbc:oracle"),
        r"(?<!/) \b [\w.-]{1,40} / ([^\s@/\"'`$<>]{4,100}) @ (?://)?[\w.-]{1,100}:\d",
    ),
    SecretRule(
        "session-cookie",
        ("cookie", "-b ", "sessionid=", "session="),
        r"""(?i: sess(?:ion)?(?:_?id)? | connect\.sid | sid | phpsessid | jsessionid
              | remember_\w{1,20} )
            = ([\w%.:-]{16,400})""",
    ),
    SecretRule(
        "npm-token",
        ("_auth",),
        r"_auth(?:Token)?\s?[=\s]\s?[\"']?([A-Za-z0-9+/=]{12,})",
    ),
    SecretRule("npm-token", ("_authtoken",), r"_authToken[=\s]([\w-]{20,})"),
    SecretRule("docker-auth", ('"auth"',), r'"auth"\s?:\s?"([A-Za-z0-9+/=]{12,})"'),
    SecretRule(
        "private-key", ('"kty"',), r'"(?:d|p|q|k)"\s{0,4}:\s{0,4}"([\w-]{20,}+)"'
    ),
    SecretRule(
        "mailchimp-key", ("-us",), r"(?<![0-9a-f]) ([0-9a-f]{32}-us\d{1,2}) (?!\w)"
    ),
    # Options of programs.
    SecretRule(
        "password",
        _hints(
            "sshpass|redis-cli|docker login|podman login|az |mysql|mariadb|mongo|sqlcmd"
            "|snowsql|ldap|openssl|zip|7z|useradd|usermod|rdesktop|xfreerdp|ipmitool"
            "|net user|net use|cmdkey|smbclient|lftp|keytool|jarsigner|mosquitto_|twine"
        ),
        r"""(?<!\w)
            (?i: (?: sshpass | redis-cli | (?:docker|podman)\ login | az\b | mysql(?:dump|admin)?
                   | mariadb | mongo(?:sh)? | snowsql | useradd | usermod | twine ) \b
                 [^\n|;`]{0,80}? [\s"']-[pa]\s?
               | (?: sqlcmd | (?:un)?zip | ipmitool | mosquitto_[ps]ub ) \b [^\n|;`]{0,80}? \s-P\s?
               | ldap(?:search|add|modify|whoami|passwd|delete) \b [^\n|;`]{0,120}? \s-w\s?
               | 7z[ar]? \b [^\n|;`]{0,60}? \s-p
               | openssl \b [^\n|;`]{0,80}? \s (?: -k\s | -pass(?:in|out)?\spass: )
               | (?: rdesktop | xfreerdp ) \b [^\n|;`]{0,80}? \s (?: -p\s | /p: )
               | cmdkey \b [^\n|;`]{0,80}? \s/pass:
               | net\ user \s \S{1,40} \s | net\ use \s \S{1,10} \s \S{1,80} \s
               | lftp \s -u\s?[\w.@-]{1,40},
               | smbclient \b [^\n|;`]{0,80}? \s-U\s?\S{1,40}%
               | (?:keytool|jarsigner) \b [^\n|;`]{0,120}? \s-(?:store|key)pass\s )
            ["']? ([^\s"'$`<]{5,100})""",
    ),
    SecretRule(
        "password",
        ("htpasswd", "vault login", "--with-token", "echo ", "printf ", "chpasswd"),
        r"""(?<!\w) (?i: htpasswd\s-\w*b\w*\s\S{1,80}\s\S{1,80}\s | vault\ login\s
              | --with-token\s<<<\s
              | (?:echo|printf)\s(?:-n\s)?["']?(?=\S{1,100}\s\|\s?
                  (?:sudo\s-S|gpg\b|\S{2,12}\slogin\b[^\n]{0,60}-stdin))
              | echo\s["']?[\w.-]{1,30}:(?=\S{1,100}\s\|\s?(?:sudo\s)?chpasswd)
              | chpasswd\s<<<\s?["']?[\w.-]{1,30}: )
            ["']? ([^\s"'$`]{6,100})""",
    ),
    SecretRule(
        "password",
        ("password-command", "askpass"),
        r"-(?:password-command|askpass)[ =][\"']?echo\s([^\s\"'$`]{5,100})",
    ),
    # Arguments of calls.
    SecretRule(
        "password",
        _hints(
            "login(|auth=(|credential(|basicauth(|authenticate(|signin(|securestring"
        ),
        r"""(?i: login | auth=? | credentials? | basicauth | authenticate | sign_?in ) \(
            \s{0,4} ["'][\w.@+-]{1,60}["'] \s?,\s? ["'] ([^\s"'{}$<>]{5,100}) ["']
          | securestring\s{1,2}["']([^\s"'$]{5,100})["']""",
    ),
)
