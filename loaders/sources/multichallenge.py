"""MultiChallenge: multi-turn conversations, each with one question on the last answer (benchmark_questions.jsonl).

The answer passes where the question is answered as `PASS_CRITERIA` says; where that is NO, the question is after a
fault: it has a negative weight.
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import asked, source_item
from truebench_hf.types import Criterion


def parse(record: Record) -> list[Item]:
    """One conversation; `AXIS` names what it tests."""
    wanted = record.text("PASS_CRITERIA").strip().casefold()
    if wanted not in ("yes", "no"):
        raise record.wrong("PASS_CRITERIA", f"is {record.row['PASS_CRITERIA']!r}, which is neither YES nor NO")
    criterion = Criterion(record.text("TARGET_QUESTION"), weight=1.0 if wanted == "yes" else -1.0)
    name, facts = f"multichallenge-{record.id('QUESTION_ID')}", {"AXIS": record.maybe("AXIS")}
    messages = asked(record, "CONVERSATION")
    return [source_item(name, "MultiChallenge", "multi_turn", "EN", messages, [criterion], facts=facts)]
