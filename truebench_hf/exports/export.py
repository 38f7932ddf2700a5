"""`truebench study export`: a finished run in the form of a neighbour."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from truebench_hf.comparing.finished import ABOUT
from truebench_hf.errors import UserError, unknown
from truebench_hf.exports import inspect_log, sft, tables, verifiers
from truebench_hf.exports.every_eval_ever import writer
from truebench_hf.exports.run import Exported, read

_BY_RESPONSE: dict[str, Callable[[Exported, Path], dict[Path, str]]] = {
    "inspect": inspect_log.write,
    "verifiers": verifiers.write,
    "sft": sft.write,
}
_ANY: dict[str, Callable[[Exported, Path], dict[Path, str]]] = {
    "csv": tables.write_csv,
    "parquet": tables.write_parquet,
}
FORMS = ("every-eval-ever", *_BY_RESPONSE, *_ANY)


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
    if relationship not in writer.RELATIONSHIPS:
        raise unknown("--relationship", relationship, writer.RELATIONSHIPS)
    found, place = read(run), Path(out).expanduser()
    if to in _BY_RESPONSE and not found.responses:
        raise UserError(
            f"{run}: a study of kind {found.kind} does not score responses one by one, which {to} is about; runs of kind "
            f"{', '.join(ABOUT)} do (or take --to every-eval-ever, csv or parquet)"
        )
    if to == "every-eval-ever":
        return writer.write(found, place, organization, relationship)
    return (_BY_RESPONSE | _ANY)[to](found, place)
