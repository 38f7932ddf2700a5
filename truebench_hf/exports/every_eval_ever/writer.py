"""Writes a run as Every Eval Ever keeps results: `data/BENCHMARK/DEVELOPER/MODEL/UUID.json` and `UUID_samples.jsonl`."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

from truebench_hf.errors import UserError
from truebench_hf.exports.every_eval_ever.form import Detailed, InstanceRecord
from truebench_hf.exports.every_eval_ever.instances import records
from truebench_hf.exports.every_eval_ever.scores import log, plain
from truebench_hf.exports.files import put
from truebench_hf.exports.run import Exported
from truebench_hf.hashing import canonical, digest
from truebench_hf.text.terminal import how_many

CRITERIA = {"truebench": "truebench.drfr", "tick": "tick.drfr"}  # the score that single criteria count under
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")


def write(run: Exported, out: Path, organization: str, relationship: str, now: int | None = None) -> dict[Path, str]:
    """The files by model, below `out`, each with what it holds. The same run gives the same names."""
    made: dict[Path, str] = {}
    for model in run.scores:
        if not run.decided(model):
            continue
        told = log(run, model, organization, relationship, int(time.time()) if now is None else now)
        name = _name(run, model)
        folder = Path("data", plain(run.kind), *map(plain, told.model_info.id.split("/")))
        found = records(told, run.responses.get(model, ()), CRITERIA.get(run.kind, ""))
        count = how_many(len(told.evaluation_results), "score")
        if found.records:
            place = folder / f"{name}_samples.jsonl"
            content = "".join(map(_line, found.records))
            left_out = {
                "responses_without_record": str(found.unscored_responses),
                "criteria_without_record": str(found.unscored_criteria),
            }
            told.detailed_evaluation_results = Detailed(
                format="jsonl", file_path=place.as_posix(), hash_algorithm="sha256",
                checksum=digest(content), total_rows=len(found.records),
                additional_details=left_out,
            ).model_dump(mode="json", exclude_none=True)  # fmt: skip
            put(out / place, content)
            undecided = found.unscored_responses + found.unscored_criteria
            made[out / place] = how_many(len(found.records), "record") + (
                f", {undecided} undecided left out" if undecided else ""
            )
        put(out / folder / f"{name}.json", json.dumps(told.as_json(), ensure_ascii=False, indent=1) + "\n")
        made[out / folder / f"{name}.json"] = count
    if not made:
        raise UserError(
            f"{run.where}: nothing of it was decided, so there is no score to tell; --to csv tells what is open"
        )
    return made


def _name(run: Exported, model: str) -> str:
    """A name in the form that is asked for (a UUID of version 4), which stays the same for the same results."""
    content = canonical(
        [run.kind, model, dict(run.settings), [[one.name, one.score.value] for one in run.decided(model)]]
    )
    return str(uuid.UUID(hex=digest(content)[:32], version=4))


def _line(record: InstanceRecord) -> str:
    row = record.as_json()
    text = json.dumps(row, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode() + "\n"
