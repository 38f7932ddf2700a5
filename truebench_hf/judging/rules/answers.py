"""What counts as the answer: all of a response, or what is left without greeting, lead-in, title, closing words, notes.

Nobody can tell for sure which is meant, so that both ends are measured: `whole` holds all, `core` drops everything that
some reader would not count, and `fenced` is the content of the only code block. Whatever else somebody takes for the
answer lies between them. Where several versions are offered nothing is sure to count, and the core is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import regex

from truebench_hf.judging.rules.plain import BOLD_LINE, HEADING, RULE_LINE, tidy

_SHORT = 25  # words of one sentence that may be a comment
_SHORT_SIGNS = 60  # characters of it in a script without blanks
_TITLE = 12  # words of a title, a greeting or a signature
_LINES = 12  # lines of a block at either end that may be no part of the answer
_DROPPED = 3  # blocks at either end that may be no part of the answer
# Words by which a line speaks of the answer instead of being it, or greets, in the languages of TRUEBench.
_LEAD = regex.compile(
    r"\b(?:sure|certainly|of course|absolutely|okay|ok|here(?:'s|’s| is| are| you)|below|following|as requested|hello|hi|dear|"
    r"natürlich|gerne?|klar|selbstverständlich|hier (?:ist|sind|kommt)|nachfolgend|hallo|guten tag|sehr geehrte\w*|liebe[rs]?|"
    r"bien sûr|voici|voilà|certainement|ci-dessous|bonjour|cher|chère|"
    r"claro|por supuesto|aquí|a continuación|hola|estimad[oa]s?|querid[oa]s?|"
    r"com certeza|aqui (?:está|estão|vai)|segue|a seguir|olá|prezad[oa]s?|car[oaie]s?|"
    r"certo|certamente|ecco|di seguito|ciao|buongiorno|gentil[ei]|"
    r"oczywiście|jasne|oto|poniżej|proszę|dzień dobry|cześć|szanown\w+|drog[ai]|"
    r"конечно|вот|разумеется|ниже|здравствуйте|привет|уважаем\w+|дорог\w+|"
    r"chắc chắn|tất nhiên|dưới đây|đây là|vâng|xin chào|kính gửi|thân gửi|chào)\b"
    r"|물론|다음은|아래|알겠습니다|네[,.!]|안녕|여기|요청하신|もちろん|以下|承知|はい|かしこまり|こんにちは|こちら|当然|好的|以下是|下面|您好|你好|没问题",
    regex.IGNORECASE,
)
# Words with which notes begin that follow an answer, or that stand in a remark about it.
_NOTE = regex.compile(
    r"\b(?:notes?|n\.?b|p\.?s|word count|character count|total|explanation|changes?|key|why|tips?|translation|disclaimer|"
    r"let me know|hope|feel free|would you|if you|words|characters|sentences|source|"
    r"hinweise?|anmerkung(?:en)?|wörter|wortzahl|zeichen|sätze|erklärung|änderungen|falls|lass mich|gerne|"
    r"remarques?|nombre de mots|mots|caractères|phrases|explications?|n'hésitez|si vous|j'espère|"
    r"notas?|recuento|palabras|caracteres|frases|explicación|espero|si (?:quieres|necesitas|desea)|avísame|"
    r"observaç\w+|contagem|palavras|explicação|se (?:quiser|precisar)|avise|"
    r"note|nota|conteggio|parole|caratteri|frasi|spiegazione|fammi sapere|se (?:vuoi|hai)|spero|"
    r"uwag[ai]|liczba|słów|słowa|znaków|zdania?|wyjaśnienie|daj znać|jeśli|mam nadzieję|"
    r"примечани\w+|количество|слов\w*|символ\w*|предложени\w+|пояснени\w+|если|надеюсь|дайте знать|"
    r"lưu ý|ghi chú|số từ|số ký tự|giải thích|nếu bạn|hy vọng|hãy cho)\b"
    r"|참고|글자|단어|문장|설명|도움이|필요하|말씀|알려|注|文字数|文字|単語|説明|お役|必要|ご希望|いかが|字数|说明|解释|希望|如果|需要",
    regex.IGNORECASE,
)
_VERSION = regex.compile(
    r"^[^\p{L}\p{N}\n]{0,8}(?:option|version|variante?|variation|alternative|alternativa|draft|entwurf|vorschlag|proposition|opción|opcja|opção|"
    r"opzione|versión|versão|versione|wersja|wariant|propozycja|вариант|версия|phương án|phiên bản|lựa chọn|옵션|버전|방안|시안|제안|案|選択肢|"
    r"バージョン|版本|方案|选项)\s*(?:\d|[A-Ha-h]\b|[一二三]|one|two)",
    regex.IGNORECASE | regex.MULTILINE,
)
# "Summary: ...": marked as a label, or one of the words that name an answer.
_LABEL = regex.compile(
    r"[*_]{1,3}[^\n*_]{1,60}[:：]?[*_]{1,3}[ \t]*[:：]?[ \t]*(?=\S)|(?:\w+[ \t]){0,3}(?:answer|response|summary|translation|title|text|"
    r"result|subject|e-?mail|message|letter|slogan|poem|version|sentence|antwort|zusammenfassung|übersetzung|titel|ergebnis|betreff|"
    r"satz|réponse|résumé|traduction|titre|objet|texte|phrase|respuesta|resumen|traducción|título|asunto|texto|frase|resposta|"
    r"resumo|tradução|assunto|risposta|riassunto|traduzione|titolo|oggetto|testo|odpowiedź|streszczenie|podsumowanie|tłumaczenie|"
    r"tytuł|temat|tekst|zdanie|ответ|резюме|перевод|заголовок|тема|текст|письмо|trả lời|tóm tắt|bản dịch|tiêu đề|chủ đề|답변|답|요약|번역|"
    r"제목|回答|答え|要約|翻訳|件名|答案|摘要|总结|翻译|标题|主题)[ \t]*[:：][ \t]*(?=\S)",
    regex.IGNORECASE,
)
_EXCLAIMED = regex.compile(r"[^\n.!?。！？]{1,60}[.!?。！？]+\s*")
_BREAK = regex.compile(r"\n[ \t]*\n+")
_FENCED = regex.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", regex.MULTILINE | regex.DOTALL)
_ENDED = regex.compile(r"[.!?…。！？｡؟।][\"'”’»」』）)\]*_`]*\Z")
_SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")


@dataclass(frozen=True, slots=True)
class Answer:
    """The readings of a response. `fenced` is None where there is no code block, or more than one."""

    whole: str
    core: str
    fenced: str | None = None
    other_core: str | None = None  # the same where what seems a remark is the answer
    alone: tuple[str, ...] = ()  # what may be all that was asked for, such as a title above its explanation

    @property
    def readings(self) -> tuple[str, ...]:
        """The different ones, `whole` first."""
        return tuple(
            dict.fromkeys(one for one in (self.whole, self.core, self.other_core, self.fenced) if one is not None)
        )


@lru_cache(maxsize=8)  # several rules ask about the same response; few, as what visitors write is not to be kept
def answer(response: str) -> Answer:
    """The readings of a response."""
    whole = tidy(response)
    blocks = fenced_blocks(whole)
    fenced = tidy(blocks[0]) if len(blocks) == 1 else None
    if len(_VERSION.findall(whole)) > 1 or len(blocks) > 1:
        return Answer(whole, "", fenced)
    outside = tidy(_FENCED.sub("", whole)) if blocks else whole
    if fenced is not None and not any(map(str.isalnum, outside)):
        return Answer(whole, fenced, fenced)
    core = _core(outside)
    return Answer(whole, core, fenced, _core(outside, end_first=True), tuple(_alone(outside, core)))


def fenced_blocks(text: str) -> list[str]:
    """The contents of the fenced code blocks."""
    return [match[2] for match in _FENCED.finditer(text)]


def _core(whole: str, end_first: bool = False) -> str:
    """What is left without all that may be no part of the answer."""
    blocks = _between_rules([block for block in _BREAK.split(whole) if block.strip()])
    for drop in (_without_end, _without_begin) if end_first else (_without_begin, _without_end):
        blocks = drop(blocks) if blocks else []
    return _without_edges("\n\n".join(blocks))


def _alone(whole: str, core: str) -> list[str]:
    """Parts that may be asked for alone: a title that explanations follow, and each of several proposals in a list."""
    first, *rest = _BREAK.split(whole)
    title = (
        "\n" not in first and not HEADING.fullmatch(first) and not first.rstrip(" *_").endswith((",", "，", ":", "："))
    )
    found = [first] if rest and title and _is_title(first) and not _LEAD.match(first.lstrip(" *_")) else []
    items = core.split("\n")
    if len(items) > 1 and all(not line.strip() or line[0].isspace() or _listed([line]) for line in items):
        found.append(min((line for line in items if _listed([line])), key=len, default=core))
    return found


def _without_begin(blocks: list[str]) -> list[str]:
    for _ in range(_DROPPED):
        if _may_open(blocks[0]) and not all(map(_may_close, blocks[1:])):
            blocks = blocks[1:]
    return blocks[1:] if _is_remark(blocks[0]) and not all(map(_may_close, blocks[1:])) else blocks


def _without_end(blocks: list[str]) -> list[str]:
    blocks = _before_notes(blocks)
    for _ in range(_DROPPED):
        if _may_close(blocks[-1]) and not all(map(_may_open, blocks[:-1])):
            blocks = blocks[:-1]
    return blocks[:-1] if _is_remark(blocks[-1]) and not all(map(_may_open, blocks[:-1])) else blocks


def _between_rules(blocks: list[str]) -> list[str]:
    """The longest part between drawn lines, which often set the answer apart from comments."""
    parts: list[list[str]] = [[]]
    for block in blocks:
        lines = block.split("\n")
        if any(map(RULE_LINE.fullmatch, lines)):
            parts.append([])
            block = "\n".join(line for line in lines if not RULE_LINE.fullmatch(line))
        if block.strip():
            parts[-1].append(block)
    return max(parts, key=lambda part: sum(map(len, part)))


def _before_notes(blocks: list[str]) -> list[str]:
    """The blocks before a title that opens notes."""
    for number, block in enumerate(blocks[1:], 1):
        first = block.split("\n")[0]
        titled = HEADING.fullmatch(first) or BOLD_LINE.match(first) or first.rstrip().endswith((":", "："))
        if titled and _words(first) <= _TITLE and _NOTE.search(first):
            return blocks[:number]
    return blocks


def _may_open(block: str) -> bool:
    """Whether a block may be title, greeting or lead-in."""
    lines = block.split("\n")
    if len(lines) > _LINES:
        return False
    last = lines[-1].rstrip(" *_")
    if last.endswith((":", "：")) or all(map(_is_title, lines)):
        return True
    return len(lines) == 1 and _words(block) <= 2 * _SHORT and bool(_LEAD.search(block))


def _may_close(block: str) -> bool:
    """Whether a block may be signature, closing words or a remark on the answer."""
    lines = block.split("\n")
    if len(lines) > _LINES:
        return False
    if all(_words(line) <= _TITLE and not _ENDED.search(line) for line in lines) and not _listed(lines):
        return True
    return _words(block) <= 2 * _SHORT and bool(_NOTE.search(block))


def _is_title(line: str) -> bool:
    if HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line):
        return True
    return _words(line) <= _TITLE and not _ENDED.search(line) and not _listed([line])


def _is_remark(block: str) -> bool:
    """Whether a block is one sentence that may speak of the answer."""
    return "\n" not in block and _words(block) <= _SHORT and not _listed([block])


def _listed(lines: list[str]) -> bool:
    return any(regex.match(r"\s*(?:[-*+][ \t]+|•\s*|\d{1,3}[.)、]\s*)\S", line) for line in lines)


def _without_edges(text: str) -> str:
    """A text without a title or lead-in in its first line, and without a remark in its last."""
    lines = text.split("\n")
    if len(lines) > 1 and _opens(lines[0], lines[1]):
        lines = lines[1:]
    if len(lines) > 1 and _words(lines[-1]) <= _SHORT and _NOTE.search(lines[-1]) and not _listed(lines[-1:]):
        lines = lines[:-1]
    text = "\n".join(lines).strip()
    if (said := _EXCLAIMED.match(text)) and said.end() < len(text) and _LEAD.match(said.group().lstrip(" *_")):
        text = text[said.end() :]
    if (said := _LABEL.match(text)) and not _listed([text]) and said.end() < len(text):
        text = text[said.end() :]
    return text.strip()


def _opens(line: str, behind: str) -> bool:
    """Whether the first line may be title or lead-in of what stands behind it."""
    if HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line) or line.rstrip(" *_").endswith((":", "：")):
        return True
    if _is_title(line) and not _is_title(behind):
        return True
    return _words(line) <= _SHORT and bool(_LEAD.match(line.lstrip(" *_\"'“")))


def _words(text: str) -> int:
    """About how many words a text has: characters of scripts without blanks count as fractions of one."""
    return len(text.split()) + len(_SIGNS.findall(text)) * _SHORT // _SHORT_SIGNS
