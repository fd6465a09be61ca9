"""The table of cues: the words by which a sentence shows what it is, in ten languages.

A cue is a word or a phrase as `sentences.fold` leaves it; `*` at its end takes any ending. Cues
stand between `|`, languages in the order en de fr es pt it ru zh ja ko. In scripts without spaces a
cue is any part of the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping

CUES: Mapping[str, str] = {
    "durable": """
always|never|ever|from now on|going forward|in future|in the future|every time|each time|whenever
any time|permanently|by default|anymore|any more|no longer|at all times|as a rule|in general
until further|consistently|everywhere|immer|nie|niemals|stets|grundsätzlich|ab jetzt|ab sofort
von nun an|künftig|in zukunft|jedes mal|nicht mehr|standardmäßig|überall|toujours|jamais|désormais
dorénavant|à partir de maintenant|à chaque fois|à lavenir|par défaut|partout|siempre|nunca|jamás
de ahora en adelante|a partir de ahora|en adelante|cada vez|por defecto|en todas partes|sempre
de agora em diante|a partir de agora|daqui para frente|toda vez|por padrão|mai|da ora in poi
dora in poi|in futuro|ogni volta|per impostazione predefinita|ovunque|всегда|никогда|отныне|впредь
с этого момента|каждый раз|по умолчанию|больше не|везде|从现在|以后|今后|始终|总是|永远|一律|每次
每当|从不|默认|所有地方|常に|いつも|必ず|決して|絶対に|今後|これから|毎回|以降|デフォルト|항상|절대
앞으로|이제부터|매번|언제나|기본적으로
""",
    "oblige": """
must|should|have to|has to|need to|needs to|needs|required|requirement|requires|supposed to|shall
ought to|make sure|be sure|ensure|mandatory|remember to|only use|muss|müssen|soll|sollen|sollte
sollten|darf nur|dürfen nur|erforderlich|pflicht|stell sicher|achte darauf|nur noch|doit|doivent
devons|faut|il faut|devrait|obligatoire|nécessaire|veille à|assure toi|assurez vous|debe|deben
debemos|debería|hay que|tiene que|tienen que|obligatorio|necesario|asegúrate|deve|devem|devemos
deveria|precisa|precisam|tem que|têm que|obrigatório|garanta|devono|dobbiamo|dovrebbe|bisogna
occorre|obbligatorio|necessario|assicurati|должн*|должен|нужно|надо|необходимо|следует|обязательно
обязан*|требуется|必须|应该|应当|需要|务必|确保|一定要|得用|要用|必要|べき|なければ|しなければ
するように|してください|必須|해야|하도록|필수|필요|반드시
""",
    "forbid": """
dont|do not|never|avoid|not allowed|forbidden|prohibited|without|cant|cannot|can not|shouldnt
should not|must not|mustnt|no need|stop|refrain|not be|not to|nicht|kein*|verboten|vermeide
vermeiden|ohne|darf nicht|dürfen nicht|lass das|hör auf|ne|pas|jamais|évite|éviter|sans|interdit
interdite|arrête|surtout pas|no uses|no debe|no deben|no se|evita|evitar|sin|prohibido|nada de
deja de|não|evite|sem|proibido|pare de|non|evitare|senza|vietato|smetti|не|нельзя|без|запрещено
избегай*|запрещен*|не надо|не нужно|不要|不能|不得|禁止|别用|别再|避免|严禁|不可|不许|不应|しない
ないで|避け|ダメ|だめ|使わない|せず|하지 마|하지마|말고|금지|피하|안 됩니다|없이
""",
    "wish": """
prefer*|id like|i would like|i want|we want|we need|lets|let us|id rather|i like|i feel|i think
we should|bevorzug*|ich möchte|ich will|wir wollen|wir brauchen|lieber|ich hätte gern|ich finde
lass uns|je préfère|préfér*|je veux|je voudrais|on veut|il nous faut|plutôt|prefiero|preferimos
quiero|queremos|me gustaría|necesitamos|mejor|prefiro|quero|gostaria|precisamos|melhor|preferisco
preferiamo|voglio|vogliamo|vorrei|meglio|предпочита*|хочу|хотим|хотелось бы|лучше|давай|我希望|希望
我想|我要|我们要|我喜欢|偏好|最好|倾向|したい|ほしい|欲しい|好み|ほうがいい|方がいい|원해|원합니다
싶|선호|좋겠
""",
    "preference": """
prefer*|i always want|my preference|id rather|bevorzug*|lieber|je préfère|préfér*|prefiero
preferimos|prefiro|preferisco|preferiamo|предпочита*|偏好|更喜欢|好む|好みます|選好|선호
""",
    "reason": """
because|since|so that|due to|otherwise|reason|in order to|thats why|which is why|as we|as it
as they|so we|or else|given that|to avoid|to prevent|to keep|weil|denn|da wir|damit|sonst|deshalb
deswegen|wegen|grund|um zu|parce que|puisque|sinon|afin|à cause|cest pourquoi|raison|pour éviter
porque|ya que|para que|si no|debido a|por eso|razón|para evitar|já que|senão|devido|por isso|motivo
perché|poiché|affinché|altrimenti|a causa|per questo|per evitare|потому|так как|чтобы|иначе
поскольку|из за|поэтому|причин*|因为|由于|否则|所以|原因|以免|以便|なぜなら|ので|から|ため|理由
そうしないと|때문|왜냐|그래서|않으면|이유|위해
""",
    "past": """
caused|incident|last time|in the past|we tried|i tried|broke|burned|bitten|learned|got hit|used to
outage|shipped|before and|letztes mal|vorfall|wir haben versucht|kaputt gemacht|ausfall|schon mal
la dernière fois|on a essayé|a cassé|panne|la última vez|incidente|ya probamos|intentamos|rompió
da última vez|já tentamos|quebrou|lultima volta|abbiamo provato|ha rotto|в прошлый раз|инцидент
мы пробовали|сломал*|уже пробовали|上次|事故|试过|之前出过|坏了|踩过|前回|以前|障害|試した|壊れた
지난번|사고|시도해|고장
""",
    "note": """
note|notes|fyi|keep in mind|remember|reminder|be aware|heads up|important|importantly
for the record|bear in mind|beachte|merke|denk daran|denk dran|hinweis|wichtig|zur info|note que
noter|rappelle toi|attention|à noter|gardez en tête|nota|recuerda|ten en cuenta|importante|ojo
no olvides|lembre|tenha em mente|atenção|ricorda|tieni presente|attenzione|учти|помни|запомни|важно
имей в виду|обрати внимание|заметь|注意|记住|请记得|重要|提醒|备注|覚えて|メモ|念のため|참고|기억
중요|주의
""",
    "settle": """
the rule|rule|rules|policy|convention|conventions|standard|final|finally|decision|decided|decide
go with|went with|settled|settle|stick with|stick to|agreed|it is then|keep it|keep the|snapshot
priority|prio|principle|regel|regeln|konvention|endgültig|entschieden|entscheidung|wir bleiben bei
wir nehmen|priorität|vereinbart|règle|règles|décidé|décision|on garde|on reste|définitif|priorité
regla|reglas|convención|decidimos|decidido|decisión|nos quedamos|definitivo|prioridad|regra|regras
convenção|decisão|ficamos com|prioridade|regola|regole|convenzione|deciso|decisione|teniamo
restiamo|priorità|правил*|решили|решение|решено|соглашени*|остаемся|приоритет*|окончательно|规则
规定|约定|决定|最终|就用|标准|优先|规范|方案是|ルール|規約|決定|決めた|にする|にします|標準|優先
규칙|결정|정했|표준|우선
""",
    "correct": """
no|nope|wait|actually|wrong|not quite|thats not|that is not|youre wrong|i meant|i mean|i said
hold on|incorrect|nvm|instead|you misunderstood|not what i|undo|revert|that isnt|nein|nee|falsch
stopp|halt|eigentlich|stimmt nicht|ich meinte|stattdessen|sondern|non|faux|attends|en fait
je voulais dire|cest pas|plutôt que|no no|mal|espera|en realidad|quise decir|eso no|en vez|en lugar
errado|na verdade|quis dizer|isso não|em vez|sbagliato|aspetta|in realtà|intendevo|invece|нет
неправильно|неверно|подожди|стоп|на самом деле|я имел в виду|вместо|不对|错了|不是|等等|其实|我是说
我的意思|应该是|而是|違う|違います|いや|待って|実は|ではなく|じゃなくて|아니|틀렸|잠깐|사실|대신
아니라
""",
    "ours": """
we|our|us|ours|weve|wir|unser*|uns|nous|notre|nos|nosotros|nuestro|nuestra|nuestros|nuestras|usamos
tenemos|nós|nosso|nossa|temos|noi|nostro|nostra|nostri|usiamo|abbiamo|мы|наш*|нас|нам|у нас|我们
咱们|我方|我々|私たち|うち|弊社|우리
""",
    "instead": """
instead of|rather than|not|but|instead|over|versus|in favor of|in favour of|statt|anstatt|sondern
anstelle|lieber als|au lieu|plutôt que|mais|en vez de|en lugar de|sino|em vez de|ao invés|mas
invece di|anziché|ma|вместо|а не|но|而不是|而是|改用|代替|不用|ではなく|の代わり|より|대신|말고
아니라
""",
    "moment": """
now|today|for now|this time|right now|at the moment|currently|tonight|later|next|first|continue
go ahead|proceed|start|again|then|jetzt|heute|vorerst|diesmal|gerade|später|weiter|nochmal|dann
zuerst|erstmal|maintenant|aujourdhui|pour linstant|cette fois|ensuite|encore|dabord|ahora|hoy
por ahora|esta vez|luego|continúa|sigue|otra vez|primero|agora|hoje|por enquanto|desta vez|depois
de novo|primeiro|adesso|ora|oggi|per ora|questa volta|poi|continua|di nuovo|prima|сейчас|сегодня
пока|на этот раз|потом|продолжай|снова|сначала|давай|现在|今天|暂时|这次|先|继续|再来|然后|接下来
今|今日|とりあえず|今回|次に|続けて|もう一度|まず|지금|오늘|일단|이번|다음|계속|다시|먼저
""",
    "assent": """
ok|okay|yes|yep|yup|yeah|sure|perfect|great|thanks|thank you|good|nice|awesome|do it|sounds good
lgtm|cool|ja|jep|genau|super|danke|gut|prima|passt|klar|oui|ouais|parfait|merci|bien|daccord|sí|si
vale|perfecto|gracias|genial|claro|sim|beleza|perfeito|obrigado|obrigada|ótimo|certo|sì|perfetto
grazie|bene|ottimo|да|ок|хорошо|отлично|спасибо|супер|понял|好的|好|可以|行|谢谢|是的|对|はい|了解
ありがとう|いいね|お願いします|네|응|좋아|감사|고마워|그래
""",
    "task": """
add|fix|create|implement|write|update|make|run|check|show|explain|review|commit|push|refactor|look
find|build|change|remove|delete|test|help|give|tell|go through|generate|analyze|investigate|use
rename|move|merge|open|read|clean|füge|erstelle|schreib*|mach|zeig*|prüfe|ändere|entferne|lösche
baue|erkläre|suche|teste|behebe|implementiere|ajoute|crée|écris|corrige|montre|explique|vérifie
modifie|supprime|fais|lance|añade|crea|escribe|arregla|muestra|explica|revisa|cambia|elimina|haz
ejecuta|adicione|crie|escreva|corrija|mostre|verifique|altere|remova|faça|rode|aggiungi|scrivi
correggi|mostra|spiega|controlla|rimuovi|fai|esegui|добавь|создай|напиши|исправь|покажи|объясни
проверь|измени|удали|сделай|запусти|посмотри|реализуй|添加|创建|实现|修复|写一个|检查|解释|修改
删除|帮我|请你|生成|看一下|运行|追加して|作って|作成して|修正して|書いて|確認して|説明して|変更して
削除して|教えて|実装して|추가해|만들어|작성해|고쳐|수정해|보여|설명해|확인해|삭제해|구현해
""",
    "finding": """
root cause|turned out|turns out|the cause|the real|the problem is|the problem was|the issue is
the issue was|the bug|caused by|causes|is why|because|found that|discovered|confirmed|gotcha|caveat
insight|key finding|means that|this means|pre existing|preexisting|by design|on purpose
intentional*|deliberate*|explains|constraint|limitation|downside|trap|pitfall|race|mismatch
false positive|falsely|instead of|rather than|ursache|stellte sich heraus|der grund|das problem ist
das problem war|liegt daran|absichtlich|einschränkung|la cause|il savère|le problème est|le vrai
volontairement|en réalité|la causa|resulta que|resultó|el problema es|el problema era|a propósito
limitación|a causa|acontece que|o problema é|o problema era|de propósito|limitação|si è scoperto
il problema è|il problema era|di proposito|limitazione|причина|оказалось|оказывается|проблема в
дело в|намеренно|ограничение|вывод|根本原因|原来|问题在于|问题是|原因是|结果是|故意|限制|导致|发现
原因は|判明|実は|問題は|わざと|制限|が原因|근본 원인|알고 보니|문제는|원인은|의도적|제한
""",
    "surprise": """
silently|ignores|ignored|can never|cannot|does not|doesnt|do not|dont|is not|isnt|despite
even though|even when|even if|only when|only if|only works|unless|no effect|never|regardless
although|without|fails|lacks|missing|not supported|unsupported|overwrites|bypass*|blocks|prevents
requires|must|only|already|yet|still|rejects|expects|returns|triggers|throws|falls back|skips
always|hardcoded|default|stillschweigend|ignoriert|obwohl|nur wenn|kann nie|funktioniert nicht
trotzdem|außer|fehlt|silencieusement|ignore|bien que|seulement si|ne peut|malgré|sauf|manque
silenciosamente|ignora|aunque|solo si|no puede|a pesar|salvo|falta|embora|só se|não pode|apesar
exceto|silenziosamente|anche se|solo se|non può|nonostante|tranne|manca|молча|игнорир*|хотя
только если|не может|несмотря|кроме|не работает|отсутств*|блокир*|静默|忽略|即使|只有|无法|不支持
除非|缺少|没有|仍然|不会|無視|にもかかわらず|のみ|できない|未対応|場合だけ|ない限り|무시|에도 불구
만 가능|할 수 없|지원하지|누락
""",
    "hedge": """
maybe|perhaps|might|could|probably|possibly|not sure|wonder|wondering|unsure|likely|seems|i guess
consider|would|if you want|optionally|optional|vielleicht|könnte|wahrscheinlich|möglicherweise
nicht sicher|eventuell|scheint|peut être|pourrait|probablement|pas sûr|semble|quizás|tal vez|podría
probablemente|no estoy seguro|parece|talvez|poderia|provavelmente|não sei|forse|potrebbe
probabilmente|non so|sembra|может быть|возможно|наверное|вероятно|не уверен|кажется|也许|可能|大概
或许|不确定|好像|似乎|かもしれ|たぶん|おそらく|かな|だろう|아마|혹시|일지도|것 같
""",
    "plan": """
ill|i will|let me|im going to|going to|now i|im now|im checking|want me|would you like|shall i
should i|if you|ich werde|lass mich|soll ich|möchtest du|je vais|laisse moi|veux tu|voulez vous
voy a|déjame|quieres que|vou|deixe me|quer que|adesso|lasciami|vuoi che|я буду|сейчас я|давайте
хотите|我将|我会|让我|接下来我|要不要我|します|しましょうか|これから|하겠습니다|할까요
""",
    "done": """
ive|i have|i added|added|updated|fixed|created|implemented|removed|moved|i checked|i ran|committed
passes|passed|completed|complete|done|replaced|extracted|verified|ran|all tests|ich habe
hinzugefügt|aktualisiert|behoben|erstellt|entfernt|fertig|erledigt|jai|ajouté|mis à jour|corrigé
créé|terminé|he añadido|añadido|actualizado|corregido|creado|listo|hecho|adicionei|atualizado
corrigido|criado|pronto|feito|ho aggiunto|aggiunto|aggiornato|corretto|creato|fatto|я добавил
добавлен*|обновлен*|исправлен*|создан*|готово|сделано|已添加|已更新|已修复|已创建|已完成|完成了
修好|追加しました|更新しました|修正しました|作成しました|完了|추가했|수정했|완료|생성했
""",
    "person": """
i|me|my|im|ive|id|ich|mein*|je|mon|yo|mi|meu|мне|мой|моя
""",
    "you": """
you|your|youre|yours|du|dein*|vous|tu|usted|você|вы|ваш*|你|您|あなた
""",
    "general": """
by default|known|limitation|in general|always|every|any|all|each|normally|usually|by design
""",
    "because": """
because|since|so that|due to|otherwise|which means|so|weil|damit|porque|perché|parce que|потому
因为|ため|때문
""",
    "condition": """
when|if|unless|once|while|until|after|before|whenever|wenn|falls|bevor|nachdem|quand|si|cuando
quando|если|когда|如果|当|とき|場合|경우
""",
    "denial": """
does not|doesnt|cannot|cant|wont|will not|never|isnt|is not|arent|are not|dont|do not|no longer
nothing|only|alone|nicht|kein*|pas|jamais|nunca|não|mai|не|нельзя|不|没|ない|않|못
""",
    "lead": """
note|important|caveat|gotcha|warning|nuance|one caveat|the catch|lesson|bottom line|wichtig
importante|важно|урок|注意|重要|중요
""",
    "asks": """
can you|could you|would you|can we|could we|should we|should i|is it|is there|are there|do we
do you|does|did|what|why|how|which|when|where|who|whats|hows|kannst du|können wir|warum|wie|peux tu
pouvez vous|pourquoi|quel*|puedes|podrías|por qué|cómo|qué|pode|por que|como|puoi|perché|можешь
почему|как|что|зачем|什么|为什么|怎么|如何|吗|なぜ|どう|ですか|왜|어떻게|무엇
""",
    "manner": """
concise*|brief|briefer|short answer|short answers|shorter answers|verbose|tone|emoji*|apolog*
prais*|talk to me|answer me|your answers|your replies|your responses|explain less|answer in
reply in|respond in|fass dich|kurze antworten|duze|antworte auf|réponds|réponses courtes|respuestas
contesta|respostas|rispondi|risposte|отвечай|кратко|回答|简短|簡潔|返答|답변
""",
    "autonomy": """
ask me|asking me|ask first|check with me|confirm with me|without asking|dont ask|do not ask
stop asking|no need to ask|on your own|frag mich|frage mich|ohne rückfrage*|demande moi
sans demander|pregúntame|consúltame|sin preguntar|pergunte me|sem perguntar|chiedimi|senza chiedere
спроси меня|не спрашивай|先问我|问我|不用问|聞いて|確認してから|물어봐|묻지
""",
}
BEGINS: Mapping[str, str] = {
    "lasts": """
always|never|from now on|dont ever|do not ever|immer|nie|niemals|ab jetzt|toujours|jamais|désormais
siempre|nunca|sempre|mai|всегда|никогда|отныне|永远|总是|以后|从不|一律|必ず|常に|今後|항상|절대|앞으로
""",
    "corrects": """
no|nope|nah|wait|actually|wrong|nvm|stop|hold on|thats not|thats wrong|youre wrong|not quite|undo
revert|but|i meant|i said|nein|falsch|stopp|halt|non|faux|attends|espera|eso no|errado|sbagliato
aspetta|нет|неправильно|неверно|стоп|不对|错了|不是|等等|違う|いや|아니|틀렸
""",
    "tasks": CUES["task"],
    "asks": CUES["asks"],
    "points": """
this|that|it|these|those|they|thats|its|here|there|das|dies|es|ça|cela|ce|esto|eso|isso|isto|questo
это|этот|эта|这|那|它|これ|それ|この|その|이거|그거|이것|그것
""",
    "prefers": """
i prefer|we prefer|i always want|my preference|id rather|i would rather|ich bevorzuge|mir ist lieber
je préfère|nous préférons|prefiero|preferimos|prefiro|preferisco|preferiamo|предпочитаю|我偏好
我更喜欢|저는 선호
""",
    "uses": """
use|take|run|call|import|prefer|put|keep|nimm|benutze|verwende|utilise|usa|utiliza|используй|用
使用|使って|사용
""",
}
"""What a sentence may begin with."""
FILLERS = frozenset(
    """please can could you then and now ok okay so also lets yes go just to well oh hmm hey hi btw
    bitte und dann also y e por favor per favore и а ну пожалуйста 请""".split()
)
"""Words that may stand before the one that a sentence begins with."""
STOP = frozenset(
    """a an the and or of to in on at for is are was were be been it its this that these those with as
    by from i you we he she they me my your our us do does did not no so if but can will would should
    could have has had just also there here what which when then than some any all""".split()
)
