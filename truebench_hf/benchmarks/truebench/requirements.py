"""The requirements of a run as rows and its models as columns: what fails most, and what was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice

from truebench_hf.data.judged import Judged
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Met, Outcome, Outcomes, Requirements
from truebench_hf.report.table import Column, Table
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Verdict

RULES = "rules"  # who judges what a program counts
_ROWS, _TABLE_BYTES = 200, 800_000  # of a page
_MEASURED = "measured: "
_EXAMPLE = 60  # characters of an answer, or of a reason

_MISSED = (
    Column("criterion", "Criterion", "prose"),
    Column("failed", "failed", "count", "Answers that fail the criterion."),
    Column("decided", "of", "count", "Answers on which there is a verdict."),
    Column("example", "for example", "prose", "How one of the answers that fail begins."),
    Column("why", "why", "prose", "What was counted in it, or the judge's reason."),
)
Cell = tuple[Verdict, str]  # a verdict and the answer it is on


def requirements(judged: Sequence[Judged]) -> Requirements:
    """Return every requirement with its outcome for each model; of many those that are missed most."""
    models = list(dict.fromkeys(item.response.model for item in judged))
    cells = _by_requirement(judged)
    rows = [
        Outcomes(text, prompt, tuple(_outcome(by_model.get(model, ())) for model in models))
        for (_, prompt, text), by_model in cells.items()
    ]
    rows.sort(key=lambda row: -sum(cell.outcome == "no" for cell in row.cells))
    sizes = (page_bytes(text for cell in row.cells for text in (cell.answer, cell.reason)) for row in rows)
    rows = rows[: sum(size <= _TABLE_BYTES for size in accumulate(islice(sizes, _ROWS)))]
    more = len(cells) - len(rows)
    note = (
        "What was counted stands beside its sign. ▸ opens the prompt, with the answers and why they meet it or do not."
    )
    if more > 0:
        note += f" And {more:,} more, of which fewer are missed: judgments.jsonl has all."
    return Requirements("Requirements", tuple(models), tuple(rows), note)


def missed_most(judged: Iterable[Judged], rows: int = 20) -> Table:
    """Return the criteria that answers fail most: how often, the start of one answer, and why that one fails.

    Those that fail most often come first, of equals those that fail the larger share of the times they are decided.
    """
    by_text: dict[str, list[Cell]] = defaultdict(list)
    for by_model in _by_requirement(judged).values():
        for cells in by_model.values():
            for verdict, answer in cells:
                by_text[verdict.criterion.text].append((verdict, answer))
    failed = {text: [cell for cell in cells if cell[0].label == "no"] for text, cells in by_text.items()}
    decided = {text: sum(verdict.label in ("yes", "no") for verdict, _ in cells) for text, cells in by_text.items()}
    ranked = sorted(
        filter(failed.get, failed), key=lambda text: (-len(failed[text]), -len(failed[text]) / decided[text], text)
    )
    table = []
    for text in ranked[:rows]:
        verdict, answer = failed[text][0]
        example = f'"{shortened(answer, _EXAMPLE)}"'
        why = measured(verdict) or shortened(verdict.reason, _EXAMPLE)
        counts = {"failed": len(failed[text]), "decided": decided[text]}
        table.append({"criterion": text, **counts, "example": example, "why": why})
    return Table("", _MISSED, table, "Criteria failed most", printed=False)


def measured(verdict: Verdict) -> str:
    """Return what a program counted for a verdict; "" for the verdict of a judge."""
    return verdict.reason.removeprefix(_MEASURED) if verdict.judge == RULES else ""


def _by_requirement(judged: Iterable[Judged]) -> dict[tuple[str, str, str], dict[str, list[Cell]]]:
    """Return the verdicts as they count, each with its answer, by (place, prompt, requirement), then by model.

    Several samples make a list.
    """
    cells: dict[tuple[str, str, str], dict[str, list[Cell]]] = {}
    for item in judged:
        answers = [message.content for message in item.response.messages if message.role == "assistant"]
        for number, (turn, verdicts) in enumerate(zip(item.instance.turns, item.verdicts, strict=False)):
            answer = answers[number] if number < len(answers) else ""
            for place, verdict in enumerate(map(as_counted, verdicts)):
                key = (f"{item.instance.id} {number} {place}", turn.prompt, verdict.criterion.text)
                cells.setdefault(key, {}).setdefault(item.response.model, []).append((verdict, answer))
    return cells


def _outcome(cells: Sequence[Cell]) -> Met:
    """Return what became of a requirement in the answers of a model; of several answers one that misses it is shown."""
    if not cells:
        return Met("")
    labels = [verdict.label for verdict, _ in cells]
    state: Outcome = "no" if "no" in labels else "yes" if all(label == "yes" for label in labels) else "open"
    verdict, answer = next((cell for cell in cells if cell[0].label == "no"), cells[0])
    figure = measured(verdict) if len(cells) == 1 else f"{labels.count('yes')} of {len(labels)}"
    return Met(state, figure, answer, verdict.reason)
