"""What texts in other languages than English say to command the agent that reads them.

One record a rule, as in `injection_rules.py`. They take out the crude ones; no list can
take out all."""

from memcli.text.matching import HintedRule

FOREIGN_ORDERS = (
    # German
    HintedRule(
        "override",
        ("anweisung", "instruktion", "befehl", "vorgabe", "regeln"),
        r"""
            \b(?<!nie[ ])(?<!nicht[ ])(?:ignorier(?:e|en|t)?|vergiss|vergesst
              |vergessen|missachte[nt]?)·
            (?:\w{1,12}·){0,4}(?:vorherig|vorig|bisherig|obig|früher|frueher
              |vorangegangen|vorhergehend
            |vorstehend|ursprünglich)\w{0,3}·(?:\w{1,12}·)?
              (?:anweisung|instruktion|befehl|vorgabe|regel)\w{0,3}
        """,
    ),
    HintedRule(
        "override",
        ("vergiss", "vergesst"),
        r"""
            \b(?:vergiss|vergesst|vergessen·sie)·alles,?·was·
              (?:dir|du|euch|ihr|ihnen|oben|zuvor|vorher|bisher)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("system",),
        r"""
            <START>(?:zeig|gib|verrat|nenn|druck|wiederhol)e?·
              (?:(?:mir|uns)·)?deinen?·(?:\w{1,20}·)?
            system[\s_-]?(?:prompt|nachricht|anweisung(?:en)?)\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("nutzer", "anwender"),
        r"""
            \b(?:sage?|erzahle?|verrate?)·(?:es·|das·)?(?:dem|der|den)·
              (?:benutzer|nutzer|anwender)(?:n|in|innen)?·
            (?:nichts·(?:davon|daruber|hiervon)|nichts(?=\s{0,3}(?:[.!;,:\n]|\Z)))
        """,
    ),
    HintedRule(
        "role",
        ("bist",),
        r"""
            \b(?:du·bist·(?:jetzt|nun|ab·jetzt|ab·sofort)|(?:ab·jetzt|ab·sofort)·
              bist·du)·(?:eine?|der|die)·
            (?:\w{1,20}·){0,2}?(?:assistent|agent|modell|ki|hacker)(?:in)?\b
        """,
    ),
    # Spanish
    HintedRule(
        "override",
        ("instruccion", "rdenes", "indicacion", "directric"),
        r"""
            \b(?<!no[ ])(?<!nunca[ ])
            (?:ignor[ae]d?|ignorar|olvid[ae]d?|olvidar|descart[ae]|desestim[ae]|haz·
              caso·omiso·(?:de|a))·
            (?:(?:todas?|todos?|de|las?|los|tus|sus|mis)·){0,4}
            (?:(?:anteriores|previas)·(?:instrucciones|[óo]rdenes|indicaciones
              |directrices)
            | (?:instrucciones|[óo]rdenes|indicaciones|directrices)·
              (?:\w{1,12}·){0,2}
              (?:anteriores|previas|precedentes|originales|de·arriba))\b
        """,
    ),
    HintedRule(
        "override",
        ("reglas", "normas"),
        r"""
            <START>(?:ignora|ignore|olvida|olvide|descarta)·
              (?:(?:todas|las|tus|sus)·){0,3}(?:reglas|normas)·
            (?:anteriores|previas|de·arriba|originales)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("sistema",),
        r"""
            <START>(?:muestra|muestrame|revela|imprime|repite|dime)·tus?·
              (?:\w{1,12}·)?
            (?:prompt|mensaje|instrucciones)·(?:del?·)?sistema\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("usuario",),
        r"""
            \bno·(?:se·lo·(?:digas|cuentes|reveles|menciones)·al?·(?:la·)?usuari[oa]
            | (?:le·)?(?:digas|cuentes|reveles|menciones)·(?:nada|esto|eso)·
              (?:de·esto·)?al?·(?:la·)?usuari[oa])\b
        """,
    ),
    HintedRule(
        "role",
        ("ahora eres", "eres ahora"),
        r"""
            \b(?:ahora·eres|eres·ahora)·(?:una?|el|la)·(?:\w{1,20}·){0,2}?
              (?:asistente|agente|modelo|ia|hacker|bot)\b
        """,
    ),
    # Portuguese
    HintedRule(
        "override",
        ("instrucoes", "ordens", "orientacoes", "diretrizes"),
        r"""
            \b(?<!nao[ ])(?:ignor[ae]|esquec[ae]|desconsider[ae])·
              (?:(?:todas?|as|suas|tuas)·){0,3}
            (?:instrucoes|ordens|orientacoes|diretrizes)·(?:\w{1,12}·){0,2}
            (?:anteriores|previas|precedentes|acima|originais)\b
        """,
    ),
    HintedRule(
        "override",
        ("regras",),
        r"""
            <START>(?:ignor[ae]|esquec[ae]|desconsider[ae])·
              (?:(?:todas|as|suas|tuas)·){0,3}regras·
            (?:anteriores|previas|acima|originais)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("sistema",),
        r"""
            <START>(?:mostr[ae]|revel[ae]|imprim[ae]|exib[ae]|repita)·(?:me·)?
              (?:(?:o|as)·)?(?:seu|teu|suas|tuas)·
            (?:\w{1,12}·)?(?:prompt|mensagem|instrucoes)·(?:d[eo]·)?sistema\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("usuario", "utilizador"),
        r"""
            \bnao·(?:(?:o|lhe)·)?(?:conte|diga|revele|mencione)·
              (?:(?:isso|isto|nada)·)?(?:disso·)?ao·
            (?:usuario|utilizador)(?:·(?:sobre·)?(?:isso|isto|disso|nada)\b|
              (?=\s{0,3}(?:[.!;,:\n]|\Z)))
        """,
    ),
    HintedRule(
        "role",
        ("agora",),
        r"""
            \bagora·(?:voce·e|tu·es)·(?:uma?|o|a)·(?:\w{1,20}·){0,2}?
              (?:assistente|agente|modelo|ia|hacker|bot)\b
        """,
    ),
    # French
    HintedRule(
        "override",
        ("instructions", "consignes", "directives", "ordres"),
        r"""
            \b(?:ignor(?:e|ez)|oubli(?:e|ez))·(?:
              (?:toutes?|tous|les|tes|vos|ces)·){0,3}
            (?:instructions|consignes|directives|ordres)·(?:\w{1,12}·){0,2}
            (?:precedente?s|anterieure?s|ci-dessus|initiales|originales)\b
        """,
    ),
    HintedRule(
        "override",
        ("regles",),
        r"""
            <START>(?:ignor(?:e|ez)|oubli(?:e|ez))·
              (?:(?:toutes|les|tes|vos|ces)·){0,3}regles·
            (?:precedentes|anterieures|ci-dessus|initiales)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("systeme",),
        r"""
            <START>(?:affiche|montre|revele|imprime|repete|donne)z?·
              (?:(?:moi|nous)·)?(?:ton|tes|votre|vos)·
            (?:\w{1,12}·)?(?:prompt|message|instructions)·(?:du·)?systeme\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("utilisateur",),
        r"""
            \bn['’e](?:·)?(?:(?:le|l['’])(?:·)?)?(?:en·)?
              (?:dis|dites|revele|revelez|raconte|racontez|parle|parlez)·
            (?:pas|rien|jamais)·(?:(?:cela|ca|de·cela)·)?[aà]·l['’]utilisateur
            (?:·(?:cela|ca|de·ceci)\b|(?=\s{0,3}(?:[.!;,:\n]|\Z)))
        """,
    ),
    HintedRule(
        "role",
        ("maintenant",),
        r"""
            \b(?:tu·es|vous·etes)·(?:maintenant|desormais)·(?:une?|le|la)·
              (?:\w{1,20}·){0,2}?
            (?:assistante?|agent|modele|ia|hacker|bot)\b
        """,
    ),
    # Italian
    HintedRule(
        "override",
        ("istruzioni", "ordini", "direttive", "indicazioni"),
        r"""
            \b(?<!non[ ])(?:ignora|dimentica|trascura|scorda)(?:te|re)?·
              (?:(?:tutt[ei]|le|gli|queste|tue|vostre)·){0,3}
            (?:(?:istruzioni|ordini|direttive|indicazioni)·(?:\w{1,12}·){0,2}
              (?:precedenti|iniziali|originali|sopra|ricevut[ei])
            | precedenti·(?:istruzioni|ordini|direttive|indicazioni))\b
        """,
    ),
    HintedRule(
        "override",
        ("regole",),
        r"""
            <START>(?:ignora|dimentica)(?:te)?·(?:
              (?:tutte|le|tue|vostre)·){0,3}regole·
              (?:precedenti|iniziali|originali)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("sistema",),
        r"""
            <START>(?:mostra|rivela|stampa|ripeti)(?:mi)?·(?:(?:il|le)·)?
              (?:tuo|tue)·(?:\w{1,12}·)?
            (?:prompt|messaggio|istruzioni)·(?:d[ie]l?·)?sistema\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("utente",),
        r"""
            \bnon·(?:(?:dir|raccontar|rivelar)(?:lo|glielo)|
              (?:dire|raccontare|rivelare)·(?:nulla|niente|questo))·
            all['’]utente\b
        """,
    ),
    HintedRule(
        "role",
        ("^sei",),
        r"""
            \b(?:ora|adesso|d['’]ora·in·poi)·sei·(?:una?|il|la)·(?:\w{1,20}·){0,2}?
            (?:assistente|agente|modello|ia|hacker|bot)\b
        """,
    ),
    # Russian
    HintedRule(
        "override",
        ("инструкци", "указани", "команд", "правил", "приказ"),
        r"""
            \b(?<!не[ ])(?:(?:про)?игнорируй|забудь|отбрось|не·обращай·внимания·на)
              (?:те)?·
            (?:(?:все|эти|свои|твои|ваши|на)·){0,3}
              (?:предыдущие|прежние|прошлые|вышеуказанные|исходные)·
            (?:\w{1,16}·)?(?:инструкции|указания|команды|правила|приказы)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("системн",),
        r"""
            \b(?<!не[ ])(?:покажи|выведи|раскрой|напечатай|повтори)(?:те)?·(?:мне·)?
              (?:сво[йию]|твой|твои|ваш)·
            (?:\w{1,16}·)?системн\w{1,4}·(?:промпт|подсказк|инструкци
              |сообщени)\w{0,3}
        """,
    ),
    HintedRule(
        "secrecy",
        ("пользовател",),
        r"""
            \bне·(?:говори|сообщай|рассказывай)(?:те)?·
              (?:(?:об·этом|про·это|это|этого|ничего)·пользовател(?:ю|ям)\b
            | пользовател(?:ю|ям)(?:·(?:об·этом|про·это|ничего)\b|
              (?=\s{0,3}(?:[.!;,:\n]|\Z))))
        """,
    ),
    HintedRule(
        "role",
        ("теперь", "отныне"),
        r"""
            \b(?:теперь·ты|ты·теперь|отныне·ты)·(?:\w{1,20}·){0,2}?
              (?:ассистент|помощник|агент|модель|хакер|бот)\b
        """,
    ),
    # Arabic
    HintedRule(
        "override",
        ("تعليمات", "أوامر", "اوامر", "توجيهات"),
        r"""
            \b[وف]?(?:تجاهل|تجاهلي|تجاهلوا|انس|انسى|أهمل|اهمل)·
              (?:(?:كل|جميع|كافة)·)?
            (?:التعليمات|الأوامر|الاوامر|التوجيهات)·
              (?:السابقة|أعلاه|اعلاه|الأصلية)\b
        """,
    ),
    HintedRule(
        "reveal",
        ("النظام",),
        r"""
            \b(?:اعرض|أظهر|اظهر|اكشف|اطبع)·(?:لي·)?(?:موجه|تعليمات|رسالة)·النظام·
              (?:(?:الخاص|الخاصة)·بك|لديك)\b
        """,
    ),
    HintedRule(
        "secrecy",
        ("المستخدم",),
        r"""
            \bلا·تخبر(?:ي|وا)?·المستخدم·(?:بذلك|بهذا|عن·هذا|عن·ذلك|بأي·شيء)\b
        """,
    ),
    HintedRule(
        "role",
        ("الآن", "الان"),
        r"""
            \b[أا]نت·ال[آا]ن·(?:مساعد|نموذج|وكيل|روبوت)\b
        """,
    ),
    # Korean
    HintedRule(
        "override",
        ("무시", "잊"),
        r"""
            (?:이전|위|앞|기존|지금까지)(?:의|에|에서)?·(?:(?:모든|있는|내린|받은)·){0,2}
              (?:지시|명령|지침|규칙|프롬프트)
            (?:사항)?(?:들)?[을를은는]?(?:·)?(?:(?:모두|전부|다)·)?
            (?:무시(?:하세요|하십시오|해라|하라|하고|해(?!야|도|서))|잊(?:으세요|어라|어·버려|고))
        """,
    ),
    HintedRule(
        "reveal",
        ("프롬프트",),
        r"""
            시스템(?:·)?프롬프트[를을]?·(?:\w{1,6}·)?(?:보여|출력해|공개해|알려)(?:·)?(?:주세요|줘|라)
        """,
    ),
    HintedRule(
        "secrecy",
        ("사용자",),
        r"""
            사용자(?:에게|한테)는?·(?:(?:이것을|이를|이·사실을|절대)·){0,2}(?:알리지|말하지|밝히지)·(?:마|말)
        """,
    ),
    HintedRule(
        "role",
        ("이제", "지금부터"),
        r"""
            (?:너는|당신은|넌)·(?:이제|지금부터)·[^\n.]{0,20}?(?:AI|인공지능|어시스턴트|비서|모델|에이전트)
              (?:야|이야|다|이다|입니다)
        """,
    ),
    # Japanese
    HintedRule(
        "override",
        ("無視", "忘れ"),
        r"""
            (?:以前|これまで|上記|前|すべて|全て)の[^\n。]{0,8}?(?:指示|命令|指令|プロンプト)[^\n。]{0,4}?
              (?:無視|忘れ)
            | (?:以前|これまで|上記|前|すべて|全て)の[^\n。]{0,8}?(?:ルール|規則)[^\n。]{0,4}?
              (?:無視(?:しろ|せよ|して(?:ください|下さい|くれ))|忘れ(?:ろ|て(?:ください|下さい|くれ)))
        """,
    ),
    HintedRule(
        "reveal",
        ("プロンプト",),
        r"""
            システム(?:·)?プロンプトを[^\n。]{0,6}?(?:(?:表示|出力|公開)(?:して|しろ|せよ)|(?:教え|見せ)
              (?:て|ろ))
        """,
    ),
    HintedRule(
        "secrecy",
        ("ユーザ", "利用者"),
        r"""
            (?:ユーザー?|利用者)には?[^\n。]{0,6}?(?:言わ|伝え|知らせ|教え|話さ)ないで
              (?:ください|下さい|くれ|[。、]|\Z)
        """,
    ),
    HintedRule(
        "role",
        ("から",),
        r"""
            (?:あなた|お前|君)は(?:今|いま|これ)から[^\n。]{0,20}?(?:AI|アシスタント|モデル|エージェント)
              (?:です|だ|になり|として)
        """,
    ),
    # Chinese
    HintedRule(
        "override",
        ("忽", "无视", "無視", "忘", "理会"),
        r"""
            (?<!不要)(?<!不能)(?<!不会)(?<!不可)(?<!别)(?<!勿)
            (?:忽略|忽视|忽視|无视|無視|忘记|忘記|忘掉|不要理会|不理会)[^\n。！？，；,;]{0,8}?
            (?:之前|以前|前面|上面|以上|先前|此前|前述|所有|全部|一切)[^\n。！？，；,;]{0,6}?
            (?:指令|指示|提示|命令|规则|規則|说明|說明|要求)
        """,
    ),
    HintedRule(
        "reveal",
        ("系统", "系統"),
        r"""
            (?<!不要)(?:显示|顯示|输出|輸出|打印|告诉我|透露|泄露|重复)出?[你您]的(?:完整|全部|初始|原始)?的?
            (?:系统|系統)(?:提示|指令|消息)
        """,
    ),
    HintedRule(
        "secrecy",
        ("用户", "用戶", "使用者"),
        r"""
            (?:不要|别|切勿|不得|不准)(?:告诉|告訴|通知|告知|让|讓)(?:用户|用戶|使用者)
            (?:[这這此]|任何|知道|(?=\s{0,3}[。！，.!\n]|\Z))
        """,
    ),
    HintedRule(
        "role",
        ("你", "您"),
        r"""
            [你您](?:现在|現在|从现在起|从现在开始|從現在起)(?:是|扮演)(?:一个|一個|一名)?[^\n。，]{0,12}?
            (?:助手|模型|人工智能|AI|黑客|机器人|角色)
        """,
    ),
)
