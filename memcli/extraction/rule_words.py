"""The wordings that the rules engine knows, in English, German, Spanish and Chinese. Patterns only.

All are searched in one lower-case sentence of bounded length, with straight apostrophes and with
quoted words and code masked. Runs are bounded, so that no sentence is slow.
"""

from __future__ import annotations

_VERBS = """
    use|write|run|add|put|keep|make|commit|push|merge|rebase|squash|name|prefix|format|import|call|return|
    catch|log|print|mock|test|check|validate|prefer|go|start|end|begin|respond|answer|reply|explain|show|
    include|exclude|avoid|edit|change|modify|touch|delete|remove|deploy|release|sign|tell|mention|create|
    define|declare|document|wrap|throw|raise|pin|bump|install|update|upgrade|sort|quote|escape|store|save|
    read|open|close|do|let|set|pass|leave|skip|ignore|disable|enable|hardcode|hard-code|assume|guess|trust|
    rely|inline|refactor|rename|generate|build|compile|lint|verify|review|cite|link|split|expose|share|send|
    post|fetch|query|cache|retry|sleep|wait|amend|tag|translate|speak|talk|want|swallow|suppress|nest|mix|
    cast|export|look|execute|invoke|apply|increment|paper|reuse|follow|ship|squash|stub|patch|vendor|fork|parse|handle|construct|access|require|rewrite|allocate|round|compare
"""
VERBS = "".join(_VERBS.split())
_ORDERED = (
    r"(?!(?:mind|been|had|was|were|too|so|the|a|an|in|on|at|of|to|for|with|by|as|and|or|but|that|this|it|they"
    r"|he|she|we|i|you|green|red|true|false|null|empty|fast|slow|flaky|wrong|right|same|there|here|again|up"
    r"|did|got|came|went|saw|knew|felt|thought|seen|gone|done|given|taken|written|forgotten|known|heard|happy|clear|certain|sure|about|before|after|when|if|because"
    r"|more|less|much|very|quite|enough|null|ready|broken|stale|late|early|good|bad|better|worse)\b)"
    r"(?:[a-z]{1,20}(?<![sdgy])|[a-z]{1,20}(?:ss|[^e]d|[^n]g|[^l]y)|(?:need|seed|feed|embed|bring|ping|apply|rely))\b"
)
"""What is ordered: after "always" and "never" nearly any word, but no form that tells how something
is.
"""
_DOING = """
    using|writing|running|adding|putting|making|committing|pushing|merging|rebasing|naming|importing|calling|
    catching|logging|printing|mocking|changing|editing|modifying|touching|deleting|removing|creating|
    wrapping|throwing|bumping|installing|hardcoding|guessing|assuming|inlining|renaming|generating|building|
    ignoring|disabling|skipping|suppressing|nesting|mixing|casting|exporting|swallowing
"""
_CLAUSE = (
    r"(?:^|[,;:(–—]\s{0,3}|\s-\s|\b(?:and|but|so|please|pls|also|then|btw|we)\s+|(?:^"
    r"|[,;:]\s{0,3})you\s+(?:should|must)\s+)"
)
_DEICTIC = r"(?:that|this|it|the\s+(?:first|second|third|latter|former|last|other|one)|option|approach|[a-d]\b)"
_DE_IMPERATIVE = (
    r"(?:verwende?|benutze?|nutze?|nimm|schreibe?|antworte?|mach|lass|füge?|setze?|lege?|teste?"
    r"|formatiere?|importiere?|benenne?|rufe?|prüfe?|halte?)"
)
_ES_IMPERATIVE = (
    r"(?:usa|utiliza|escribe|pon|haz|ejecuta|añade|responde|contesta|emplea|mantén|nombra)"
)
_ES_NOT = (
    r"(?:uses|utilices|escribas|pongas|hagas|añadas|edites|borres|subas|ejecutes|modifiques|toques"
    r"|mezcles|importes|llames|cambies)"
)

FILLERS = (
    r"(?:(?:ok(?:ay)?|so|well|btw|by the way|also|and|but|please|pls|hey|hi|nice|great|good(?: find"
    r"| catch| point| idea| job)?|perfect|thanks?|thank you|thx|hm+|oh|ah|yes|yeah|yep|cool|interesting"
    r"|good to know|fine|agreed|sure|right|note|one (?:more )?thing|just|super|gut|danke|bitte|und|genau"
    r"|ja|por favor|bien|y|vale|sí|对|好的?|请|另外|嗯)(?![\w'-])[\s,.:!;–—，：！。-]{0,4})"
)
"""What may stand before the words that matter."""

QUESTION = (
    r"[?？]\W{0,3}$|^\W{0,2}¿|^(?:should|shall|do(?!\s+not\b|n)|does|did|is|are|was|were|can|could|would"
    r"|will|why|what|how|who|which|where|whether|wondering|i wonder|warum|wieso|wie|was|wann|muss|müssen"
    r"|soll|sollen|kann|kannst|können|darf|dürfen|por qué|cómo|cuándo|debo|puedes(?!\s+hacer)|podrías"
    r"|tenemos que)\b|[吗呢]\W{0,3}$|为什么|是不是|怎么|能不能|要不要"
)
PASSING = (
    r"\b(?:for now|for the moment|at the moment|for the time being|this time|this once|temporarily"
    r"|right now|for today|until|today|tonight|yet|for the demo|just (?:for|in|on) (?:this|the)"
    r"|never ?mind|(?:in|for|on|with|to) (?:this|that) (?:one|(?!repo|project|code ?base|team|app\b"
    r"|application|workspace|monorepo|org|package|service|library|company|table|in\b|is\b|are\b|and\b"
    r"|or\b|to\b|for\b)\w+)|diesmal|dieses mal|fürs erste|vorerst|momentan|erstmal|heute"
    r"|in diesem (?!projekt|repo)\w+|por ahora|esta vez|de momento|por el momento|hoy"
    r"|en est[ea] (?!proyecto|repo)\w+)\b|这次|这一次|暂时|先不要|目前|今天"
)
"""Limited to the present: said for this piece of work."""
WISHED = (
    r"\b(?:users?|customers?|buttons?|modals?|sidebar|dialogs?|menus?|labels?|checkbox(?:es)?|dropdowns?"
    r"|e?mails?"
    r"|popups?|tooltips?|headings?|nutzer|benutzer|kunden|mail|usuarios?|clientes?|correos?|botón"
    r"|botones)\b|按钮|用户"
    r"|[,;，；]\s{0,2}(?:please\s+)?(?:add|build|implement|do|make|fix|bau|setz|füg|mach|impleméntal\w"
    r"|añádel\w|hazlo"
    r"|加|实现).{0,12}$"
)
"""What a product must do, which is a task and no rule of the work."""
DOUBT = (
    r"^(?:if (?!you\b)|suppose|imagine|what if|maybe|perhaps|probably|let'?s say|hypothetically"
    r"|vielleicht|falls wir|wenn wir|quizás|tal vez|si \w+áramos|如果|也许|可能)|\b(?:not sure|no idea"
    r"|i think we (?:might|could)|wäre es|might be|in theory|i guess|lol|haha)\b"
)
REPORTED = (
    r"(?<!you )\b(?:says?|said|(?<!\bi )told|tells|claims?|suggested|suggests|thinks"
    r"|according to|i read (?:that|in|about|on)|i heard|blog|article|tutorial|colleague"
    r"|translate|sagt|sagte|meint|meinte|laut|dice"
    r"|dijo|según)\b|(?:他|她|文档|同事)[^，。]{0,4}说|据说"
)

PREFERENCE = (
    rf"{_CLAUSE}(?:always|never)\s+(?:ever\s+)?(?:{VERBS}|{_ORDERED})\b",
    rf"^(?:for|in|on|with|when|if you)\b[^,.;]{{1,40}}\s(?:always|never)\s+(?:{VERBS})\b",
    r"\b(?:i|we)(?:'d|\s+would)?(?:\s+(?:generally|usually|really|always|strongly|much"
    r"|tend to)){0,2}\s+prefer\b"
    rf"(?!\s+{_DEICTIC})",
    r"\bi(?:'d|\s+would)\s+(?:much\s+)?rather\s+(?:we|you)\s+(?!did|do it|try|tell|show|explain)\w{2,}\s",
    rf"^next\s+time,?\s+(?:please\s+)?(?:{VERBS}|{_ORDERED})\b.{{8}}",
    r"\bi(?:'d|\s+would)\s+(?:much\s+)?rather\s+(?:(?:we|you)\s+)?(?:used?|have|had|keep|kept|write|wrote"
    r"|avoid|stick)\b",
    r"\bi\s+(?:\w+\s+)?like\b.{2,60}\b(?:better|more)\s+than\b",
    r"^my\s+preference\s+is\b",
    r"(?:^|[,;:]\s{0,3})(?:please\s+)?prefer\s+\S.{0,80}\s(?:over|to|for|instead of|rather than)\s",
    r"\bi\s+(?:always|never)\s+want\b|\bi\s+want\s+you\s+to\s+(?:always|never)\b|\bi\s+(?:always"
    r"|generally|usually)\s+favou?r\b",
    r"\bich\s+(?:bevorzuge|(?:mag|hätte|habe|würde)\s+lieber)\b|\bwir\s+bevorzugen\b",
    rf"(?:^|[,;:]\s{{0,3}}|\bund\s+)(?:bitte\s+)?{_DE_IMPERATIVE}\s+(?:\S+\s+){{0,4}}"
    r"(?:immer|nie|niemals|stets|grundsätzlich)\b",
    r"^(?:immer|nie|niemals|grundsätzlich)\s+.{3,80}en\W{0,2}$",
    r"\bprefiero\b(?!\s+(?:es[eao]|est[eao]|(?:la|el)\s+(?:primer|segund|opción)|opción|[ab]\b))"
    r"|\bpreferimos\b",
    rf"(?:^|[,;:]\s{{0,3}}|\by\s+){_ES_IMPERATIVE}\s+(?:\S+\s+){{0,3}}siempre\b"
    rf"|^siempre\s+{_ES_IMPERATIVE}\b",
    rf"\bnunca\s+{_ES_NOT}\b",
    r"我(?:更|比较|一般|还是)?(?:喜欢|偏好|倾向于|习惯)(?!这个|那个|第)",
    r"(?:一律|始终|总是)(?:请|要)?(?:用|使用|写|采用|加)|永远(?:不要|别)|以后(?:请|都|请都)?(?:用|不要|别|写)",
)

MANNER = (
    r"\b(?:keep|make)\s+(?:your|the|all|any)?\s{0,2}(?:answers?|replies|responses?|explanations?|summaries)\b"
    r".{0,30}\b(?:short|shorter|brief|briefer|concise|terse|simple|minimal)\b",
    r"^be\s+(?:more\s+|as\s+)?(?:concise|brief|terse|direct|blunt)\b",
    r"\b(?:don'?t|do not|stop)\s+be(?:ing)?\s+(?:so|too|that|this)\s+(?:verbose|wordy|chatty|long-winded)\b",
    r"\b(?:answer|reply|respond)\s+(?:\w+\s+){0,2}(?:shorter|short|briefly|concisely)\b",
    r"\b(?:no|never use|don'?t use|do not use|stop using|without|avoid)\s+(?:\w+\s+){0,2}emojis?\b",
    r"\bstop\s+(?:with\s+)?(?:the\s+|all\s+the\s+|your\s+)?(?:\w+\s+){0,2}(?:summar\w+|prais\w+"
    r"|apologi\w+|flattery|explaining|pleasantries)\b",
    r"\b(?:don'?t|do not|never|no need to)\s+(?:have to\s+|need to\s+)?(?:prais\w+|apologi\w+|flatter\w*"
    r"|compliment|summari[sz]e)\b",
    r"\b(?:answer|respond|reply|talk|speak)\s+(?:(?:to\s+)?me\s+)?(?:only\s+|always\s+)?in\s+(?:english"
    r"|german|spanish|chinese|french|italian|portuguese|japanese|plain|simple|(?:short|brief|few|complete)"
    r"\s+(?:sentences?|words|paragraphs?))\b",
    r"\bi\s+(?:like|love|prefer)\s+(?:short|shorter|brief|concise|terse)\s+(?:answers?|replies|responses?"
    r"|explanations?|summaries)\b",
    r"^talk\s+to\s+me\b|^(?:less|fewer)\s+(?:text|words|prose|talk|chatter|emojis)\b|\bno\s+(?:marketing"
    r"|jargon|fluff|buzzwords|preamble|small talk)\b",
    r"\bantworte?\b.{0,20}\bauf\s+(?:deutsch|englisch)\b|\bfass(?:e)? dich kurz|\bkurze antworten\b"
    r"|\b(?:keine|ohne) emojis\b|\bduz(?:e)? mich\b",
    r"\b(?:responde|contesta|contéstame|respóndeme)\b.{0,20}\ben\s+(?:español|inglés)\b"
    r"|\brespuestas\s+(?:más\s+)?"
    r"(?:cortas|breves)\b|\bsin emojis\b",
    r"用(?:中文|英文|英语)回答|回答.{0,6}(?:简短|简洁)|(?:简短|简洁)的回答|不要.{0,2}表情",
)
"""How the person wants to be talked to."""
OF_PERSON = (
    r"\b(?:answers?|answer me|explanations?|respond|reply|replies|emojis?|prais\w+|apologi\w+|tone|talk to me"
    r"|great question|summaries|be (?:more )?(?:concise|brief|terse|direct)|fluff|antworte?n?|duze?"
    r"|fass dich|responde|respuestas|contesta|contéstame)\b|回答|表情"
)
OF_WORK = (
    r"\b(?:commits?|commit-messages?|comments?|code|readme|docs?|docstrings?|tests?|variables?|api"
    r"|endpoints?|requests?|handlers?|users?|pages?|tickets? (?:text|body))\b|提交|注释|代码"
)

_POLICY_SUBJECT = (
    r"(?!the\b|this\b|that\b|it\b|there\b|he\b|she\b|they\b|i\b|we\b|you\b|users?\b(?! data)"
    r"|customers?\b(?! data)|visitors?\b|admins?\b|a\b|an\b|passwords?\b|(?:all|every|each|any"
    r"|no)\s+(?:users?|fields?|inputs?|columns?|buttons?|passwords?|names?)\b)"
)
_OUGHT = (
    r"(?:(?:must|ha(?:s|ve) to|needs? to)(?!\s+(?:pass|be\s+(?:\w+ing|a|an|the|some\w*|broken|wrong"
    r"|there))\b)|(?:is|are) required to|may (?:not|never|only))"
)
POLICY = (
    r"\b(?:from now on|from here on|going forward|from this point on)\b(?=.{12})|^new (?:rule|policy"
    r"|convention)\s?[:,]\s?(?=.{12})",
    r"\b(?:don'?t|do not|never) ever\b(?=.{6})|\bunder no circumstances\b(?=.{6})",
    rf"^{_POLICY_SUBJECT}(?:all|every|each|any|no)\s+(?:[\w./*-]+\s+){{1,8}}{_OUGHT}\b",
    rf"^{_POLICY_SUBJECT}(?:[\w./*-]+\s+){{1,5}}(?:must|ha(?:s|ve) to|may)\s+(?:not|never|always|only"
    rf"|be\s+\w+(?:ed|en|ible|able))\b"
    r"(?!\s+able)",
    r"\b(?:we\s+must\s+(?:not|never|always|only|support|keep|stay)|we\s+are\s+required\s+to"
    r"|you\s+must\s+(?:not|never|always|only))\b",
    r"\bit\s+is\s+(?:strictly\s+)?(?:required\s+that|mandatory|forbidden|prohibited|not\s+allowed\s+to)\b",
    r"^(?!this\b|that\b|it\b|the\b)(?:[\w./*-]+\s+){1,6}(?:is|are)\s+(?:strictly\s+)?(?:forbidden"
    r"|prohibited|mandatory|not\s+allowed)\b",
    r"\b(?:ab jetzt|ab sofort|von nun an|künftig|in zukunft|zukünftig)\b(?=.{8})",
    r"^(?:alle|jede[rsn]?|sämtliche|keine?)\s+(?:\S+\s+){1,6}?(?:muss|müssen|darf|dürfen)\b",
    r"^(?!das\b|der\b|es\b|wir\b|ich\b|sie\b)(?:\S+\s+){1,4}(?:dürfen|müssen)\s+(?:nie|niemals|nicht"
    r"|immer|stets)\b",
    r"\bdas gilt (?:immer|für alle?)\b",
    r"\b(?:auf keinen fall|unter keinen umständen|(?:ist|sind) (?:strikt )?verboten)\b",
    r"\b(?:de ahora en adelante|a partir de ahora|en adelante)\b(?=.{8})",
    r"^(?:todos?|todas?|cada|ning[uú]n|ninguna)\s+(?:\S+\s+){1,6}(?:deben?|tienen?\s+que|pueden?)\b",
    r"^(?:los|las)\s+(?:\S+\s+){1,4}(?:nunca|no)\s+(?:deben|pueden)\b|\b(?:está prohibido|es obligatorio"
    r"|bajo ninguna circunstancia)\b",
    r"从现在(?:开始|起)|从今以后|今后|禁止|严禁|(?:绝对|一定)不(?:能|要)|不得|(?:所有|每个|任何|全部)(?!用户|字段).{1,30}(?:必须|都要|都得|不能)",
)

REMEMBER = (
    r"^(?:please\s+)?remember(?:\s+(?:this|that))?\s{0,2}[:,–—-]\s{0,2}(?=\S)",
    r"^(?:please\s+)?(?:remember|keep in mind|don'?t forget|do not forget|note for (?:later"
    r"|next time):?)\s+that\s+(?!and\b)(?=\w+\s+\S)",
    r"^(?:merke?|notiere?) dir(?: bitte)?,?\s+dass\s+|^denk (?:dran|daran),?\s+dass\s+"
    r"|^vergiss nicht,?\s+dass\s+|^merke? dir:\s{0,2}",
    r"^(?:recuerda|ten en cuenta|no olvides)\s+que\s+|^acuérdate de que\s+|^recuerda:\s{0,2}",
    r"^(?:请|你要)?记住(?!了|这|那)[，,:：]?\s{0,2}(?=.{4})",
)
"""What follows the match is to be remembered."""
POINTING = (
    r"^(?:please\s+)?remember\s+(?:this|that)(?:\s+(?:for|in) (?:next time|later|the future|future \w+"
    r"|future))?"
    r"(?:\s+(?:please|pls))?\W{0,3}$",
    r"^(?:please\s+)?(?:save|store|add|put)\s+(?:this|that|it)\s+(?:to|in|into)\s+(?:your\s+"
    r"|the\s+)?memory\b",
    r"^(?:bitte\s+)?merke? dir (?:das|dies)\b.{0,20}$|^(?:recuerda|acuérdate de)\s+(?:esto|eso)\W{0,3}$",
    r"^(?:请)?记住(?:这|那)(?:一点|点|个|件事)?\W{0,3}$",
)
"""What was said just before is to be remembered."""
POINTING_ON = (
    r"^(?:please\s+)?remember\s+(?:this|that),?\s+and\s+(?=(?:please\s+)?"
    rf"(?:don'?t|do not|never|always|stop|{VERBS})\s+\S)"
)
"""The same, and the order that follows the match with it."""
DECIDED = (
    r"(?:^|[,:]\s)we(?:'ve|\s+have)?\s+(?:\w+ly\s+)?(?:decided|chose|agreed|settled)\b.{8,400}\b(?:because"
    r"|so that|due to)\b",
    r"\bwir\s+haben\s+uns\b.{8,400}\bentschieden\b.{0,40}\b(?:weil|damit)\b",
    r"(?:^|,\s)(?:hemos\s+decidido|decidimos|elegimos)\b.{8,400}\bporque\b",
    r"我们(?:已经)?(?:决定|选择).{4,400}因为",
)
"""Tells a decision with its reason."""

ESCALATION = (
    r"\bstop\s+asking\s+(?:me\s+)?(?:before|for|about|every|to)\b",
    r"\b(?:ask|check with|confirm with|consult|talk to|ping)\s+me\s+(?:\w+\s+){0,2}?before\b|\b(?:ask"
    r"|check)\s+before\s+"
    r"(?:you\s+)?\w+",
    r"\b(?:never|don'?t|do not)\b.{2,60}\bwithout\s+(?:asking|checking|my\s+(?:ok|okay|approval"
    r"|permission|consent))",
    r"\b(?:you\s+(?:can|may)|feel free to|go ahead and|just)\b.{2,60}\bwithout\s+(?:asking|checking with me)",
    r"\byou\s+(?:don'?t|do not)\s+(?:have|need)\s+to\s+ask\b(?=.{8})|\bno need to ask\b(?=.{8})",
    r"\b(?:don'?t|do not)\s+ask(?:\s+me)?,?\s+just\s+\w+\s+\w+|^feel free to\b.{4,60}\bon your own\b",
    r"\bfrage?\s+(?:mich|bitte|immer|erst|vorher)\b.{0,30}\b(?:bevor|vorher|vor dem)\b"
    r"|\bohne\s+(?:rückfragen?|zu fragen|nachzufragen)\b(?<=.{12})",
    r"\b(?:pregúntame|consúltame|avísame)\s+(?:siempre\s+)?antes\b|\b(?:puedes|haz"
    r"|puede)\b.{2,50}\bsin\s+preguntar",
    r"先(?:问|跟|和)我|问(?:过)?我.{0,4}再|不用问我?[，,]?.{2}|(?:无需|不需要)(?:确认|询问|问我)",
)

_WRONG = (
    r"that'?s (?:wrong|incorrect|not (?:right|correct|true|how\b.{0,30}))|that is (?:wrong|incorrect"
    r"|not (?:right|correct|true))|das (?:ist|stimmt) (?:falsch|nicht|so nicht)|eso (?:está mal"
    r"|no es correcto|no es así|es incorrecto)|不对|错了|不是"
)
WRONG = rf"^(?:(?:no+|nein|hm+)[\s,.!]{{1,3}})?(?:{_WRONG})"
"""Says that a statement was not true: what follows is the truth."""
OPENER = (
    rf"^(?:(?:no+|nope|nah|wrong|incorrect|actually|wait|stop|hm+ no|nein|nee|falsch|stopp|halt"
    rf"|eigentlich|no|incorrecto|en realidad|detente)(?![\w'-])|not\s+\S+\s+but\s|instead of\s|{_WRONG}"
    rf"|(?:don'?t|do not|please don'?t"
    rf"|you should(?:n'?t| not)|we never|we don'?t|we do not|we use|we'?re on|we are on)\b|不，|不行|不要"
    r"|别|停|其实|应该)"
)
"""How a correction begins."""
ADVICE = (
    r"\b(?:use|take|try|run|do|import|put|write|call|change|fix|go through|prefer|find|edit|keep|add"
    r"|set)\b.{2,120}\binstead\b|\binstead of\b.{2}|\brather than\b.{2}",
    r"(?:\S+\s+){2,12}\S+,\s{0,2}not\s+(?!·|sure|really|now|here|that|this|just yet)\w*\S"
    r"|\bnot\s+\S+\s+but\s+\S+|\buse\s+(?:\S+\s+){1,4}not\s+\S",
    r"\bwe\s+(?:have\s+)?(?:moved|switched|migrated)\s+to\s+\S|\bit should be (?:called|named)\s+\S"
    r"|^no:\s+(?:\S+\s+){3}\S|\b(?:we'?re|we are)\s+on\s+\S+.{0,20}\bnot\b"
    r"|\b(?:we|i)\s+(?:(?:only|always|never)\s+)?(?:use"
    r"|don'?t|do not|have|keep|put|never|always)\b.{3}",
    rf"\b(?:don'?t|do not|never|shouldn'?t|should not|always)\s+(?:ever\s+)?(?:{VERBS})\b.{{3}}",
    rf"{_CLAUSE}(?:always|never)\s+{_ORDERED}.{{3}}",
    rf"^stop\s+(?:{''.join(_DOING.split())})\b.{{3}}",
    r"\b(?:should|must|ha(?:s|ve) to)\s+(?:always|never|follow|go|live|use|come)\b|\b(?:lives?|belongs?"
    r"|goes?)\s+(?:in|to|next)\b",
    r"\b(?:stattdessen|anstatt|anstelle|sondern)\b|\bstatt\s+\S|,\s{0,2}nicht\s+(?!so\b|das\b|hier\b|jetzt\b)\S"
    r"|\bwir\s+(?:hier\s+)?(?:benutzen|verwenden|nutzen|nehmen)\b|\bnicht von hand\b",
    rf"\ben (?:vez|lugar) de\b|,\s{{0,2}}no\s+\w|\bsino\s+\S|\busamos\b|\bno\s+{_ES_NOT}\b",
    r"不要(?:用|直接|再)|改用|而不是|而是|我们(?:这里)?(?:都)?(?:用|使用)|应该.{2}|别用",
)
"""What to do instead, or what not to do."""
REJECTED = (
    r"^(?:no+|nope|nah|nein)[\s,.!:]{1,3}(?:please\s+)?(?:not|nicht|kein)\s+"
    r"(?!(?:yet|now|here|there|that|this|it|so|the|really|quite|exactly|just|like|jetzt|hier|das)\b)\S+\W{0,3}$"
)
"""Says no to one thing; an order after it says what to take."""
ORDER = r"^(?:please\s+)?(?:use|take|run|call|import|prefer|nimm|benutze|verwende)\s+\S"
REPEATED = (
    r"\b(?:second|third|fourth|fifth|last|\d+(?:nd|rd|th)) time\b|\bhow often\b"
    r"|\b(?:i|we)(?:'ve| have)? (?:already )?told you"
    r"|\bzum (?:zweiten|dritten|letzten) mal\b"
)
"""Says that it was said before."""
REASON = (
    r"\b(?:because|otherwise|that'?s why|weil|denn|sonst|deshalb|porque|si no)\b|因为|否则"
    r"|^(?:only|nur|solo)\s|^(?:the|it|they|das|die|der|es)\b.{0,60}\b(?:takes?|costs?|breaks?|books?|deletes?"
    r"|locks?|lost|dauert|kostet)\b"
)
"""Says why, or what alone is right."""
STATEMENT = (
    r"\b(?:is|are|lives?|runs?|must|needs?|only|ist|sind|wird|werden|laufen|läuft|es|son|está"
    r"|están)\b.{3}|是.{3}"
)
STEERING = (
    r"\b(?:the (?:other|second|first|third|latter|former|last|wrong)\b|(?:that|this|the|integration"
    r"|right) one\b|(?:approach|option|variant|version|plan) [a-z0-9]\b|(?:it|that|them) back\b|put back"
    r"|still\s+(?:fails?|failing|get|getting|broken|wrong|the same)|i (?:want|wanted|meant|said|asked)\b"
    r"|what i\b|that line|this line|now\b|again\b|go on|kill that|"
    r"(?:make|put|call|name|rename|change|move|set|revert|undo|delete|remove|add|try|show) (?:it|this"
    r"|that|them|these)\b|die andere|das andere|den anderen|rückgängig|mach (?:es|das)|zurück|es[ea] no\b"
    r"|ponlo|déjalo|l[ao] otr[ao]|el otro|como estaba)|改回|改成|放回|撤销|另一个|那个"
)
"""Steers the work at hand and is worth nothing tomorrow."""
LASTING = (
    r"\b(?:always|never|we (?:use|don'?t|never|always)|in this (?:repo|project|codebase)|immer|nie"
    r"|siempre|nunca)\b"
)

CUE_WORDS = frozenset(
    """
    always never ever next must required forbidden prohibited allowed mandatory remember forget memory ask
    asking consult without feel instead not no nope nah wrong incorrect actually stop short brief
    briefer shorter concise terse blunt direct simple talk respond reply answer answers explanations
    summaries replies less fewer use rather dont may wait immer nie niemals stets nein nee falsch stimmt
    statt nicht müssen muss dürfen darf künftig verboten nur keine ohne merk merke denk frag frage kurz
    kurze duz duze fass lieber mir halt stopp eigentlich wir siempre nunca deben debe tienen tiene
    adelante partir recuerda acuérdate cuenta pregúntame consúltame avísame sin vez lugar mal prohibido
    obligatorio ninguna sino usamos respuestas responde contesta contéstame respóndeme correcto
    incorrecto decided chose agreed settled entschieden decidido decidimos elegimos
    """.split()
)
CUE_STEMS = (
    "prefer|prefier|favor|favour|bevorzug|grundsätz|from now on|from here on|from this point"
    "|going forward|new rule|new policy|new conv|has to|have to|need to|needs to|in mind|note for"
    "|check with|check before|confirm with|ping me|n't|we're on|we are on|that's|emoji|jargon|fluff"
    "|preamble|prais|apolog|flatter|better than|more than|no circumst|ab jetzt|ab sofort|nun an"
    "|zukunft|keinen fall|preguntar|olvides|notiere"
).split("|")
CUE_SIGNS = frozenset("喜偏倾习律终总永以从今禁严绝必所每任全记问确不错别停其应改我请用须")
"""Words, parts of them, and signs of which a turn must have one to be looked at at all."""
CAUSE = (
    r"\b(?:the (?:problem|cause|reason|issue|culprit|bug) (?:was|is)\b|root cause|turns out|turned out"
    r"|caused by|(?:fail(?:s|ed|ing)?|broke|breaks|crashe[sd]|happen(?:s|ed)|error).{0,40}\b(?:because"
    r"|since|due to)\b|das problem (?:war|ist)|der grund (?:war|ist)|(?:lag|liegt) daran"
    r"|el problem (?:era|es)|la causa (?:era|es))|(?:问题|原因)(?:是|在于)"
)
"""An agent's sentence that says why something failed."""
CAUSE_CUES = (
    "problem|cause|reason|issue|culprit|bug|turn|since|due to|grund|daran|causa|问题|原因".split(
        "|"
    )
)
PASTED = (
    r"(?:^|\b)(?:here(?:'s| is| are)|this is|i get|i got|output|log|logs|error|traceback|stack ?trace"
    r"|it says|prints?|says|result|message|from the (?:docs|wiki|ticket|issue)|ticket|issue|hier (?:ist"
    r"|kommt)|ausgabe|fehler|aquí (?:está|tienes)|salida|输出|日志|报错|错误)\b[^\n:：]{0,60}[:：]\s*$"
)
"""A line after which comes what the person pasted."""
LOGGED = (
    r"^\s*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(?:warn|warning|error|err|info|debug|fatal|trace)\]?[\s:]"
    r"|traceback\b|file \"|at \S+ ?\(|\$ |>>> |diff --git|@@ |\+\+\+ |--- |[+|#]|\w+(?:error|exception)\b"
    r"|(?:e|w)\s{2,})"
)
"""A line that no person types."""
ANNOUNCED = (
    r"\b(?:error|traceback|output|log|logs|it says|translate)\s{0,2}:\s|^(?:please\s+"
    r"|can you\s+)?(?:rewrite|rephrase|reword|translate|proofread|review|check|fix|summari[sz]e|improve"
    r"|shorten|post|send|document|add|update)\b[^:\n]{0,40}:\s"
)
"""The beginning of a line after which it is no longer the person who advises."""
