"""A finished run: how `run.json` names its models and judges, its responses read back, and what leaderboards show of it.

What is read is a folder, a `judgments.jsonl` or an official evaluation file. In the report of several models every score
is a group by model; what one model's report has by group (a category, say) is named `by_category:Editing` there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, cast

from truebench_hf.benchmarks.truebench import data
from truebench_hf.data import jsonl
from truebench_hf.data.instances import of_row
from truebench_hf.data.judged import Judged, as_answered
from truebench_hf.data.records import JUDGMENTS, LARGEST, RESPONSES, Form, Reader, read_lines
from truebench_hf.data.rows import Record
from truebench_hf.engine.folder import INFO
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest_texts
from truebench_hf.judging.judge import LEVELS, JudgeSettings
from truebench_hf.metrics.pass_rate import official_passes
from truebench_hf.models.spec import family
from truebench_hf.prompts import Prompts, names
from truebench_hf.report.table import Column, Table
from truebench_hf.results import verdicts
from truebench_hf.results.folder import Results
from truebench_hf.results.report import Report
from truebench_hf.results.verdicts import VerdictFrames
from truebench_hf.study.notes import identities, rules_fact
from truebench_hf.study.ranking import BoardColumn, Ranking
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Instance, Label, Response, Score, Usage, Verdict

KIND = "truebench"
REPEATED = "repeated_samples"  # the group of scores over several samples of an instance
JUDGING = ("judge", "cascade_judge", "panel", "judging", "prompts", "judge_models")  # all that shapes verdicts
MAIN = BoardColumn("overall", "Overall")
_FACTS = ("Judge", "Data", "Weights", "Licence", "Size (B)", "Samples")
_GROUPS = {"by_category": ("category", "Categories"), "by_language": ("language", "Languages")}
_SIZE = re.compile(r"(?<![\w.])(\d{1,5}(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)
_LONGEST = 48  # characters of one thing said about the judging


def judgments(path: Path) -> Path:
    """Return the file of judged instances that a folder or file is."""
    return path / JUDGMENTS if path.is_dir() else path


def made_by(path: Path) -> Results:
    """Return the run folder that this is, or in which a `judgments.jsonl` lies; without settings where it is of no run."""
    folder = path if path.is_dir() else path.parent
    has_run = (folder / INFO).is_file() and (path.is_dir() or path.name == JUDGMENTS)
    run = Results.open(folder) if has_run else Results(path, {})
    return run if {"model", "judge"} <= run.settings.keys() else Results(path, {})


def read_each(path: Path, context: Callable[[str], str] = str) -> Iterator[tuple[Judged, str]]:
    """Return (judged instance, judge) of the rows one after the other, of each context what `context` makes of it.

    Raises UserError naming the line.
    """
    file = judgments(path)
    kind = Results.open(file.parent).kind if file.name == JUDGMENTS and (file.parent / INFO).is_file() else ""
    if kind not in ("", KIND):
        raise UserError(f"{path}: is a study of kind {kind}; give a run, or a file of judged instances")
    return read_lines(file, "give a run folder or an evaluation file", form(path), context)


def read_run(path: Path) -> list[Judged]:
    """Return the judged responses of a run, of every model, each once: of one that stands twice its last row.

    Raises UserError naming the line, and where they are of others than the `run.json` beside them says.
    """
    rows = {(item.response.model, judge, *item.key): item for item, judge in read_each(path)}
    check_run(path, rows)
    return list(rows.values())


def read_frames(path: Path) -> VerdictFrames:
    """Return the same as frames, what scores are made of, without texts; rows that stand twice do so here, too."""
    each = read_each(path, no_context)  # refuses what is no run
    frames = verdicts.read_frames(judgments(path), lambda: each)
    keys = frames.responses[["model", "judge", "instance", "sample"]].drop_duplicates()
    check_run(path, keys.itertuples(index=False, name=None))
    return frames


def no_context(text: str) -> str:
    """Return what is left of a context for those who count: nothing."""
    return ""


def check_run(path: Path, keys: Iterable[tuple[str, str, str, int]]) -> None:
    """Raise UserError where a file is empty, or not what the run beside it wrote when it was finished.

    `keys` are (model, judge, instance, sample) of its responses, each once.
    """
    file, run, remedy = judgments(path), made_by(path), "repeat the command of the run"
    instances: dict[tuple[str, str], list[str]] = {}
    for model, judge, instance, _ in keys:
        instances.setdefault((model, judge), []).append(instance)
    if not instances:
        raise UserError(f"{file}: holds no judged instances")
    if not run.settings:
        return
    run.check_finished()
    expected = {(model, str(run.settings["judge"])) for model in models_of(run.settings)}
    if odd := sorted(instances.keys() ^ expected):
        model, judge = odd[0]
        raise UserError(f"{file}: of {model} judged by {judge} run.json tells, or this file, but not both; {remedy}")
    for (model, _), held in instances.items():
        count = len(set(held))
        items, samples = run.settings.get("items", count), run.settings.get("samples", 1)
        if count != items or len(held) < items * samples:
            raise UserError(
                f"{file}: holds {len(held)} responses of {model} to {count} instances, run.json beside it is about "
                f"{items * samples} to {items}; {remedy}"
            )


def form(path: Path) -> Form:
    """Return what reads a row of such a file: ours, or one of an official evaluation file, whose name tells the model."""
    name = path.name.split("_TRUEBench-v")[0].removesuffix(".jsonl").removesuffix("_eval_result")

    def read(reader: Reader, row: Any, where: str) -> tuple[Judged, str]:
        official = isinstance(row, dict) and "judge_parsed" in row
        return (from_official_row(row, where, name), "") if official else reader.judged(row, where)

    return read


def read_responses(path: Path) -> list[tuple[Instance, Response]]:
    """Return the instances of a run folder with their responses.

    Raises UserError where there are none, naming the line that is none, and where they are of another model or other
    data than `run.json` says: left over from before a `generate` that was stopped.
    """
    file, again = path / RESPONSES, "finish `truebench study generate` with this folder first"
    if not (path / INFO).is_file() or not file.is_file() or not file.stat().st_size:
        raise UserError(f"--out {path}: holds no answers; run `truebench study generate` with this folder first")
    run = Results.open(path)
    if run.kind not in ("", KIND):
        raise UserError(f"--out {path}: is a study of kind {run.kind}; give the folder of `truebench study generate`")
    reader = Reader()
    answers = [reader.answered(row, where) for where, row in jsonl.read(file, "generate again")]
    models, samples = models_of(run.settings), run.settings.get("samples", 1)
    if others := {response.model for _, response in answers} - set(models):
        raise UserError(f"{file} holds answers of {min(others)}, run.json there is about {', '.join(models)}; {again}")
    for model in models:
        own = [(instance, response.sample) for instance, response in answers if response.model == model]
        first, keys = [instance for instance, sample in own if sample == 1], [(i.id, sample) for i, sample in own]
        short = any(count < samples for count in Counter(name for name, _ in keys).values())
        if short or len(keys) > len(set(keys)) or data.data_hash(first) != run.settings.get("data_sha256"):
            raise UserError(f"{file} does not hold the answers of {model} that run.json there is about; {again}")
    return answers


def from_official_row(row: dict[str, Any], where: str, model: str) -> Judged:
    """Return a judged instance from a row of an official evaluation file (`judge_parsed` with `labels` per turn).

    Labels stand by position: where their number is not that of the turns or criteria nobody knows what they are about.
    """
    instance = of_row(Record(where, row))
    answers, parsed = row.get("response"), row.get("judge_parsed")
    if not isinstance(answers, list) or not isinstance(parsed, list):
        raise UserError(f"{where}: fields 'response' and 'judge_parsed' must be lists, one entry per turn")
    by_turn = list(map(_official_labels, parsed)) + [[]] * (len(instance.turns) - len(parsed))
    odd = f"labels of {len(by_turn)} turns for {len(instance.turns)}" if len(by_turn) > len(instance.turns) else ""
    turns = []
    for turn, labels in zip(instance.turns, by_turn, strict=False):
        uneven = f"{len(labels)} labels for {len(turn.criteria)} criteria" if len(labels) != len(turn.criteria) else ""
        problem = odd or (uneven if labels else "")
        usable = [None] * len(turn.criteria) if problem or not labels else labels
        reason = f"the official file holds {problem or 'no label for this criterion'}"
        pairs = zip(turn.criteria, usable, strict=True)
        turns.append(tuple(Verdict(criterion, label, "" if label else reason) for criterion, label in pairs))
    try:
        messages, thinking = as_answered(instance, list(map(str, answers))), tuple(map(str, row.get("think") or ()))
        response = Response(instance.id, model, messages, thinking)
        usage = {"model": _tokens(row, "inference"), "judge": _tokens(row, "judge")}
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: not a row of an official evaluation file ({error})") from error
    recorded = row.get("pass")
    return Judged(
        instance, response, tuple(turns), usage, recorded if isinstance(recorded, bool) else official_passes(by_turn)
    )


def _official_labels(entry: Any) -> list[Label | None]:
    """Return the labels of a turn, None for what is neither true nor false."""
    labels = entry.get("labels") if isinstance(entry, dict) else None
    known: dict[bool, Label] = {True: "yes", False: "no"}
    return [known[label] if isinstance(label, bool) else None for label in labels] if isinstance(labels, list) else []


def _tokens(row: dict[str, Any], role: str) -> Usage:
    spent, thought, written = (
        sum(int(count or 0) for count in row.get(f"{role}_{kind}_tokens") or ())
        for kind in ("input", "think", "response")
    )
    if max(spent, thought, written) > LARGEST:
        raise ValueError(f"more than {LARGEST:.0e} tokens")
    return Usage(spent, thought + written, thought, len(row.get(f"{role}_input_tokens") or ()))


def ranking(reports: Mapping[str, Report]) -> Ranking:
    """The models of a run, a row each, from the scores and provenance of each. Equal for a run and its published copy.

    Runs are ranked together when data, judge and all that shaped the verdicts are the same.
    """
    rows, groups = [], dict[str, Column]()
    for model, report in reports.items():
        settings, scores = report.provenance, cast("Mapping[str, Any]", report.scores)
        judge, words = anonymous.name(settings["judge"]), judging_words(settings)
        part = [str(name) for key in ("language", "category") for name in settings.get(key) or ()]
        part += [f"sample of {settings['limit']}"] if settings.get("limit") else []
        data = ", ".join((anonymous.name(str(settings.get("data") or "not a known release")), *part))
        row: dict[str, Any] = {"model": model, "Judge": f"{judge} ({words})" if words else judge, "Data": data}
        row |= model_facts(model)
        if samples := scores.get(REPEATED):
            row["Samples"] = str(max(int(name.rpartition("_")[2]) for name in samples if name != "mean"))
        row[MAIN.name] = scores[MAIN.name]
        for by, (what, title) in _GROUPS.items():
            for name, cell in scores.get(by, {}).items():
                row[f"{what}:{name}"] = cell
                groups[f"{what}:{name}"] = Column(f"{what}:{name}", name, "score", group=title)
        rows.append(row)
    facts = dict.fromkeys(name for row in rows for name in row if name in _FACTS)
    columns = [
        Column("model", "Model"), *(Column(name, name) for name in facts), Column(MAIN.name, MAIN.title, "score"),
        *groups.values(),
    ]  # fmt: skip
    settings = next(iter(reports.values())).provenance
    alike = {name: settings.get(name) for name in (*JUDGING, "protocol")}
    return Ranking(Table("ranking", columns, rows), MAIN.name, [settings.get("data_sha256"), settings["judge"], alike])


def content(judged: Sequence[Judged], judge: str) -> str:
    """A hash over what was answered and how it was judged, equal for every copy of a run.

    What publishing takes out is left out: folders, half characters, the reasons of open verdicts; and so are usage and
    what a submission does not tell.
    """
    judgments = (
        [item.name, [message.content for message in item.response.messages], [
            [v.label, v.label and v.reason, v.probability, v.votes] for turn in item.verdicts for v in turn
        ]]
        for item in judged
    )  # fmt: skip
    named = [anonymous.name(judged[0].response.model), anonymous.name(judge)] if judged else []
    rows = ("," * (place > 0) + canonical(judgment) for place, judgment in enumerate(judgments))
    return digest_texts(chain([f"[{canonical(named)},["], rows, ["]]"]))


def judging_words(settings: Mapping[str, Any]) -> str:
    """The level, and behind it what is not as usual: `checklist, 5 votes, official rule`. Nothing without a level."""
    judging = dict(settings.get("judging") or {})
    level = judging.get("level")
    if level not in LEVELS:
        return ", ".join(f"rules {mode}" for mode in rules_fact(judging).values())
    usual = _flat(json.loads(json.dumps(asdict(JudgeSettings(level=level)))))
    own = _flat(json.loads(json.dumps(judging)))
    named = {"reasoning": "no reasoning", "calibrator": "calibrated", "votes": f"{own.get('votes')} votes"}
    words = [level]
    for name, value in own.items():
        if value != usual.get(name):
            parts = value if isinstance(value, list) else [value]
            numbers = " to ".join(f"{part:.4g}" if isinstance(part, float) else str(part) for part in parts)
            words.append(named.get(name, f"{name.replace('_', ' ')} {numbers}"))
    if (second := settings.get("cascade_judge")) and second != settings["judge"]:
        words.append(f"then {anonymous.name(second)}")
    shaping = {"revision"}.union(*(facts["options"] for facts in (settings.get("judge_models") or {}).values()))
    for before, arguments in (("", settings.get("judge_arg")), ("then ", settings.get("cascade_judge_arg"))):
        pairs = anonymous.settings(arguments or [])
        words += [
            f"{before}{pair}" for pair in sorted(pairs) if re.split(r"[.@]", pair.partition("=")[0])[-1] in shaping
        ]
    for name, sha256 in sorted((settings.get("prompts") or {}).items()):
        if name not in names() or sha256 != Prompts({}).hash(name):
            words.append(f"{name} prompt {sha256[:4]}")
    if settings.get("protocol") == "official":
        words.append("official rule")
    return ", ".join(anonymous.text(shortened(text, _LONGEST)) for text in words)


def model_facts(spec: str) -> dict[str, str]:
    """Size in billions, weights and licence of a model spec, as far as its name and the published facts tell."""
    if spec == "smollm2":
        return facts(0.135, True, "Apache-2.0")
    kind, _, rest = spec.partition(":")
    bare = rest.rstrip("/").rpartition("/")[2]
    for model, known in published_models().items():
        if model.casefold() == bare.casefold():
            return facts(known["size_b"], known["open"], known["licence"])
    stated = _SIZE.search(bare.replace("-", " ").replace("_", " "))
    size = None if stated is None else float(stated[1]) / (1000 if stated[2].lower() == "m" else 1)
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


def _flat(judging: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in judging.items() if name not in ("sampling", "level")}
    return {**own, **judging.get("sampling", {})}


def models_of(settings: Mapping[str, Any]) -> list[str]:
    """The names of a run's models, in order, from its settings. Raises KeyError where they tell of none."""
    named = settings["model"]
    return list(map(str, named)) if isinstance(named, list | tuple) else [str(named)]


def one_model(info: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The `run.json` of a run as if this had been its only model. Raises UserError where it is none of its models."""
    settings = info["settings"]
    if model not in (models := models_of(settings)):
        raise unknown("model", model, models)
    alone = {**settings, "model": model}
    key, _ = identities({"models": settings.get("models")}).get(model, ("", {}))
    if key:
        alone["models"] = {key: settings["models"][key]}
    self_judged = info.get("self_judged")
    return {**info, "settings": alone} | (
        {"self_judged": self_judged[model]} if isinstance(self_judged, Mapping) else {}
    )


def provenance(info: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of how it was made, from `run.json`; its settings may be no more than model and judge.

    Whether a judge belongs to the family of a model is told by model where there are several.
    """
    settings, families = info["settings"], set(map(family, judging_specs(info["settings"])))
    own = {name: family(name) in families for name in models_of(settings)}
    return {
        **settings,
        "versions": info.get("versions", {}),  # a submission has none
        "self_judged": own if len(own) > 1 else next(iter(own.values())),
    }


def joined(reports: Mapping[str, Report], provenance: Mapping[str, Any]) -> Report:
    """The reports of models as one; that of a lone model as it is."""
    if len(reports) == 1:
        return next(iter(reports.values()))
    scores: dict[str, dict[str, Score]] = {}
    for model, report in reports.items():
        for name, score in report.scores.items():
            cells = {name: score} if isinstance(score, Score) else {f"{name}:{group}": s for group, s in score.items()}
            for place, cell in cells.items():
                scores.setdefault(place, {})[model] = cell
    open_ = {f"{name} ({model})": why for model, report in reports.items() for name, why in report.unscored.items()}
    corrected = {model: report.bias_corrected for model, report in reports.items() if report.bias_corrected}
    usage = next(iter(reports.values())).usage
    # Once what is said of each, and under its name what is said of some.
    notes = dict.fromkeys(note for report in reports.values() for note in report.notes)
    shared = [note for note in notes if all(note in report.notes for report in reports.values())]
    own = [f"{model}: {note}" for model, report in reports.items() for note in report.notes if note not in shared]
    return Report(scores, open_, usage, provenance, (*shared, *own), corrected, models=tuple(reports))


def scores_in(folder: Path, line: str) -> dict[str, Score]:
    """The scores over all instances that a folder holds of the model that its board calls so; {} where there are none."""
    table = Results.open(folder).tables.get("scores")
    rows = table.rows if table else ()
    public = anonymous.names(dict.fromkeys(row["model"] for row in rows))
    return {row["name"]: row["score"] for row in rows if public[row["model"]] == line and not row["group"]}


def judging_specs(settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run, from its settings, or from no more than the `judge` of its rows."""
    if isinstance(panel := settings.get("panel"), Mapping) and panel.get("judges"):
        return set(map(str, panel["judges"]))
    named = [str(settings[name]) for name in ("judge", "cascade_judge") if settings.get(name)]
    # A panel's name is `a + b (majority)`.
    panels = (re.sub(r" \([^()]*\)$", "", name).split(" + ") if " + " in name else [name] for name in named)
    return {spec for specs in panels for spec in specs}
