"""What counts as the answer: all of a response, or what is left without greeting, lead-in, title, closing words, notes.

Nobody can tell for sure which is meant, so that both ends are measured: `whole` holds all, `core` drops everything that
some reader would not count, and `fenced` is the content of the only code block. Whatever else somebody takes for the
answer lies between them. Where several versions are offered nothing is sure to count, and the core is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import regex

from truebench_hf.judging.rules.measuring.plain_text import HEADING, RULE_LINE, tidy
from truebench_hf.judging.rules.measuring.remarks import (
    closes,
    has_item,
    heads_notes,
    is_lead,
    is_note,
    is_remark,
    is_title,
    may_close,
    may_open,
    opens,
)  # fmt: skip

_DROPPED = 3  # blocks at either end that may be no part of the answer
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
_PART = regex.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+\S[^\n]*"  # a heading
    r"|(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[:：]?[ \t]*"  # a line in bold letters
    r"|[\[【〈《][^\]】〉》\n]{1,40}[\]】〉》][^\n]*"
    r"|(?:\*\*|__)?[^\W\d_][^\n.!?:：*_|]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?(?:[ \t]+[^\n]*)?)$",  # "Summary: ..."
    regex.MULTILINE,
)
_COUNTED = regex.compile(r"\s*[(\[（][^()\[\]（）\n]{0,40}[)\]）][*_]*\s*\Z")  # "... the end. (12 words)"
_BREAK = regex.compile(r"\n[ \t]*\n+")
_FENCED = regex.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1[`~]*[ \t]*$", regex.MULTILINE | regex.DOTALL)


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


def blocks(response: str) -> list[str]:
    """What blank lines set apart in a response, each of which may be a work of its own; without titles, leads and notes."""
    every = [block for block in _BREAK.split(tidy(response)) if any(map(str.isalnum, block))]
    return [block for block in every if not (may_open(block) or is_note(block))] if len(every) > 1 else []


def in_parts(response: str) -> bool:
    """Whether a response is several named parts, such as a translation and a summary: two lines name what follows them.

    The readings hold all of it; what is asked of one such part can only be measured of the part.
    """
    found = _PART.finditer(response)
    return next(found, None) is not None and next(found, None) is not None


def _core(whole: str, end_first: bool = False) -> str:
    """What is left without all that may be no part of the answer."""
    blocks = _between_rules([block for block in _BREAK.split(whole) if block.strip()])
    for drop in (_without_end, _without_begin) if end_first else (_without_begin, _without_end):
        blocks = drop(blocks) if blocks else []
    return _without_edges("\n\n".join(blocks))


def _without_note(found: regex.Match[str]) -> str:
    return "" if is_note(found.group()) else found.group()


def _alone(whole: str, core: str) -> list[str]:
    """Parts that may be asked for alone: a title that explanations follow, and each of several proposals in a list."""
    first, *rest = _BREAK.split(whole)
    title = (
        "\n" not in first and not HEADING.fullmatch(first) and not first.rstrip(" *_").endswith((",", "，", ":", "："))
    )
    found = [first] if rest and title and is_title(first) and not is_lead(first) else []
    items = core.split("\n")
    if len(items) > 1 and all(not line.strip() or line[0].isspace() or has_item([line]) for line in items):
        found.append(min((line for line in items if has_item([line])), key=len, default=core))
    return found


def _without_begin(blocks: list[str]) -> list[str]:
    for _ in range(_DROPPED):
        if may_open(blocks[0]) and not all(map(may_close, blocks[1:])):
            blocks = blocks[1:]
    return blocks[1:] if is_remark(blocks[0]) and not all(map(may_close, blocks[1:])) else blocks


def _without_end(blocks: list[str]) -> list[str]:
    blocks = _before_notes(blocks)
    for _ in range(_DROPPED):
        if may_close(blocks[-1]) and not all(map(may_open, blocks[:-1])):
            blocks = blocks[:-1]
    return blocks[:-1] if is_remark(blocks[-1]) and not all(map(may_open, blocks[:-1])) else blocks


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
    return next((blocks[:number] for number, block in enumerate(blocks) if number and heads_notes(block)), blocks)


def _without_edges(text: str) -> str:
    """A text without a title or lead-in in its first line, and without a remark in its last."""
    lines = text.split("\n")
    if len(lines) > 1 and opens(lines[0], lines[1]):
        lines = lines[1:]
    if len(lines) > 1 and closes(lines[-1]):
        lines = lines[:-1]
    text = _COUNTED.sub(_without_note, "\n".join(lines).strip())
    if (said := _EXCLAIMED.match(text)) and said.end() < len(text) and is_lead(said.group()):
        text = text[said.end() :]
    if (said := _LABEL.match(text)) and not has_item([text]) and said.end() < len(text):
        text = text[said.end() :]
    return text.strip()
