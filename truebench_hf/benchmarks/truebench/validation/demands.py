"""Demands on the form of a response that go too far where nobody asks for that form, and words that would ask for it.

The words are looked for in the lower-case text of instructions and criteria, in the languages of TRUEBench. They find
too much rather than too little: there are rows enough.
"""

from __future__ import annotations

import re

_LIST = (
    r"list|bullet|•|^\s*[-*] |글머리|목록|리스트|나열|箇条|リスト|列表|列出|要点|项|punkt|wypunkt|wylicz|aufzähl|stichpunkt|"
    r"viñet|puces|elenc|punti|tópic|marcador|спис|маркир|пункт|перечис|danh sách|gạch đầu|liệt kê|item"
)
_TABLE = r"table|표|表|tabel|tabl|tavola|таблиц|bảng|\||column|row|csv|matri"
_HEADING = (
    r"head|title|제목|목차|見出し|タイトル|标题|題|题|nagłów|tytu|überschrift|titel|títul|encabez|titre|en-tête|titol|intestaz|"
    r"cabeçalho|загол|назван|tiêu đề|section|report|article|email|mail|이메일|메일|メール|邮件|correo|письм|^#"
)
_BOLD = r"bold|굵|진하게|볼드|강조|太字|強調|粗体|加粗|强调|pogrub|wytłuszc|fett|negrit|gras|grassett|жирн|in đậm|\*\*|emphasi|highlight"
_CLOSING = (
    r"summar|요약|정리|まとめ|要約|总结|概括|摘要|podsum|streszcz|zusammenfass|resum|résum|riassu|sintesi|síntes|synth|резюм|"
    r"итог|обобщ|кратк|tóm tắt|conclu|결론|마무리|結論|结论|wnios|zakończ|fazit|schluss|заключ|вывод|kết luận|one sentence"
)
_EMOJI = r"emoji|emoticon|이모|絵文字|表情|эмодзи|смайл|cảm xúc|[\U0001f300-\U0001faff\u2600-\u27bf]"
_BLOCK = r"code|코드|コード|代码|代碼|kod|código|codice|код|\bmã\b|markdown|마크다운|マークダウン|json|xml|html|```|plain text"
_NUMBERED = r"number|번호|숫자|순서|番号|数字|編号|编号|序号|numer|nummer|número|numéro|nombre|номер|нумер|đánh số|\bsố\b|order|^\s*\d+[.)]"


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.MULTILINE)


DEMANDS: dict[str, re.Pattern[str]] = {
    "The response must be presented as a bulleted list.": _words(_LIST, _TABLE, _BLOCK),
    "The response must contain a table.": _words(_TABLE, _BLOCK),
    "The response must begin with a heading.": _words(_HEADING, _BLOCK),
    "The most important terms in the response must be set in bold.": _words(_BOLD, _BLOCK),
    "The response must close with a one-sentence summary of itself.": _words(_CLOSING, _BLOCK),
    "The response must contain at least one emoji.": _words(_EMOJI),
    "The response must be placed in a Markdown code block.": _words(_BLOCK, _TABLE),
    "The sentences of the response must be numbered.": _words(_NUMBERED, _LIST, _TABLE, _BLOCK),
}
