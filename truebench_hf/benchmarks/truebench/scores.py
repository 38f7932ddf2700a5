"""From verdicts to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2), and to the official tables.

Every score is an estimator on the columns of `response_values`, a row per response; samples of one instance are one
unit. Values are 0 to 1, and NaN where a response is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.results import REPEATED, judging_specs
from truebench_hf.data.judged import Judged, sample_name
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.pass_rate import mean_share, pass_rate, pooled
from truebench_hf.metrics.votes import summary
from truebench_hf.options import NOBODY
from truebench_hf.report.sections import percent, points
from truebench_hf.results.report import Report
from truebench_hf.results.verdicts import VerdictFrames, frames_of, group_scores, unit_means
from truebench_hf.study.notes import decided_by_rules, weak_judges
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

Cells = list[list[str | float]]
Runs = Sequence[tuple[str, VerdictFrames]]
_USAGE = ("input", "think", "response", "total")
_UNKNOWN = "unknown"
_NO, _YES = 0, 2  # codes of labels in the verdict frame


def score(
    judged: VerdictFrames | Iterable[Judged],
    usage: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    frames, origin = as_frames(judged), provenance or {}
    responses, values = frames.responses, response_values(frames)
    instances = responses["instance"].to_numpy()
    counted = values[rule(origin)].to_numpy()
    passed, official = unit_means(counted, instances), pass_rate(unit_means(values["official"], instances))
    first = ~responses["instance"].duplicated().to_numpy()
    samples: dict[str, list[bool | None]] = {}
    for instance, value in zip(instances.tolist(), counted.tolist(), strict=True):
        samples.setdefault(instance, []).append({0.0: False, 1.0: True}.get(value))
    shares = summary(list(samples.values())) if len(samples) < len(responses) else {}
    multi_turn = responses["turns"].to_numpy()[first] > 1
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": pass_rate(passed),
        "strict": pass_rate(unit_means(counted == 1, instances)),
        "official": official,
        **({REPEATED: shares} if shares else {}),
        **_weighted(frames, instances),
        **_groups(responses, counted),
        "single_turn": pass_rate(passed[~multi_turn]),
        "multi_turn": pass_rate(passed[multi_turn]),
        "soft_criterion": mean_share(unit_means(values["criterion_share"], instances)),
        "soft_turn": mean_share(unit_means(values["turn_share"], instances)),
        "drfr": _drfr(frames, instances),
        **_of_votes(frames),
    }
    if conflicting := int(frames.verdicts["conflicting"].sum()):
        scores["conflicting"] = Score(conflicting / len(frames.verdicts), len(frames.verdicts))
    notes = _notes(frames, pass_rate(unit_means(values["passed"], instances)), official, origin)
    is_open = values[rule(origin)].isna()
    if len(is_open) and is_open.all():
        notes.insert(0, "Nothing was scored: every answer has a criterion that is not decided, and none that failed.")
    elif is_open.any():
        low, high = (percent(pass_rate(unit_means(ends, instances)).value) for ends in (counted == 1, counted != 0))
        notes.insert(0, f"Had all that is open been no, the pass rate would be {low} %; had it been yes, {high} %.")
    return Report(scores, _unscored(frames, values), usage or {}, origin, tuple(notes))


def as_frames(judged: VerdictFrames | Iterable[Judged]) -> VerdictFrames:
    """Return the frames of what was judged."""
    return judged if isinstance(judged, VerdictFrames) else frames_of((item, "") for item in judged)


def rule(provenance: Mapping[str, Any]) -> str:
    """Return the column that says whether a response passes, by the rule that the run's `protocol` names."""
    return "official" if provenance.get("protocol") == "official" else "passed"


def passes(item: Judged, provenance: Mapping[str, Any]) -> bool | None:
    """Return whether a response passes, by the same rule; None is unscored."""
    return item.passed_officially if rule(provenance) == "official" else item.passed


def response_values(frames: VerdictFrames) -> DataFrame:
    """Return a row per response, with five values of which each is what its name says of the response's verdicts.

    Columns: `passed` (every criterion is as it should be; NaN without criteria), `official` (the official rule: every
    turn with criteria has labels, and none of those is a fail; an official file's own word goes first),
    `criterion_share`, `turn_share` (soft scores) and `left_to_nobody` (all that is open had no judge).
    """
    import numpy as np
    import pandas as pd

    verdicts = frames.verdicts
    met, missed = outcomes(verdicts)
    labelled = verdicts["label"].notna().to_numpy()
    nobody = ~labelled & (verdicts["judge"] == NOBODY).to_numpy()
    cells = verdicts[["response", "turn"]].assign(n=1, met=met, missed=missed, labelled=labelled, nobody=nobody)
    turns = cells.groupby(["response", "turn"], sort=False).sum().reset_index()
    turns = turns.assign(
        turns=1, failed=(turns["labelled"] == 0) | (turns["missed"] > 0), passed=turns["met"] == turns["n"],
        settled=(turns["missed"] > 0) | (turns["met"] == turns["n"]),
    )  # fmt: skip
    counts = turns.groupby("response").sum().reindex(range(len(frames)), fill_value=0)
    decided = (counts["n"] > 0) & (counts["met"] + counts["missed"] == counts["n"])
    recorded = frames.responses["recorded"].astype("boolean").astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    official = ((counts["turns"] > 0) & (counts["failed"] == 0)).to_numpy(dtype=float)
    settled = (counts["turns"] > 0) & (counts["settled"] == counts["turns"])
    return pd.DataFrame(
        {
            "passed": np.where(counts["missed"] > 0, 0.0, np.where(decided, 1.0, np.nan)),
            "official": np.where(np.isnan(recorded), official, recorded),
            "criterion_share": (counts["met"] / counts["n"]).where(decided),
            "turn_share": (counts["passed"] / counts["turns"]).where(settled),
            "left_to_nobody": (counts["n"] > counts["labelled"])
            & (counts["n"] - counts["labelled"] == counts["nobody"]),
        }
    )


def outcomes(verdicts: DataFrame) -> tuple[Any, Any]:
    """Return which verdicts are as they should be and which are not: of a fault, with negative points, yes is a fail."""
    import numpy as np

    label, fault = verdicts["label"].cat.codes.to_numpy(), (verdicts["weight"] < 0).to_numpy()
    yes, no = label == _YES, label == _NO
    return np.where(fault, no, yes), np.where(fault, yes, no)


def unfinished(judged: VerdictFrames | Iterable[Judged]) -> int:
    """Return how many responses are unscored for another reason than that nobody was to judge them."""
    values = response_values(as_frames(judged))
    return int((values["passed"].isna() & ~values["left_to_nobody"]).sum())


def _weighted(frames: VerdictFrames, instances: Any) -> dict[str, Score]:
    """Return the mean share of points, where criteria are not all worth the same; see `pass_rate.weighted_share`."""
    import numpy as np

    verdicts, size = frames.verdicts, len(frames)
    weight = verdicts["weight"].to_numpy()
    if (weight == 1).all():
        return {}
    label, response = verdicts["label"].cat.codes.to_numpy(), verdicts["response"].to_numpy()
    is_open = (label != _YES) & (label != _NO)

    def points(rows: Any) -> Any:
        return np.bincount(response[rows], weights=weight[rows], minlength=size)

    most, met = points(weight > 0), points(label == _YES)
    with np.errstate(invalid="ignore", divide="ignore"):
        worst, best = (np.clip((met + points(is_open & moves)) / most, 0.0, 1.0) for moves in (weight < 0, weight > 0))
    shares = np.where((most > 0) & (worst == best), worst, np.nan)
    return {"weighted": mean_share(unit_means(shares, instances))}


def _groups(responses: DataFrame, passed: Any) -> dict[str, dict[str, Score]]:
    """Return the pass rates by what the data tells of its instances; what it does not tell makes no group."""
    category, language, task = (responses[name].tolist() for name in ("category", "language", "task"))
    tasks = ["/".join(filter(None, pair)) if pair[1] else None for pair in zip(category, task, strict=True)]
    kinds: dict[str, tuple[Sequence[str | None], Sequence[str]]] = {
        "by_category": ([name or None for name in category], CATEGORIES),
        "by_language": ([name or None for name in language], LANGUAGES),
        "by_task": (tasks, ()),
    }
    rates = {
        name: group_scores(keys, passed, responses["instance"].to_numpy(), pass_rate, first)
        for name, (keys, first) in kinds.items()
    }
    return {name: groups for name, groups in rates.items() if groups}


def by_category_and_language(frames: VerdictFrames, provenance: Mapping[str, Any]) -> dict[tuple[str, str], Score]:
    """Return the pass rate of every category in every language, of instances of which the data tells both."""
    responses = frames.responses
    pairs = zip(responses["category"].tolist(), responses["language"].tolist(), strict=True)
    keys = [pair if all(pair) else None for pair in pairs]
    return group_scores(keys, response_values(frames)[rule(provenance)], responses["instance"].to_numpy(), pass_rate)


def _drfr(frames: VerdictFrames, instances: Any) -> Score:
    """Return the share of all decided criteria that are as they should be, instances being the clusters."""
    import numpy as np
    import pandas as pd

    met, missed = outcomes(frames.verdicts)
    codes, names = pd.factorize(instances)
    unit = codes[frames.verdicts["response"].to_numpy()]
    decided = met | missed
    n_met, n_decided = (np.bincount(unit[rows], minlength=len(names)) for rows in (met, decided))
    return pooled(n_met, n_decided, int((~decided).sum()))


def _of_votes(frames: VerdictFrames) -> dict[str, Score]:
    """Return the share of criteria whose votes differ, and the mean share of votes that agree with the verdict."""
    label = frames.verdicts["label"].cat.codes.to_numpy()
    if not len(frames.votes):
        return {}
    votes = frames.votes.assign(code=frames.votes["label"].cat.codes)
    votes["agrees"] = (votes["code"] >= 0) & (votes["code"] == label[votes["verdict"]])
    votes["cast"] = votes["code"] >= 0
    by_verdict = votes.groupby("verdict")
    counts = by_verdict[["cast", "agrees"]].sum().assign(n=by_verdict.size())
    counts["differs"] = by_verdict["code"].min() < by_verdict["code"].max()
    compared = counts[(counts["n"] > 1) & (counts["cast"] > 0)]
    usable = counts[(counts["cast"] > 0) & (label[counts.index] >= 0)]
    shares, flipped, n = (usable["agrees"] / usable["cast"]).tolist(), int(compared["differs"].sum()), len(compared)
    return {
        "flip_rate": Score(flipped / n if n else None, n, len(counts) - n),
        "vote_share": Score(sum(shares) / len(shares) if shares else None, len(shares), len(counts) - len(shares)),
    }


def _unscored(frames: VerdictFrames, values: DataFrame) -> dict[str, str]:
    """Return the undecided responses with the first reason of each."""
    verdicts, rows = frames.verdicts, values["passed"].isna().to_numpy()
    open_verdicts = verdicts[~verdicts["label"].isin(("yes", "no"))].drop_duplicates("response")
    reasons = dict(zip(open_verdicts["response"].tolist(), open_verdicts["reason"].tolist(), strict=True))
    beside = bool((frames.responses["sample"] > 1).any())
    columns = (frames.responses[name][rows].tolist() for name in ("instance", "sample", "error"))
    unscored = {}
    for place, instance, sample, error in zip(rows.nonzero()[0].tolist(), *columns, strict=True):
        because = error if isinstance(error, str) and error else "no criteria"
        unscored[sample_name(instance, sample, beside=beside)] = reasons.get(place, because)
    return unscored


def _notes(frames: VerdictFrames, overall: Score, official: Score, provenance: Mapping[str, Any]) -> list[str]:
    notes = []
    if provenance.get("protocol") == "official":
        notes.append("Pass rates follow the official rule, by which a criterion without a verdict does not count.")
    nobody = provenance.get("judge") == NOBODY  # what is left open says nothing of the official rule
    if not nobody and official.value is not None and overall.value is not None:
        gap = official.value - overall.value
        rates = f"{percent(official.value)} % where ours gives {percent(overall.value)}"
        if abs(gap) > 1e-9:
            notes.append(f"The official pass rule gives {rates}, {points(gap, 2)} points.")
    if cut := int(frames.responses["truncated"].sum()):
        notes.append(f"{cut} answers were cut off at the token limit and judged as they stand.")
    if conflicting := int(frames.verdicts["conflicting"].sum()):
        notes.append(
            f"{conflicting} criteria were given two labels in one answer of the judge, which was asked again; a response "
            "can provoke this."
        )
    if provenance.get("self_judged"):
        notes.append("Self-judged: model and judge belong to one family, which favours the model.")
    answered = frames.responses["answered"].to_numpy()[frames.verdicts["response"].to_numpy()]
    of_answers = frames.verdicts[frames.verdicts["turn"].to_numpy() <= answered]
    counted = int((of_answers["judge"] == JUDGE).sum()), len(of_answers)
    if nobody:
        decided, criteria = counted
        notes.append(f"No judge: {decided} of {criteria} criteria decided by counting, {criteria - decided} left open.")
    elif (provenance.get("judging") or {}).get("rules") == "decide":
        notes.append(decided_by_rules(*counted))
    return [*notes, *weak_judges(judging_specs(provenance))]


def pass_rate_table(runs: Runs, field: str, official: bool) -> Cells:
    """Return `stats_cat.csv` (the field is "category") or `stats_lang.csv` ("language"): percentages, a row per model.

    Official rule: a cell without rows is 0, groups that the official code does not know are left out. Ours: blank, and
    appended.
    """
    by_category = field == "category"
    known = [name for name in CATEGORIES if name != "Multi-Turn"] if by_category else list(LANGUAGES)
    others = {name for _, frames in runs for name in frames.responses[field].unique()} - {*known, "Multi-Turn", ""}
    groups = [*known, *([] if official else sorted(others))]
    table: Cells = [["Model Name", "Overall", *groups, *(["Single-Turn", "Multi-Turn"] if by_category else [])]]
    for model, frames in runs:
        responses = frames.responses
        passed = response_values(frames)["official" if official else "passed"].to_numpy()
        instances = responses["instance"].to_numpy()
        # Officially by name, whatever the number of turns.
        multi_turn = responses["category"] == "Multi-Turn" if official else responses["turns"] > 1
        masks = [responses["turns"] >= 0, *(responses[field] == name for name in groups)]
        cells: list[str | float] = []
        for mask in [*masks, *([~multi_turn, multi_turn] if by_category else [])]:
            rows = mask.to_numpy(dtype=bool)
            # The official code counts rows, whatever they are of.
            value = pass_rate(passed[rows] if official else unit_means(passed[rows], instances[rows])).value
            # It rounds the same expression: 102 of 320 is 31.87, where 100 * 102 / 320 gives 31.88.
            cells.append((0 if official else "") if value is None else round(value * 100, 2))
        table.append([model, *cells])
    return table


def usage_table(runs: Runs) -> Cells:
    """Return `usage.csv`: tokens of inference and judge per model; response tokens exclude thinking.

    Where a server left counts out, a sum is `unknown`.
    """
    header = [f"{role}_{kind}_tokens" for role in ("inference", "judge") for kind in _USAGE]
    table: Cells = [["Model Name", *header, "total_tokens"]]
    for model, frames in runs:
        cells: list[str | float] = []
        total, spent = 0, frames.responses
        for role in ("model", "judge"):
            read, written, thought, unknown = (
                int(spent[f"{role}_{count}"].sum())
                for count in ("input_tokens", "output_tokens", "reasoning_tokens", "unknown_calls")
            )
            cells += [_UNKNOWN] * 4 if unknown else [read, thought, written - thought, read + written]
            total += read + written
        table.append([model, *cells, _UNKNOWN if _UNKNOWN in cells else total])
    return table
