"""`truebench study export`: a finished run in the form of a neighbour, or as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.comparing.finished import KINDS
from truebench_hf.errors import UserError, unknown, write_error
from truebench_hf.integrations import every_eval_ever, finished_run, inspect_log, sft, verifiers
from truebench_hf.integrations.finished_run import AnsweredInstance, Exported
from truebench_hf.report.csv_table import guard
from truebench_hf.text.redaction import known
from truebench_hf.text.terminal import how_many

if TYPE_CHECKING:
    from pandas import DataFrame

_BY_RESPONSE: dict[str, Callable[[Exported, Path], dict[Path, str]]] = {
    "inspect": inspect_log.write,
    "verifiers": verifiers.write,
    "sft": sft.write,
}
FORMS = ("every-eval-ever", *_BY_RESPONSE, "csv", "parquet")
# The columns of the tables by their types.
SCORES = dict.fromkeys(("kind", "model", "data", "score", "title"), "string")
SCORES |= {"value": "Float64", "low": "Float64", "high": "Float64", "n": "Int64", "unscored": "Int64", "how": "string"}
VERDICTS = {
    "model": "string", "id": "string", "sample": "Int64", "language": "string", "category": "string", "task": "string",
    "turn": "Int64", "prompt": "string", "response": "string", "criterion_number": "Int64", "criterion": "string",
    "kind": "string", "condition": "string", "weight": "Float64", "label": "string", "met": "boolean",
    "reason": "string", "judge": "string", "probability": "Float64", "conflicting": "boolean",
    "response_score": "Float64", "error": "string",
}  # fmt: skip


def export(
    run: str, to: str, out: str | Path, *, organization: str = "not stated", relationship: str = "other"
) -> dict[Path, str]:
    """Write a finished run into `out` in the form `to`, one of `FORMS`. Returns what each file holds.

    `organization` is who tells the results in Every Eval Ever, `relationship` what it is to the model (first_party,
    third_party, collaborative, other). Paths, addresses and keys are taken out. Raises UserError on another form, on a run
    that is not finished or has no scores, and where a form is of judged responses and the run has none.
    """
    if to not in FORMS:
        raise unknown("form", to, FORMS)
    if relationship not in every_eval_ever.RELATIONSHIPS:
        raise unknown("--relationship", relationship, every_eval_ever.RELATIONSHIPS)
    exported, folder = finished_run.read(run), Path(out).expanduser()
    if to in _BY_RESPONSE and not exported.responses:
        raise UserError(
            f"{run}: a study of kind {exported.kind} does not score responses one by one, which {to} is about; runs of "
            f"kind {', '.join(KINDS)} do (or take --to every-eval-ever, csv or parquet)"
        )
    try:
        if to == "every-eval-ever":
            return every_eval_ever.write(exported, folder, organization, relationship)
        return _BY_RESPONSE[to](exported, folder) if to in _BY_RESPONSE else _write_tables(exported, folder, to)
    except OSError as error:
        raise write_error(str(folder), error) from error


def tables(run: Exported) -> dict[str, DataFrame]:
    """A run as frames: `scores`, a row per score, and `verdicts`, a row per criterion of every response.

    `value`, `low` and `high` are shares (0 to 1) where scores are.
    """
    from pandas import DataFrame

    scores = [
        {
            "kind": run.kind, "model": model, "data": run.data, "score": measured.name, "title": measured.title,
            "value": score.value, **dict(zip(("low", "high"), score.ci95 or (None, None), strict=True)), "n": score.n,
            "unscored": score.unscored, "how": "; ".join(f"{name}: {value}" for name, value in measured.facts.items()),
        }
        for model, listed in run.scores.items() for measured in listed if (score := measured.score)
    ]  # fmt: skip
    frames = {"scores": DataFrame(scores, columns=list(SCORES), dtype=object).astype(SCORES)}
    if run.responses:
        rows = [row for responses in run.responses.values() for answered in responses for row in _rows(answered)]
        frames["verdicts"] = DataFrame(rows, columns=list(VERDICTS), dtype=object).astype(VERDICTS)
    return frames


def _write_tables(run: Exported, out: Path, to: str) -> dict[Path, str]:
    """CSV files that a spreadsheet program opens, and runs nothing of, or Parquet files with typed columns."""
    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, frame in tables(run).items():
        path = out / f"{name}.{to}"
        texts = frame.select_dtypes("string").columns
        # Without secrets, and without the half of a character, which no file holds.
        plain = frame[texts].map(lambda text: known(text).encode("utf-8", "replace").decode(), na_action="ignore")
        frame[texts] = plain.astype("string")
        if to == "csv":
            frame[texts] = frame[texts].map(guard, na_action="ignore")
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
        written[path] = how_many(len(frame), "row")
    return written


def _rows(answered: AnsweredInstance) -> Iterator[dict[str, Any]]:
    instance, response = answered.judged.instance, answered.judged.response
    # The first prompt as the model was sent it, with its context.
    prompts = [answered.messages[answered.opening - 1].content, *(turn.prompt for turn in instance.turns[1:])]
    shared = {
        "model": response.model, "id": instance.id, "sample": response.sample, "language": instance.language,
        "category": instance.category, "task": instance.task, "response_score": answered.score, "error": response.error,
    }  # fmt: skip
    for row in finished_run.verdict_rows(answered.judged):
        turn = row["turn"]
        answer = response.answers[turn - 1] if turn <= len(response.answers) else None
        yield shared | row | {"prompt": prompts[turn - 1], "response": answer}
