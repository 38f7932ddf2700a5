"""Lines around an answer that may be no part of it: greetings, lead-ins, titles, signatures, notes, closing words.

Told by their shape, and by words of the languages of TRUEBench. Whoever reads them may count them or not.
"""

from __future__ import annotations

import regex

from truebench_hf.judging.rules.measuring.plain_text import BOLD_LINE, HEADING

_SHORT = 25  # words of one sentence that may be a comment
_SHORT_SIGNS = 60  # characters of it in a script without blanks
_TITLE = 12  # words of a title, a greeting or a signature
_LINES = 12  # lines of a block at either end that may be no part of the answer
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
_ENDED = regex.compile(r"[.!?…。！？｡؟।][\"'”’»」』）)\]*_`]*\Z")
_SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")


def may_open(block: str) -> bool:
    """Whether a block may be title, greeting or lead-in."""
    lines = block.split("\n")
    if len(lines) > _LINES:
        return False
    last = lines[-1].rstrip(" *_")
    if last.endswith((":", "：")) or all(map(is_title, lines)):
        return True
    return len(lines) == 1 and _words(block) <= 2 * _SHORT and bool(_LEAD.search(block))


def may_close(block: str) -> bool:
    """Whether a block may be signature, closing words or a remark on the answer."""
    lines = block.split("\n")
    if len(lines) > _LINES:
        return False
    if all(_words(line) <= _TITLE and not _ENDED.search(line) for line in lines) and not has_item(lines):
        return True
    return is_note(block)


def is_title(line: str) -> bool:
    if HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line):
        return True
    return _words(line) <= _TITLE and not _ENDED.search(line) and not has_item([line])


def is_remark(block: str) -> bool:
    """Whether a block is one sentence that may speak of the answer."""
    return "\n" not in block and _words(block) <= _SHORT and not has_item([block])


def has_item(lines: list[str]) -> bool:
    return any(regex.match(r"\s*(?:[-*+][ \t]+|•\s*|\d{1,3}[.)、]\s*)\S", line) for line in lines)


def opens(line: str, behind: str) -> bool:
    """Whether the first line may be title or lead-in of what stands behind it."""
    if HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line) or line.rstrip(" *_").endswith((":", "：")):
        return True
    if is_title(line) and not is_title(behind):
        return True
    return _words(line) <= _SHORT and bool(_LEAD.match(line.lstrip(" *_\"'“")))


def closes(line: str) -> bool:
    """Whether the last line may be a remark on what stands before it."""
    return _words(line) <= _SHORT and bool(_NOTE.search(line)) and not has_item([line])


def heads_notes(block: str) -> bool:
    """Whether a block begins with a title that opens notes."""
    first = block.split("\n")[0]
    titled = HEADING.fullmatch(first) or BOLD_LINE.match(first) or first.rstrip().endswith((":", "："))
    return bool(titled and _words(first) <= _TITLE and _NOTE.search(first))


def is_note(block: str) -> bool:
    """Whether a block may be a remark on what stands before it, or an offer."""
    return _words(block) <= 2 * _SHORT and bool(_NOTE.search(block))


def leads_on(line: str) -> bool:
    """Whether a line announces what stands behind it."""
    return line.rstrip(" *_").endswith((":", "：")) and bool(_LEAD.search(line))


def is_lead(text: str) -> bool:
    """Whether a text begins with words that lead to an answer."""
    return bool(_LEAD.match(text.lstrip(" *_")))


def _words(text: str) -> int:
    """About how many words a text has: characters of scripts without blanks count as fractions of one."""
    return len(text.split()) + len(_SIGNS.findall(text)) * _SHORT // _SHORT_SIGNS
