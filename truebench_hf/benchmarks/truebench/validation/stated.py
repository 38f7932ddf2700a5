"""What a criterion demands that its instruction states to the letter: a number of something, a language, a keyword.

The criteria of TRUEBench are in English and its instructions in twelve languages. What stands here is meant to miss
much and to be right where it finds something: edits of criteria rest on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

# How the languages of TRUEBench are named in each other: beginnings of words, and whole ones where there is no blank.
LANGUAGES = {
    "English": "english|영어|영문|英語|英语|英文|angielsk|englisch|ingl[eéê]s|anglais|английск|tiếng anh",
    "Korean": "korean|한국어|한글|국문|韓国語|韩语|韩文|韩国语|koreańsk|koreanisch|corean|coréen|корейск|tiếng hàn",
    "Japanese": "japan|일본어|일어|日本語|日语|日文|japońsk|japon|giappon|японск|tiếng nhật",
    "Chinese": "chin|중국어|중문|中国語|中文|汉语|chińsk|cinese|китайск|tiếng trung",
    "Polish": "polish|폴란드어|ポーランド語|波兰语|polsk|polnisch|pola[cn]|polon|польск|tiếng ba lan",
    "German": "german|독일어|ドイツ語|德语|德文|niemieck|deutsch|alem[aáã]|allemand|tedesc|немецк|tiếng đức",
    "Portuguese": "portugu|포르투갈어|ポルトガル語|葡萄牙语|portugal|portoghes|португальск|tiếng bồ",
    "Spanish": "spanish|스페인어|スペイン語|西班牙语|hiszpańsk|spanisch|español|castellano|espanhol|espagnol|spagnol|испанск|tiếng tây ban nha",
    "French": "french|프랑스어|불어|フランス語|法语|法文|francusk|französisch|franc[eé]s|francês|français|французск|tiếng pháp",
    "Italian": "ital|이탈리아어|이태리어|イタリア語|意大利语|włosk|итальянск|tiếng ý",
    "Russian": "russ|러시아어|ロシア語|俄语|rosyjsk|rus[oa]|русск|tiếng nga",
    "Vietnamese": "vietnam|베트남어|ベトナム語|越南语|wietnamsk|вьетнамск|tiếng việt",
}
_NAMED = {name: re.compile(rf"(?:\b|(?<=[^\x00-\x7f]))(?:{forms})") for name, forms in LANGUAGES.items()}
_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
# The word for 2 to 10 in the other languages; digits are looked for in all of them.
_SPELT = {
    2: "dwa|dwie|dwóch|zwei|dos|deux|due|dois|duas|дв[аеу]|두|둘|二|两|hai",
    3: "trzy|trzech|drei|tres|trois|tre|três|тр[иеё]|세|셋|三|ba",
    4: "cztery|czterech|vier|cuatro|quatre|quattro|quatro|четыр|네|넷|四|bốn",
    5: "pięć|pięciu|fünf|cinco|cinq|cinque|пят[ьи]|다섯|五|năm",
    6: "sześć|sześciu|sechs|seis|six|sei|шест[ьи]|여섯|六|sáu",
    7: "siedem|siedmiu|sieben|siete|sept|sette|sete|сем[ьи]|일곱|七|bảy",
    8: "osiem|ośmiu|acht|ocho|huit|otto|oito|восьм|восемь|여덟|八|tám",
    9: "dziewięć|dziewięciu|neun|nueve|neuf|nove|девят[ьи]|아홉|九|chín",
    10: "dziesięć|dziesięciu|zehn|diez|dix|dieci|dez|десят[ьи]|열|十|mười",
}
_UNITS = {
    "word": "word|단어|語|单词|词|słow|słów|wort|wört|palabra|mot|parol|palavr|слов|từ|chữ",
    "character": "character|글자|자|文字|字|znak|zeichen|caracter|carácter|caractère|caratter|символ|знак|ký tự|chữ",
    "letter": "letter|글자|자|文字|字|liter|buchstabe|letra|lettre|letter|букв|chữ",
    "sentence": "sentence|문장|文|句|zdan|zdań|satz|sätz|frase|oraci|phrase|frasi|предложени|câu",
    "line": "line|줄|라인|행|行|lini|wiersz|zeile|línea|renglon|ligne|rig[ah]|linha|строк|dòng",
    "paragraph": "paragraph|문단|단락|段|akapit|absatz|absätz|párrafo|paragraphe|paragraf|parágrafo|абзац|đoạn",
    "slide": "slide|슬라이드|장|页|张|スライド|枚|slajd|folie|diapositiv|слайд|trang|diapo",
    "idea": "ide|아이디어|アイデア|案|创意|想法|点子|pomysł|идеи|идей|ý tưởng",
    "title": "title|제목|タイトル|标题|题目|tytuł|titel|títul|titre|titol|заголов|названи|tiêu đề",
    "question": "question|질문|質問|问题|pytan|pytań|frage|pregunta|domand|pergunta|вопрос|câu hỏi",
    "option": "option|선택지|선택|選択|选项|方案|opcj|opci|opzion|opçõ|вариант|lựa chọn",
    "example": "example|예시|예|例|przykład|beispiel|ejemplo|exemple|esemp|exemplo|пример|ví dụ",
    "item": "item|개|항목|項目|点|项|条|punkt|element|pozycj|elem|voci|iten|пункт|mục",
    "point": "point|bullet|포인트|개|ポイント|点|要点|项|punkt|stichpunkt|punto|punti|puntos|ponto|пункт|điểm|gạch",
    "keyword": "keyword|key word|키워드|キーワード|关键词|słów|słowa klucz|stichwort|schlüssel|palabras clave|mots-cl|parole chiave|palavras-chave|ключев|từ khóa",
    "synonym": "synonym|동의어|유의어|同義語|类义|同义|sinónim|synonim|synonyme|sinonim|sinônim|синоним|từ đồng nghĩa",
    "name": "name|이름|명칭|名前|名称|名字|nazw|namen|nombre|noms|nomi|nomes|назван|имен|tên",
    "row": "row|행|行|wiersz|zeile|fila|ligne|righe|linhas|строк|hàng|dòng",
    "column": "column|열|列|kolumn|spalte|columna|colonne|coluna|столб|колон|cột",
    "topic": "topic|주제|テーマ|主题|题|temat|thema|themen|tema|sujet|thème|argoment|tem[ai]|тем|chủ đề",
    "year": "year|년|年|lat|jahr|año|ans|année|anni|ano|год|лет|năm",
}  # fmt: skip
_NEAR = 14  # characters between a number and what it counts
_NUMBER = re.compile(rf"(?<![\w.,:/–-])(\d{{1,4}}|{'|'.join(_WORDS)})(?![\w:/%]|[.,–-]\d)", re.IGNORECASE)
_COUNTED = re.compile(rf"[\s-]+(?:\w+[\s-]+){{0,2}}?({'|'.join(_UNITS)})s?\b", re.IGNORECASE)
_LANGUAGE = re.compile(rf"\b(?:in|into|to) (?:only )?({'|'.join(LANGUAGES)})(?=[.,;)]|$| language\b)")
_QUOTED = re.compile(r"[\"“'‘「『]([^\"“”'‘’「」『』\n]{2,40}?)[.,]?[\"”'’」』]")
_FACT = re.compile(r"answer|correct|error|mistake|calculat|explain that|state that|recogni|fiction|knowledge|for example|e\.g\.|such as|\bif\b|when\b", re.IGNORECASE)  # fmt: skip
_KEYWORD = re.compile(r"includ|contain|use[ds]?\b|key|titl|head|subject|section|nam|start|begin|end", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Stated:
    """Something stated, by its `value` (a number as digits, a language by its English name), at `start` to `end`.

    `unit` is what a number counts.
    """

    kind: Literal["number", "language", "keyword"]
    value: str
    start: int
    end: int
    unit: str = ""


def stated(criterion: str, prompt: str) -> list[Stated]:
    """What a criterion demands that the prompt states, too, in order; results and conditions that it tells do not count."""
    if _FACT.search(criterion) or "\n" in criterion.strip() or len(criterion) > 250:
        return []
    found = [*_numbers(criterion, prompt), *_languages(criterion, prompt), *_keywords(criterion, prompt)]
    return sorted(found, key=lambda one: one.start)


def _numbers(criterion: str, prompt: str) -> Iterator[Stated]:
    for match in _NUMBER.finditer(criterion):
        counted, value = _COUNTED.match(criterion, match.end()), digits(match.group(1))
        if counted and int(value) > 1 and _counts(prompt, int(value), counted.group(1).lower()):
            yield Stated("number", value, *match.span(), counted.group(1).lower())


def digits(number: str) -> str:
    """A number in digits, which may be an English word."""
    return str(_WORDS.index(number.lower()) + 2) if number.lower() in _WORDS else number


def _counts(prompt: str, number: int, unit: str) -> bool:
    """Whether a text has the number near a word for what it counts, in any language."""
    forms = [str(number), str(number).translate(_WIDE)]
    if 2 <= number <= 10:
        forms += [*_SPELT[number].split("|"), _WORDS[number - 2]]
    several, gap = "|".join(map(_bounded, forms)), rf"[^\n.!?。]{{0,{_NEAR}}}?"
    return bool(re.search(rf"(?:{several}){gap}(?:{_UNITS[unit]})", prompt.lower()))


def _bounded(form: str) -> str:
    """A number that is no part of another, or of a word where words are written apart."""
    if form.isdigit():
        return rf"(?<![\d.,]){form}(?!\d|[.,]\d)"
    return form if re.match(r"[가-힣一-龯]", form) else rf"\b{form}"


_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


def _languages(criterion: str, prompt: str) -> Iterator[Stated]:
    matches = list(_LANGUAGE.finditer(criterion))
    if matches and len(named(criterion)) == 1:
        for match in matches:  # of what must not be in a language another one is as true
            if match.group(1) in named(prompt) and not re.search(r"\bnot\b", criterion[: match.start()]):
                yield Stated("language", match.group(1), *match.span(1))


def named(text: str) -> list[str]:
    """The languages that a text names, in English."""
    folded = text.lower()
    return [name for name, forms in _NAMED.items() if forms.search(folded)]


def _keywords(criterion: str, prompt: str) -> Iterator[Stated]:
    quoted = [match for match in _QUOTED.finditer(criterion) if any(map(str.isalpha, match.group(1)))]
    if len(quoted) > 3 or not _KEYWORD.search(criterion):
        return
    for match in quoted:
        if re.search(rf"[\"“'‘「『«„《]{re.escape(match.group(1))}[.,]?[\"”'’」』»“》]", prompt):
            yield Stated("keyword", match.group(1), *match.span(1))


def mentions(text: str, one: Stated) -> bool:
    """Whether another criterion might cover the same: it has the number, what is counted, the language or the keyword."""
    if one.kind == "keyword":
        return one.value.lower() in text.lower()
    if one.kind == "language":
        return one.value in named(text) or bool(re.search(r"\blanguages?\b|translat", text, re.IGNORECASE))
    return one.value in map(digits, _NUMBER.findall(text)) or bool(re.search(rf"\b{one.unit}", text, re.IGNORECASE))


_ALL = re.compile(r"conditions|requirements|instruct|request|all (?:the )?(?:items|elements|points|keys)|format|as specified|asked|user", re.IGNORECASE)  # fmt: skip


def covered(others: Iterable[str], one: Stated) -> bool:
    """Whether the other criteria might cover it, one by its words, or one that asks for all that was asked for."""
    return any(mentions(text, one) or _ALL.search(text) for text in others)
