"""Where secrets stand, and how people tell them: one record a rule, by its proof.

A rule is tried where one of its hints, in small letters, occurs. To add one, add a
record to the tuple whose proof fits, and a line to `tests/text/layouts.txt`."""

import re

from memcli.text.matching import HintedRule, hints_of
from memcli.text.token_rules import ASSIGN

_OPEN = r"""["'`“「『«]?"""
"""What may open the quotation of a value."""


def _words(text: str) -> str:
    """An alternation of the words in `text`; `_` is a space within one."""
    return (
        "(?:"
        + "|".join(re.escape(word.replace("_", " ")) for word in text.split())
        + ")"
    )


_GRAMMAR = """the|and|for|are|was|were|not|but|has|had|his|her|its|our|your|their|with|from
    |into|who|whom|whose|which|does|did|been|being|than|those|these|could|would|may|might
    |through|both|got|kept|via|let|per|while|some|words|phrase"""
_DRAWN = rf"(?! (?:{_GRAMMAR}) \b ) [a-z]{{3,8}}"
"""A word that may be drawn for a seed phrase: short, and none of those that its list
lacks and a sentence has."""

PHRASES = (
    # Words alone, drawn from a list, behind the name of what they open.
    HintedRule(
        "seed-phrase",
        hints_of("seed|mnemonic|recovery|backup|secret phrase|secret words|wallet"),
        rf"""(?<![A-Za-z]) (?i: seed | mnemonic | wallet
              | (?: recovery | backup | secret ) [ _-] (?: phrase | words | seed ) ) (?![a-z])
            [^\n]{{0,60}}? (?: [:=] | \s (?i: is | are | was | ist | lautet | est | es ) \s )
            \s{{0,3}} ["'`*“]? (?: 1 [.):]? \s )?
            ( {_DRAWN} (?: (?:       \s{{1,3}} {_DRAWN} ){{11,23}}
                         | (?: , \s{{0,3}} {_DRAWN} ){{11,23}}
                         | (?: \s{{1,3}} \d{{1,2}} [.):]? \s {_DRAWN} ){{11,23}} ) )
            (?![\w-])""",
    ),
)

PLACES = (
    # A place that holds nothing but a secret; it may also hold a placeholder.
    HintedRule(
        "authorization",
        ("authorization",),
        rf"""(?i:authorization) {ASSIGN}
            (?i:bearer|basic|token|digest|apikey|bot) \s{{1,4}}
            ([^\s"'`\\,;<>{{}}$]{{8,}}+) (?![{{(])""",
    ),
    HintedRule(
        "bearer-token", ("bearer",), r"\b (?i:bearer)\s{1,4} ([\w.~+/-]{20,}+={0,2})"
    ),
    HintedRule(
        "url-password",
        ("://",),
        r"""(?<=[A-Za-z0-9]) :// [^\s/:"'<>]{0,100}+ :
            ([^\s/"'`<>]{1,200}) @ (?!sha)""",
    ),
    HintedRule(
        "curl-password",
        ("curl", "http"),
        r"""(?<!\S) (?:-u|--user|-U|--proxy-user|-a|--auth) [ =]? ["']? [^\s:"'$/]{1,64}:
            ([^\s"'`@$]{4,200}+)""",
    ),
    HintedRule(
        "api-key",
        hints_of(
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
    HintedRule(
        "totp-seed",
        ("otpauth://", "totp", "2fa"),
        r"""(?: otpauth://\S{1,200}[?&]secret=
              | (?i:totp|2fa)\s(?i:seed|secret|key)\s?[:=\s]\s? )
            ([A-Z2-7]{16,64}) (?![\w])""",
    ),
    HintedRule(
        "url-token",
        ("token=", "auth=", "key="),
        r"""[?&](?i:(?:access_|api_?|auth_?)?(?:token|key)|auth)= (?=[^&\s]{0,40}\d)
            ([\w.%~+/-]{16,400})""",
    ),
)


# A password's names in the languages of the people who write memories.
_PASSWORD = _words(
    "password passwort passphrase pass_phrase passcode passwd pwd kennwort contraseña contrasena "
    "mot_de_passe mdp senha пароль пароля паролем 密码 密碼 口令 パスワード 비밀번호 암호 "
    "hasło hasła wachtwoord lösenord lösenordet adgangskode adgangskoden passord passordet "
    "salasana heslo jelszó şifre şifresi parola parola_d'ordine parolă المرور "
    "clave_de_acceso clave_secreta shared_secret clave"
)
_PASSWORD_HINTS = hints_of(
    "passw|passp|pass p|passc|pwd|kennwort|contrase|mot de passe|mdp|senha|парол|密码|密碼|口令"
    "|パスワード|비밀번호|암호|hasł|wachtwoord|lösenord|adgangskode|passord|salasana|heslo"
    "|jelszó|şifre|parola|parolă|المرور|clave"
    "|shared secret"
)
_VALUE = r"""([^\s"'`”」』»,;<>()\[\]{}。，]{6,100})"""
_NOW = r"(?: (?: 现在 | 現在 | 目前 | 今 | 이제 | 지금 ) \s{0,2} )?"
_IS = rf"""
    (?: \s{{0,3}} {_NOW}
        (?: [:：=]>? | -> | → | — | – | [是为為はが] | [은는이가]\s ) \s{{0,3}} {_NOW}
      | \s{{1,3}} (?i: is | are | was | now | to | ist | lautet | war | est | es | era | è | é | à
          | jest | är | er | on | je | c'est | на | это | this | be )
        \s{{1,3}} (?: (?i: now | jetzt | ora | ahora | agora )\s{{1,3}} )? )
"""
"""What stands between the name and the value: a sign or a verb."""
_SOME_WORDS = r"""(?: [^\S\n]{1,2} [^\s:：="'`,;(){}<>]{1,24} ){0,6}?"""
"""A few words between: "the password for the staging box is …"."""
_ASIDE = r"""(?: \s? [(（] [^()（）\n]{1,24} [)）] )?"""
"""Whose password it is: "密码（管理员）：…"."""
_WITH_A_SIGN = r"""(?= \S{0,60} [\d!#$%&*+=?@^~] )"""

PROSE = (
    # A place where any word may stand: what follows must look chosen.
    HintedRule(
        "password",
        _PASSWORD_HINTS,
        rf"""(?i:{_PASSWORD}) [*_]{{0,3}} {_ASIDE} {_SOME_WORDS}
            {_IS} [*_]{{0,3}} {_OPEN} {_WITH_A_SIGN} {_VALUE}""",
    ),
    HintedRule(
        "password",
        _PASSWORD_HINTS,
        rf"(?i:{_PASSWORD}) {_SOME_WORDS} \s{{1,3}} {_OPEN} {_WITH_A_SIGN} {_VALUE}",
    ),
    HintedRule(
        "password",
        ("pw", "pass", "pwd", "psk", "pwort"),
        # Behind a user, "user ann and pass …", it needs no verb.
        r"""(?<![A-Za-z]) (?: (?i: (?:sudo\ |root\ |admin\ )? (?:pw|pwd|pass|psk) )
            [*_]{0,3} (?: \s{1,3} for (?: \s\S{1,24} ){1,6}? \s? [:=] \s
                  | \s{1,3}(?:is|ist)\s | \s{0,3}[:：=]
                  | (?<=[Pp][Ss][Kk]) (?=[ ]") )
              | (?i: (?:user(?:name)? | log(?:ged)?\ in\ as) \s \S{1,40} \s
                  (?:(?:and|with|und|mit) \s)? (?:pw|pwd|pass) ) \s (?!-) )
            [*_]{0,3} \s{0,3} ["'`]?
            (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}]{6,100})""",
    ),
    HintedRule(
        "password",
        hints_of(
            "login|log in|logged in|credential|creds|zugangsdaten|anmelde|connecte|accedi"
            "|usuario|utente|utilisateur|inloggen"
        ),
        # "login is admin / …", "log in as admin with …", "default login admin:…"
        r"""(?i: log(?:ged)?\ ?in | credentials? | creds | zugangsdaten | anmelde\w{0,8} | connecte\S{0,6}
              | accedi | inloggen | usuario | utente | utilisateur )
            [^\n]{0,40}? [\s"'`*] [\w.@+\\-]{2,40} ["'`*]?
            (?: \s?/\s? | : | \s(?i:with|mit|avec|con|com|met)\s ) ["'`]?
            (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}/]{6,100})""",
    ),
    HintedRule(
        "password",
        (" as ", " als pass", " als ", " comme ", " como "),
        r"""(?<!\S) ["'`]? (?=\S{0,40}\d) ([^\s"'`,;<>()\[\]{}]{8,100}) ["'`]?
            \s (?i:as|als|comme|como) \s (?:[^\s.,;]{1,20}\s){0,3}?
            (?i:pass(?:word|wort|phrase)|mot\ de\ passe|contraseña|senha)""",
    ),
    # Lines of configuration whose second word is the secret.
    HintedRule(
        "password",
        ("pass", "pw", "secret", "community", "wireless-key", "masterauth", "psk"),
        r"""(?m: ^ [^\S\n]* (?:[\w.-]{1,30}[^\S\n]{1,3}){0,4}?
              (?i: [\w.-]{0,30}(?:pass(?:word|wd|phrase)?|pw|secret|auth|psk)
                 | r?[ow]?community | wireless-key ) )
            [^\S\n]{1,3} (?:[07]\s)? ["']? (?=\S{0,60}\d)
            ([^\s"'`,;<>()\[\]{}$]{6,100}) ["']? (?: \s[\d.]+/\d+ )? (?m: [^\S\n]* ;? [^\S\n]* $ )""",
    ),
    HintedRule(
        "password",
        (" on ", " off "),
        # A rule of Redis: "user worker on >password ~jobs:*".
        r"""(?i: \b user \s \S{1,60} \s o(?:n|ff) ) (?: \s [^\s>]\S{0,60} ){0,6}?
            \s > (\S{6,100})""",
    ),
    # SQL
    HintedRule(
        "password",
        ("identified by", "password"),
        r"""(?i: identified\ by (?:\ password)? | (?:with|set)\ (?:encrypted\ )?password(?:\ =)?
              | password\s?\( | =\s?password\s?\( )
            \s{0,3} N?["']? ([^\s"'`;()$<>{}]{5,100})""",
    ),
    HintedRule(
        "password",
        (":5432:", ":*:", ":6432:", ":5433:"),
        r"""(?<!\S) [\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:
            (\S{6,200})""",
    ),
    HintedRule(
        "url-token",
        ("://",),
        r"://([A-Za-z0-9_-]{20,200}) (?::x-oauth-basic)? @[\w.-]",
    ),
    HintedRule(
        "url-password",
        ("://",),
        r"""://[^\s/:@"'<>]{1,100}: (?!\d{1,5}/)
            ([^\s@"'`<>/]{1,100}/[^\s@"'`<>]{0,100}) @[\w.-]{1,200}""",
    ),
    HintedRule(
        "url-password",
        ("@//", "jdbc:oracle"),
        r"(?<!/) \b [\w.-]{1,40} / ([^\s@/\"'`$<>]{4,100}) @ (?://)?[\w.-]{1,100}:\d",
    ),
    HintedRule(
        "session-cookie",
        ("cookie", "-b ", "sessionid=", "session="),
        r"""(?i: sess(?:ion)?(?:_?id)? | connect\.sid | sid | phpsessid | jsessionid
              | remember_\w{1,20} )
            = ([\w%.:-]{16,400})""",
    ),
    HintedRule(
        "private-key", ('"kty"',), r'"(?:d|p|q|k)"\s{0,4}:\s{0,4}"([\w-]{20,}+)"'
    ),
    HintedRule(
        "mailchimp-key", ("-us",), r"(?<![0-9a-f]) ([0-9a-f]{32}-us\d{1,2}) (?!\w)"
    ),
    # Options of programs.
    HintedRule(
        "password",
        hints_of(
            "sshpass|redis-cli|docker login|podman login|^az |mysql|mariadb|mongo|sqlcmd|bcp "
            "|snowsql|ldap|openssl|^zip|unzip|7z|^rar |unrar |useradd|usermod|rdesktop|xfreerdp|ipmitool"
            "|net user|net use|cmdkey|smbclient|lftp|keytool|jarsigner|mosquitto_|twine"
        ),
        r"""(?<!\w)
            (?i: (?: sshpass | redis-cli | (?:docker|podman)\ login | az\b | mysql(?:dump|admin)?
                   | mariadb | mongo(?:sh)? | snowsql | useradd | usermod | twine ) \b
                 [^\n|;`]{0,80}? [\s"']-[pa]\s?
               | (?: sqlcmd | bcp | (?:un)?zip | ipmitool | mosquitto_[ps]ub ) \b [^\n|;`]{0,80}? \s-P\s?
               | ldap(?:search|add|modify|whoami|passwd|delete) \b [^\n|;`]{0,120}? \s-w\s?
               | (?: 7z[ar]? | (?:un)?rar ) \b [^\n|;`]{0,60}? \s-h?p
               | openssl \b [^\n|;`]{0,80}? \s (?: -k\s | -pass(?:in|out)?\spass: )
               | (?: rdesktop | xfreerdp ) \b [^\n|;`]{0,80}? \s (?: -p\s | /p: )
               | cmdkey \b [^\n|;`]{0,80}? \s/pass:
               | net\ user \s \S{1,40} \s | net\ use \s \S{1,10} \s \S{1,80} \s
               | lftp \s -u\s?[\w.@-]{1,40},
               | smbclient \b [^\n|;`]{0,80}? \s-U\s?\S{1,40}%
               | (?:keytool|jarsigner) \b [^\n|;`]{0,120}? \s-(?:store|key)pass\s )
            ["']? ([^\s"'$`<]{5,100})""",
    ),
    HintedRule(
        "password",
        (" -p", " -w", " -a"),
        # Any program that is told a user before: `prog -u ann … -p …`.
        r"""\s (?: -[uUxD] | -v3\ -u | --user(?:name)? ) [ =]? \S{1,60}
            (?: \s [^\n|;`]{0,80}? )? \s-[pPwAX]\s
            ["']? ([^\s"'$`<]{6,100})""",
    ),
    HintedRule(
        "password",
        hints_of(
            "add_user|adduser|add-user|createuser|change_password|set_password|set-initial-password|create-user"
        ),
        r"""(?i: (?:add|create)[_-]?user | (?:change|set|reset)[_-](?:initial[_-])?password )
            \s{1,3} (?:[\w.@-]{1,60}\s{1,3})?? (?:(?:MD5|SHA)[\d-]{0,4}\s{1,3})?
            ["']? (?=\S{0,60}\d)
            ([^\s"'$`<()]{6,100}) (?!\s?\()""",
    ),
    HintedRule(
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
    # Arguments of calls.
    HintedRule(
        "password",
        hints_of(
            "login(|auth=(|credential(|credentials(|basicauth(|authenticate(|signin("
            "|connect(|connection(|pdo("
        ),
        r"""(?i: login | auth=? | credentials? | basicauth | authenticate | sign_?in
              | connect | connection | pdo ) \(
            [^()\n]{0,120}? ["'][\w.@+-]{1,60}["'] \s?,\s? ["'] ([^\s"'{}$<>]{5,100}) ["']""",
    ),
    HintedRule(
        "token-key",
        ("jwt.",),
        r"""(?i:jwt\.(?:sign|encode|verify|decode)) \( [^()\n]{0,80}? , \s?
            b?["']([^\s"'$]{8,200})["']""",
    ),
    HintedRule(
        "password",
        ("securestring",),
        r"""(?i:securestring) (?:\s{1,2}-String)? \s{1,2} \\{0,3}["']([^\s"'$\\]{5,100})\\{0,3}["']""",
    ),
)
