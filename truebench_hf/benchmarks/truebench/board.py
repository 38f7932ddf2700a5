"""What leaderboards show of a run: pass rates by category and language, how it was judged, facts about the model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from truebench_hf.benchmarks.truebench.models import JUDGING
from truebench_hf.benchmarks.truebench.scores import REPEATED
from truebench_hf.data.judged import Judged
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import LEVELS, JudgeSettings
from truebench_hf.prompts import Prompts, names, variants
from truebench_hf.results.report import Report
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.outcome import LONGEST, Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Score

KIND = "truebench"
MAIN = Column("overall", "Overall")
_GROUPS = {"by_category": ("category", "Categories"), "by_language": ("language", "Languages")}
_SIZE = re.compile(r"(?<![\w.])(\d{1,5}(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)
_MOST_GROUPS = 100  # of a kind: a leaderboard of more columns nobody reads
_LONGEST = 48  # characters of one thing said about the judging


def board(report: Report) -> Board:
    """The one row of a run, from its scores and provenance. Equal for a run and its published copy.

    Runs are ranked together when data, judge and all that shaped the verdicts are the same.
    """
    made, columns = report.provenance, [MAIN]
    scores = {MAIN.name: cast("Score", report.scores["overall"])}
    for by, (what, title) in _GROUPS.items():
        group = report.scores.get(by, {})
        assert isinstance(group, Mapping)
        if len(group) > _MOST_GROUPS or any(len(name) > LONGEST // 2 for name in group):
            continue  # the tables of the report have them
        columns += [Column(f"{what}:{name}", name, title) for name in group]
        scores |= {f"{what}:{name}": score for name, score in group.items()}
    judge, said = anonymous.name(made["judge"]), judging_words(made)
    how = {name: made.get(name) for name in (*JUDGING, "protocol")}
    setting = digest(canonical([made.get("data_sha256"), judge, anonymous.settings(how)]))
    data = anonymous.name(str(made.get("data") or "not a known release")) + _part(made)
    facts = {"Judge": f"{judge} ({said})" if said else judge, "Data": data} | model_facts(made["model"])
    if repeated := report.scores.get(REPEATED):
        assert isinstance(repeated, Mapping)
        facts["Samples"] = str(max(int(name.rpartition("_")[2]) for name in repeated if name != "mean"))
    return Board(MAIN.name, tuple(columns), (Row(anonymous.name(made["model"]), setting, scores, facts),))


def boards(found: Mapping[str, Board]) -> Board:
    """The boards of the models of one run as one: a row each, under names that tell them apart, and the columns of all."""
    columns = {column.name: column for board in found.values() for column in board.columns}
    shown = anonymous.names(found)
    rows = tuple(replace(row, name=shown[model]) for model, board in found.items() for row in board.rows)
    return replace(next(iter(found.values())), columns=tuple(columns.values()), rows=rows)


def content(judged: Sequence[Judged], judge: str) -> str:
    """A hash over what was answered and how it was judged, equal for every copy of a run.

    What publishing takes out is left out: folders, half characters, the reasons of open verdicts; and so are usage and
    what a submission does not tell.
    """
    told = [
        [item.name, [message.content for message in item.response.messages], [
            [v.label, v.label and v.reason, v.probability, v.votes] for turn in item.verdicts for v in turn
        ]]
        for item in judged
    ]  # fmt: skip
    named = [anonymous.name(judged[0].response.model), anonymous.name(judge)] if judged else []
    return digest(canonical([named, told]).encode("utf-8", "replace").decode("utf-8"))


def judging_words(settings: Mapping[str, Any]) -> str:
    """The level, and behind it what is not as usual: `checklist, 5 votes, official rule`. Nothing without a level."""
    judging = dict(settings.get("judging") or {})
    level = judging.get("level")
    if level not in LEVELS:
        return ", ".join(f"rules {mode}" for mode in rules_fact(judging).values())
    usual = _flat(json.loads(json.dumps(asdict(JudgeSettings(level=level)))))
    given = _flat(json.loads(json.dumps(judging)))
    said = [level, *(_said(name, value) for name, value in given.items() if value != usual.get(name))]
    if (second := settings.get("cascade_judge")) and second != settings["judge"]:
        said.append(f"then {anonymous.name(second)}")
    shaping = {"revision"}.union(*(facts["options"] for facts in (settings.get("judge_models") or {}).values()))
    for before, arguments in (("", settings.get("judge_arg")), ("then ", settings.get("cascade_judge_arg"))):
        told = anonymous.settings(arguments or [])
        said += [f"{before}{pair}" for pair in sorted(told) if re.split(r"[.@]", pair.partition("=")[0])[-1] in shaping]
    for name, sha256 in sorted((settings.get("prompts") or {}).items()):
        if (variant := _variant(name, sha256)) != "":
            said.append(f"{name} prompt {variant or sha256[:4]}")
    if settings.get("protocol") == "official":
        said.append("official rule")
    return ", ".join(anonymous.text(shortened(text, _LONGEST)) for text in said)


def model_facts(spec: str) -> dict[str, str]:
    """Size in billions, weights and licence of a model spec, as far as its name and the published facts tell."""
    if spec == "smollm2":
        return facts(0.135, True, "Apache-2.0")
    kind, _, rest = spec.partition(":")
    bare = rest.rstrip("/").rpartition("/")[2]
    for model, known in published_models().items():
        if model.casefold() == bare.casefold():
            return facts(known["size_b"], known["open"], known["licence"])
    found = _SIZE.search(bare.replace("-", " ").replace("_", " "))
    size = None if found is None else float(found[1]) / (1000 if found[2].lower() == "m" else 1)
    on_hub = kind in ("hf", "vllm") and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", rest) is not None
    return facts(size, True if on_hub else None, None)


@cache
def published_models() -> dict[str, dict[str, Any]]:
    """Per model of the paper: `size_b` (billions of parameters), `open` weights, `licence`."""
    file = Path(__file__).parent / "reference" / "model_facts.json"
    models: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))["models"]
    return models


def facts(size: float | None, weights: bool | None, licence: str | None) -> dict[str, str]:
    """What is publicly known of a model, as a board's row has it; a size that is not known is left out."""
    known = {"Weights": {True: "open", False: "closed", None: "unknown"}[weights], "Licence": licence or "unknown"}
    return known | ({"Size (B)": f"{size:g}"} if size is not None else {})


def _part(settings: Mapping[str, Any]) -> str:
    """Which part of the data a run was over, to be read behind its name; nothing for the whole."""
    chosen = [str(name) for key in ("language", "category") for name in settings.get(key) or ()]
    drawn = [f"sample of {settings['limit']}"] if settings.get("limit") else []
    return "".join(f", {part}" for part in (*chosen, *drawn))


def _flat(judging: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in judging.items() if name not in ("sampling", "level")}
    return {**own, **judging.get("sampling", {})}


def _said(name: str, value: Any) -> str:
    known = {
        "votes": f"{value} votes",
        "reasoning": "no reasoning",
        "calibrator": "calibrated",
        "max_tokens": f"up to {value} tokens",
    }
    if name == "band":
        return f"band {' to '.join(map(str, value or ()))}"
    return known.get(name, f"{name.replace('_', ' ')} {value}")


@cache
def _variant(name: str, sha256: str) -> str | None:
    """Which variant of a prompt of ours has this hash: "" the usual one, None none of them."""
    ours = ["", *variants(name)] if name in names() else []
    return next((one for one in ours if Prompts({name: one} if one else {}).hash(name) == sha256), None)
