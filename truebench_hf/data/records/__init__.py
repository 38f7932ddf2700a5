"""Answers and verdicts as they are kept: the lines of `responses.jsonl` and `judgments.jsonl`, written and read here alone.

A line is one conversation, and what is read equals what was written. A context, which may be a long document, stands in
full in the first line that has it; the lines after it name that one's instance in `context_of`.
"""

from truebench_hf.data.records.compact import Compact, compact
from truebench_hf.data.records.judged import (
    Judged,
    by_instance,
    public,
    public_verdict,
    sample_name,
    secrets_in,
    unanswered,
)
from truebench_hf.data.records.lines import Line, Place, Stamp, read_again, read_lines, stamp, unchanged
from truebench_hf.data.records.marks import Mark, Marked
from truebench_hf.data.records.reader import Head, Reader, of_entry, read_heads, read_outcomes
from truebench_hf.data.records.rows import JUDGMENTS, RESPONSES
from truebench_hf.data.records.writer import judgment_lines, response_lines, to_row

__all__ = [
    "JUDGMENTS",
    "RESPONSES",
    "Compact",
    "Head",
    "Judged",
    "Line",
    "Mark",
    "Marked",
    "Place",
    "Reader",
    "Stamp",
    "by_instance",
    "compact",
    "judgment_lines",
    "of_entry",
    "public",
    "public_verdict",
    "read_again",
    "read_heads",
    "read_lines",
    "read_outcomes",
    "response_lines",
    "sample_name",
    "secrets_in",
    "stamp",
    "to_row",
    "unanswered",
    "unchanged",
]
