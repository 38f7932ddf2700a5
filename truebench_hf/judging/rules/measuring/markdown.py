"""Tables and code blocks of Markdown, as markdown-it reads them."""

from __future__ import annotations

from functools import cache
from typing import Any

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.data_formats import within
from truebench_hf.judging.rules.measuring.outcomes import agreed
from truebench_hf.judging.rules.measuring.ranges import enumerated
from truebench_hf.rules import CodeBlock, Table

_SAME = (
    {"python", "py", "python3"}, {"javascript", "js", "node"}, {"typescript", "ts"}, {"bash", "sh", "shell", "zsh"},
    {"c++", "cpp", "cc"}, {"c#", "cs", "csharp"}, {"yaml", "yml"}, {"markdown", "md"}, {"html", "html5"},
    {"golang", "go"}, {"rust", "rs"}, {"ruby", "rb"}, {"kotlin", "kt"}, {"text", "txt", "plaintext"},
)  # fmt: skip
_CODE = regex.compile(r"```|~~~|^(?: {4}|\t)", regex.MULTILINE)
_CODE_TAG = regex.compile(r"<(?:code|pre)\b", regex.IGNORECASE)
_PIPES = regex.compile(r"^[^\n|]*\|[^\n]*\|", regex.MULTILINE)


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def of_table(rule: Table, answer: Answer) -> tuple[str, bool | None]:
    """(rows and columns of the tables, whether one is there within the bounds)."""
    found = _tables(answer.whole)
    if not found:
        other = _PIPES.search(answer.whole) or "<table" in answer.whole.casefold() or "\t" in answer.whole
        return "no Markdown table", None if other else False
    facts = enumerated(
        [f"a table of {len(rows) - 1} rows below the header and {len(rows[0])} columns" for rows in found], 3
    )
    return facts, agreed(within(rule, len(rows) - 1, len(rows), len(rows[0]), rows[0]) for rows in found)


def _tables(text: str) -> list[list[list[str]]]:
    """The rows of every table, the header first."""
    found: list[list[list[str]]] = []
    if "|" not in text:
        return found
    for token in _markdown().parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open" and found:
            found[-1].append([])
        elif token.type == "inline" and found and found[-1] and token.level >= 3 and token.map is not None:
            found[-1][-1].append(token.content.strip(" *_`"))
    return [rows for rows in found if rows and rows[0]]


def of_code_block(rule: CodeBlock, answer: Answer) -> tuple[str, bool | None]:
    """(the code blocks and their languages, whether one is there)."""
    tokens = _markdown().parse(answer.whole) if _CODE.search(answer.whole) else []
    marks = [(token.info.split() or [""])[0].strip("{}.").casefold() for token in tokens if token.type == "fence"]
    if not marks:
        other = _CODE.search(answer.whole) or "`" in answer.whole or _CODE_TAG.search(answer.whole)
        return "no code block", None if other else False
    facts = f"code blocks: {enumerated([_told(mark) for mark in marks])}"
    closed = answer.whole.count("```") % 2 == 0
    if rule.language is None:
        return facts, True if closed else None
    wanted = _names(rule.language.casefold())
    if any(mark in wanted for mark in marks):
        return facts, True if closed else None
    return facts, None if "" in marks else False


def _told(mark: str) -> str:
    """A mark as judges are told of it: it is the response's own, and nothing of that but a plain name is passed on."""
    if not mark:
        return "of no named language"
    return mark if regex.fullmatch(r"[a-z][a-z0-9+#]{0,11}", mark) else "of a language that is no plain name"


def _names(language: str) -> set[str]:
    return next((names for names in _SAME if language in names), {language})
