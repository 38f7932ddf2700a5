"""Whether an object is the judge's own verdict, by the words around it: "the response itself says {...}" makes it none."""

from __future__ import annotations

import re

from truebench_hf.judging.keys import KEY

# Verbs by which a judge reports somebody else's words, and whose words they are.
_SAYS = (
    r"says?|said|saying|escribió|dijo|schrieb|scrisse|escreveu|napisał\w*|написал\w*|claim\w*|states?|stated|assert\w*|contain\w*|includ\w*|embed\w*|inject\w*|writes?|wrote|reads|ends? (?:with|in)|"
    r"clos\w+ with|begins? with|starts? with|prints?|quot\w*|declar\w*|announc\w*|tells?|told|asks?|asked|instruct\w*|demands?|"
    r"pretend\w*|suppl\w*|presents?|cop(?:y|ies|ied)|cit(?:e|es|o|ez|ação)|zitiere\w*|цитирую|cytuję|trích|itself|verbatim|sagt|behauptet|schreibt|steht|enthält|endet|"
    r"zitiert|dit|affirme|prétend|déclare|contient|écrit|termine|dice|afirma|declara|contiene|escribe|termina|diz|contém|"
    r"escreve|sostiene|afferma|dichiara|scrive|mówi|twierdzi|zawiera|pisze|podaje|kończy|говорит|утверждает|содержит|пишет|"
    r"заявляет|заканчивается|nói|khẳng định|tuyên bố|viết|chứa|kết thúc"
)
_QUOTES = re.compile(
    rf"\b(?:{_SAYS})\b|声称|声稱|宣称|写道|说|說|包含|自称|结尾|引用|と書|書か|と述べ|主張|と言|含まれ|終わ|末尾|라고|주장|말한|적혀|포함|끝납|인용",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    r"\b(?:responses?|repl(?:y|ies)|assistant|model|text|antwort|réponse|respuesta|resposta|risposta|odpowied\w+|ответ\w*|câu trả lời)\b|"
    r"回答|回复|应答|応答|응답|답변",
    re.IGNORECASE,
)
# What a judge calls its own verdict, or announces it with; the weaker words only where nothing else is said.
_VERDICT = re.compile(
    r"\b(?:verdicts?|results?|judge?ments?|judging|decisions?|conclusions?|evaluations?|assessments?|ratings?|gradings?|findings?|"
    r"(?:end|gesamt)?urteile?|(?:end)?ergebnis\w*|(?:end)?bewertung\w*|verdikte?|entscheidung\w*|fazit|résultats?|jugements?|"
    r"évaluations?|appréciation|décisions?|veredictos?|vereditos?|resultados?|evaluación|evaluaciones|avaliaç\w+|conclusión|conclusão|"
    r"decisión|decisão|juicios?|risultat[oi]|verdett[oi]|valutazion[ei]|giudiz\w+|conclusione|werdykty?|wyniki?|ocen[ay]|wniosek|"
    r"вердикты?|результаты?|итоги?|оценк[аи]|выводы?|заключение|решение|kết quả|kết luận|phán quyết|đánh giá|"
    r"in summary|in conclusion|summing up|overall|therefore|thus|hence|accordingly|above|analysis|as follows|the following|below|zusammen\w*|insgesamt|"
    r"wie folgt|folgend\w*|en résumé|en conclusion|comme suit|suivante?s?|en resumen|en conclusión|como sigue|siguientes?|em resumo|"
    r"seguintes?|in sintesi|seguent[ei]|come segue|podsumowując|następując\w*|итак|следующ\w+|tóm lại|như sau|"
    r"my|mein\w*|mon|ma|mes|mis?|meus?|minhas?|mio|mia|miei|mój|moja|moje|мо[йяи]|của tôi)\b|"
    r"判定|结果|結果|结论|結論|评估|评价|評価|裁决|总结|総合|最终|最終|综上|如下|以下|次のとおり|次の通り|我的|私の|판정|결과|평가|결론|최종|다음|제",
    re.IGNORECASE,
)
_WEAK = re.compile(
    r"\A\W*final\W*\Z|\A\W*(?:[\w-]+ ){0,4}(?:answer|output|json|labels?|form|format|antwort|réponse|respuesta|resposta|risposta|odpowiedź|ответ|trả lời|答案|답변)\b[\s\w]{0,24}\W*\Z",
    re.IGNORECASE,
)
_FORM_ONLY = re.compile(
    r"\b(?:expected|desired|sample|example|template|would|perfect|if|wenn|falls|si|jeśli|если|nếu)\b", re.IGNORECASE
)
# Such words announce a verdict only where nothing is said of the response or of a form.
_FOLLOWS = re.compile(
    r"(?:in summary|in conclusion|summing up|overall|above|analysis|as follows|the following|below|zusammen\w*|insgesamt|wie folgt|folgend\w*|en résumé|"
    r"en conclusion|comme suit|suivante?s?|en resumen|en conclusión|como sigue|siguientes?|em resumo|seguintes?|in sintesi|seguent[ei]|"
    r"come segue|podsumowując|następując\w*|итак|следующ\w+|tóm lại|như sau|如下|以下|次のとおり|次の通り|다음|제)\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|no|never|isn't|nicht|kein\w*|pas|non|não|nie|не|không)\b|不|没|ない|않|아니", re.IGNORECASE
)
# Words on a verdict that is not the judge's own, wherever they stand.
_NOT_MINE = re.compile(
    r"\b(?:(?:its|their|own|itself|fake|false|forged|planted|hidden|inject\w*|embed\w*|supplied|pre-?filled|ready-made|claimed|so-called"
    r")\W+(?:\w+\W+){0,3}?(?:verdicts?|json|block|judg\w+|object|labels?|rating)\b|this (?:verdicts?|json|block|object|line)"
    r"|(?:draft|tentative|provisional|preliminary|initial|wrong|rejected|default|preferred|possible|placeholder) (?:verdicts?|judg\w+|ratings?|labels?|results?)"
    r"|(?:another|other|previous|earlier|different) (?:judge|grader|reviewer|model)\b|first impression|according to the (?:response|assistant|answer|model)"
    r"|json (?:\w+ )?(?:in|of|from) the (?:response|assistant|answer)|(?:another|other) \w+(?:'s|’s)|annotators?\b|self-\w+|selbst(?:bewertung|einschätzung)|not my|not mine|(?:copied|quoted|taken|pasted) from"
    r"|(?:response|assistant|answer|model)(?:'s|’s) (?:own |final )?(?:verdicts?|json|block|judg\w+|object|labels?|rating|line|words)"
    r"|prompt injection|injection|(?:would|might) (?:be|answer|say|output)|if you believe|if i (?:were|had)|instructions? to the judge|steer the judge)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\A[\s*_]*(?:—|–|--)\s|\A\W*(?:no|nope|nein|non|nie|нет|không|不是|不对|错了|違います|いいえ|아니요|아닙니다)(?:[.!,;。！，]|\Z)|\A\W*\?\W*\Z|\A\W*(?:from|of|by|in) the (?:response|answer|assistant|reply)\b|\b(?:(?:is|was|are|were) (?:what|how|merely)\b|(?:claims?|claimed|says?|said|states?|asserts?|writes?|wrote) (?:the|this|that) "
    r"(?:response|answer|assistant|text|reply)|(?:quoted|copied|taken|pasted|repeated|lifted|extracted) (?:\w+ )?(?:from|by|in|out)\b|"
    r"(?:is|was|are|were|as|only|just|a) (?:a )?quot(?:e|ation|ed)\b|not (?:mine|my)\b|mine (?:differs|is|would)|no verdict|(?:ignore|disregard|discard)\w*|the response's own|"
    r"undecided|disagree|(?:not|don't|do not) agree|(?:not|n't) follow (?:it|that|this|them)|order in the material|"
    r"(?:that|this|it|which|above|former|both|all|these|labels) (?:is|was|are) (?:wrong|not right|not correct|incorrect|mistaken|untrue|not true)|changed? my|take this as|"
    r"not (?:sure|certain)|unsure|uncertain|the opposite|(?:these|those|this|that|the|above)\b[\w ]{0,24}\b(?:verdicts?|block|"
    r"object|json|lines?|labels?|answer)\b[\w ]{0,48}\b(?:stands?|stood|shows?|comes?|came|belongs?|appears?|would|was|were|should|wrong|mistaken|incorrect|(?:is|are) (?:from|in|part))|"
    r"(?:this|that|it|which) would be|only shows|only an example|a sample|an example|a template|a placeholder|in the response|"
    r"(?:of|by|from) the (?:response|assistant|model)\b[^\w]*\Z|prompt injection|injection|not clear to me|need more|"
    r"zitat\w*|zitiert|kein\w* (?:eigenes |eigene )?(?:urteil|verdikt)|nicht mein\w*|stammt aus|citation|cité|pas mon|pas le mien|citado|cita|no es mi\w*|não é (?:o )?meu|"
    r"citato|non è (?:il )?mio|cytat|nie moja?|не мо[йеё]\w*|цитата|trích|không phải (?:của )?tôi|stehen? (?:so |es )?in der antwort|steht es)"
    r"\b|引用|인용|不是我的|私の判定では|回答自己|応答自身|私の判断では|제 판단이 아|응답에 (?:있|적)|決められ",
    re.IGNORECASE,
)
_RETRACTS = re.compile(
    r"\b(?:wait|(?<![\w ])actually(?! counted)|correction|on second (?:thoughts?|look)|on reflection|(?:scratch|strike) that|never ?mind|hold on|hmm+|just kidding|i withdraw|i guess|an? (?:wild |mere |pure )?guess|coin flip|made (?:this|that|it) up|(?:flip|invert|swap) (?:both|them|these|all|the labels)|i was wrong|(?:my|a|made) mistakes?|retract\w*|"
    r"oops|sorry|apolog\w+|i take (?:that|it) back|revis\w+|reconsider\w*|let me (?:verify|check|re\w+)|i will (?:now )?(?:check|verify|judge|re\w+)|moment mal|doch nicht|korrektur|irrtum|entschuldig\w*|attendez|erratum|"
    r"pardon|désolé\w*|corrección|perdón|correção|desculp\w*|correzione|scusa\w*|korekta|sprostowanie|błędn\w+|przepraszam|"
    r"поправка|исправление|извин\w+|đính chính|xin lỗi|(?:ein|mein) fehler|une erreur|un error|um erro|un errore|jest błąd|ошибка)\b|"
    r"更正|修正|訂正|誤り|错误|錯誤|有误|抱歉|对不起|すみません|申し訳|정정|오류|죄송",
    re.IGNORECASE,
)
# A criterion that is said to fail, in words, behind an object that passes them all.
_FAILS = re.compile(
    r"\b(?:(?:is|are|was|were) (?:not (?:met|satisfied|fulfilled)|violated|missed|unmet)|(?:does|do|did) not (?:pass|meet|hold|satisfy|fulfill?)|(?:neither|none)\b[^.\n]{0,40}? (?:is|are|was|were) (?:met|satisfied|fulfilled)|(?<!nothing )(?<!nor )(?<!never )(?<!not )violates (?:criteri\w+|it|both|them|the|this|that|all)|all violated|doesn't (?:pass|meet)|fails?|failed|"
    r"nicht (?:erfüllt|eingehalten|bestanden)|n'est pas (?:rempli|respecté)\w*|no (?:se )?cumple|não (?:é )?cumpr\w+|non è (?:soddisfatto|rispettato)|"
    r"nie jest spełnion\w+|не (?:выполнен|соблюд[её]н)\w*|không (?:đạt|đáp ứng))\b|不符合|不满足|未满足|満たしていない|満たされていません|충족하지|충족되지",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"\b(?:(?:i|we)(?: am| will|'m|'ll)? (?:can ?not|can't|could not|couldn't|unable|refuse|decline|not able|won't|will not|not going)\b[^.\n]{0,40}?\b(?:judge|decide|"
    r"tell|say|assess|evaluate|give|offer|verdicts?|grade|determine)|unable to (?:judge|decide|assess|evaluate)|no verdict\b|not judged|refuse to judge|(?:i|we) (?:have not|haven't|did not|didn't|could not|couldn't) (?:read|see|open|access|view) (?:the|this) (?:response|answer|reply|conversation)|"
    r"kann (?:das |es |ich )?(?:nicht|kein)\w*\b[^.\n]{0,30}\b(?:beurteilen|urteil|entscheiden|bewerten)|nicht beurteilen|ne (?:peux|puis) pas (?:juger|évaluer)|"
    r"no puedo (?:juzgar|evaluar|decidir)|não posso (?:julgar|avaliar)|non posso (?:giudicare|valutare)|nie mogę (?:ocenić|osądzić)|не могу (?:оценить|судить|решить)|"
    r"không thể (?:đánh giá|phán))|无法(?:判断|评估|评价)|判断でき(?:ません|ない)|評価できません|판단할 수 없|평가할 수 없",
    re.IGNORECASE,
)
_OWN_TAGS = r"(?:final_)?(?:answers?|verdicts?|output|json|results?|judge?ments?|evaluation|solution|think|thinking|reasoning|analysis)"
_ROLE = re.compile(
    r"<\|(?:start_header_id\|>\s*)?(?:user|system|tool)\b|<start_of_turn>user|\[INST\]|<\|im_start\|>(?:user|system)",
    re.IGNORECASE,
)
_ASIDES = re.compile(
    r"\b(?:as (?:stated|said|asked|requested|required|noted)\b|for (?:the|this) response\b)", re.IGNORECASE
)
_ITEM = re.compile(rf"[*_ #`]*(?:\d+[.)]|[-•+|]|{KEY})", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“„«「][^\"“”»」\n]{1,300}[\"”“»」]")
_WORDS = re.compile(r"[^\W\d_]{2}")
_OPEN = re.compile(
    r"\b(?:is|are|says|sees?|shows?|reads|with|gets?|finds?|has|have|ist|sind|est|sont|es|son|é|è)\W*\Z", re.IGNORECASE
)
_NEXT = re.compile(
    r"\b(?:following|folgend\w*|suivante?s?|siguientes?|seguintes?|seguent[ei]|następując\w*|следующ\w+|sau đây)\b|次の|以下|다음",
    re.IGNORECASE,
)
_THESE = re.compile(r"\b(?:these|the following|such) (?:lines?|blocks?|words?|verdicts?|statements?)\b", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)?\s*(?:json\w*)?[-=_*# ]*\Z|\s*(?:```|~~~)", re.IGNORECASE)
_SO = re.compile(
    r"\b(?:so(?! that)|therefore|thus|hence|daher|donc|luego|portanto|quindi|więc|поэтому|vậy)\b|因此|所以|따라서|したがって",
    re.IGNORECASE,
)
_AROUND = " \t\r*_.!。()[]{}:#$`"
_LIST = re.compile(r"\A[ \t]*(?:[-*•+]|\d{1,6}[.):])?[ \t]*\Z")


def quoting(before: str) -> bool:
    """Whether the sentence that ends where `before` ends reports somebody else's words."""
    return _QUOTES.search(_last_sentence(before)) is not None


def _goes_on(before: str) -> bool:
    """Whether the last paragraph holds an item of a list, whose text may run over several lines."""
    lines = before.rstrip().rpartition("\n\n")[2].split("\n")
    return lines[-1].lstrip()[:1].islower() and ":" not in lines[-1] and any(map(_ITEM.match, lines[-20:]))


def _closed(line: str) -> bool:
    """Whether a line ends as a sentence, a formula, a tag or an object does."""
    return line.rstrip(" *_`\"'“”’»«)\n")[-1:] in tuple(".!?。！？$|>}]") or _FENCE.match(line) is not None


def leads_to_quotation(line: str) -> bool:
    """Whether a line leads over to the words of the response."""
    leads = line.rstrip(" *_`")[-1:] in tuple(":：") or _THESE.search(line) is not None
    return leads and _SOURCE.search(line) is not None and not _is_mine(line.strip())


def says_fail(after: str) -> bool:
    """Whether words behind an object say that something fails."""
    return _FAILS.search(after[:400]) is not None


def concludes_fail(before: str) -> bool:
    """Whether the sentence that ends where `before` ends comes to the conclusion that something fails."""
    parts = _SO.split(_QUOTED.sub("", _last_sentence(before)))
    return len(parts) > 1 and says_fail(parts[-1])


def is_quotation(before: str, after: str, framed: bool) -> str:
    """Why an object between these two texts may not be the judge's verdict, "" where nothing says so."""
    line, rest = before[before.rfind("\n") + 1 :], after.partition("\n")[0]
    if (
        line.lstrip().startswith(">")
        or line.rstrip()[-1:] in tuple("\"'“„«「")
        or _in_tags(before, after)
        or _ROLE.search(before[-400:])
        or before.count('"""') % 2
    ):
        return "the JSON object stands in a quotation"
    line = re.sub(rf"<{_OWN_TAGS}>", "", line)
    inline = not (_LIST.match(line) or not line.strip(_AROUND))
    lead = _last_sentence(line if inline else before)
    ended, reported = lead[-1:] in tuple(".!?。！？"), _QUOTES.search(lead) is not None
    mine, last = _is_mine(lead), before.rstrip().rpartition("\n")[2]
    # A line that leads over to something else than the verdict; a reason in a list may end as it likes.
    item = _ITEM.match(last) is not None or (_goes_on(before) and not reported and not _SOURCE.search(last))
    told = reported or _SOURCE.search(lead) is not None or not item
    leads = not inline and _WORDS.search(last) is not None and not (_closed(last) or (item and not _OPEN.search(last)))
    leads = leads or (lead.rstrip(" *_`\n")[-1:] in tuple(":：,，") and told)
    leads = leads or (ended and not item and told and reported and _NEXT.search(lead) is not None)
    if not mine and (_NOT_MINE.search(lead) or leads or (inline and reported and not (ended and framed))):
        return "the JSON object is introduced as a quotation"
    if _REFUSES.search(_QUOTED.sub("", before[-600:])) or _REFUSES.search(after[:300]):
        return "the judge says that it gives no verdict"
    tail = after.strip()[:300]
    if _TAIL.search(tail):
        return "the JSON object is said to be a quotation"
    if _RETRACTS.search(tail):
        return "what follows the JSON object takes it back"
    if inline and not (mine or ended or framed):
        return "the JSON object is neither on lines of its own nor announced as the verdict"
    if rest.strip(_AROUND) and not _begins(rest, mine or ended or not inline):
        return "the JSON object stands within a sentence"
    return ""


def _is_mine(lead: str) -> bool:
    """Whether a sentence announces the judge's own verdict: "So my final verdict, as JSON, is:"."""
    clause = re.split(r"[,;，；、](?=\s|$)", lead.rstrip(" :：=*_`,"))[-1]
    if _VERDICT.search(clause) is None:
        clause = lead
    clause = _ASIDES.sub("", clause)
    if _NOT_MINE.search(lead) or _QUOTES.search(clause) or _DENIED.search(clause):
        return False
    if _VERDICT.search(clause):
        told = _VERDICT.search(clause).group().casefold()  # type: ignore[union-attr]
        return not (_FORM_ONLY.search(clause) and _FOLLOWS.match(told)) and not (
            _SOURCE.search(clause) and _FOLLOWS.match(told)
        )
    # Weaker words announce a verdict only as a heading or before a colon: "Answer:", not "The answer ends in".
    heads = (
        lead.lstrip()[:1] in ("#", "*")
        or lead.rstrip(" *_`")[-1:] in tuple(":：=")
        or re.search(r"\banswer is\Z", clause) is not None
    )
    return heads and _WEAK.match(clause) is not None and _FORM_ONLY.search(clause) is None


def _in_tags(before: str, after: str) -> bool:
    closed = {tag.casefold() for tag in re.findall(r"</([\w-]{1,40})>", after[:4000])}
    opened = [tag.casefold() for tag in re.findall(r"<([\w-]{1,40})>", before[-4000:])]
    return any(tag in closed and not re.fullmatch(_OWN_TAGS, tag) for tag in opened)


def _begins(rest: str, free: bool) -> bool:
    """Whether what follows on the line is a sentence of its own."""
    bare = rest.lstrip(" \t*_)]}`")
    return free and (bare[:1] in ".;!。" or bare[:1].isupper() or not bare[:1].isascii())


def _last_sentence(text: str) -> str:
    """The last sentence of a text, its full stop included."""
    text = text[-500:].rstrip()
    ends = [
        match.end()
        for match in re.finditer(
            r"[.!?。！？]['\"”)*]*(?=\s|[A-Z\u3000-\uffff])|\n[ \t]*\n|\n(?=[ \t]*(?:\d+[.)]|[-*#|]))", text[:-1]
        )
    ]
    return text[ends[-1] :].strip() if ends else text.strip()
