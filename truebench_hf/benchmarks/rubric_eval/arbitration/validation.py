"""How far the labels of an arbitration can be trusted: against trusted labels, as in paper 003, section 3.3 and Fig. 3.

Judges are compared on what they say about the single rubric (the fine pass), which every rubric with a trusted label
goes through, whatever the coarse pass made of it. `disputed` are the rubrics on which the base judges then differ. Beside it what the report of an arbitration shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.arbitration.funnel import Trace, disputed, unanimous
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.metrics.votes import majority
from truebench_hf.report.sections import Cells, Grid, Section, fixed, percent
from truebench_hf.types import Label, Usage, Verdict

# Figure 3 of the paper: (accuracy in percent, Cohen's kappa) on its 506 rubrics labelled by hand.
PAPER: dict[str, tuple[float, float]] = {
    "unanimous": (96.6, 0.93),
    "majority": (69.5, 0.39),
    "best single judge": (79.9, 0.60),
    "meta-judges": (85.4, 0.69),
}
PAPER_HUMANS = (85.0, 0.702)  # section 3.4: 160 final labels against two annotators
TITLE = "RubricEval: rubric arbitration"
# The strict figure stands first: of four judges, ties leave the easy half of the disputed to be right on.
_MEASURES = ("accuracy %, ties wrong", "of decided %", "kappa of decided", "n", "undecided")


@dataclass(frozen=True)
class Trusted:
    """Labels by the id of the rubric; beside each the response it was given for, None where the file has none."""

    labels: Mapping[str, tuple[Label, str | None]]

    def label(self, item: Item, index: int) -> Label | None:
        """That of a rubric; None where there is none, or where it was given for another response."""
        label, response = self.labels.get(item.rubric(index).id, (None, None))
        return None if response is not None and response != item.case.response else label


def read_trusted(source: str) -> Trusted:
    """Labels from rows (`rubric_mini`, JSONL, ...) with `id`, `label` (see `Record.label`) and, better, `response`.

    Rows whose label is empty are not labelled and left out. Raises UserError naming the row that cannot be used, and
    both rows where two label the same id.
    """
    labels: dict[str, tuple[Label, str | None]] = {}
    seen: dict[str, int] = {}
    for number, row in enumerate(data.load(source, "--reference"), 1):
        record = Record(f"--reference {source}, row {number}", row)
        name = record.id("id")
        if "label" not in row:
            raise record.wrong("label", "is needed, empty where there is none")
        if (label := record.label("label")) is None:
            continue
        if (before := seen.setdefault(name, number)) != number:
            raise UserError(f"{record.where}: id {name!r} is that of row {before} too; keep one")
        labels[name] = (label, row.get("response"))
    if not labels:
        raise UserError(f"--reference {source}: holds no labels")
    return Trusted(labels)


Known = tuple[Trace, Label]  # a rubric and its trusted label
Reading = Callable[[Trace], Label | None]  # a method of labelling: a judge's verdict, a vote, the meta-judges


def validate(
    traces: Sequence[Trace], trusted: Trusted, judges: Sequence[str], candidates: Sequence[str]
) -> dict[str, Any]:
    """Accuracy and kappa of every judge and of every method to join them, and the judges ranked.

    `n` rubrics count; of the trusted labels, `not_in_run` name no rubric of it, `other_response` were given for
    another response, and `unanswered` name one that has none. The headline is `accuracy_strict`, in which what is
    undecided (a tie, disagreeing meta-judges, an open verdict) is wrong; `accuracy` and kappa leave it out.
    """
    known = [trace for trace in traces if trace.rubric.id in trusted.labels]
    labels = [(trace, trusted.label(trace.item, trace.index)) for trace in known]
    rows = [(trace, gold) for trace, gold in labels if trace.fine and gold is not None]
    split = [(trace, gold) for trace, gold in rows if disputed(trace.fine)]
    agreed = [(trace, gold) for trace, gold in rows if unanimous(trace.fine) is not None]
    single = {name: _judge("fine", i) for i, name in enumerate(judges)}
    ranking = single | {name: _judge("candidates", i) for i, name in enumerate(candidates)}
    return {
        "n": len(rows),
        "disputed": len(split),
        "not_in_run": len(set(trusted.labels) - {trace.rubric.id for trace in known}),
        "other_response": sum(gold is None and trace.exit != "unanswered" for trace, gold in labels),
        "unanswered": sum(trace.exit == "unanswered" for trace in known),
        "ranking": _ranked({name: compare(rows, read) for name, read in ranking.items()}),
        "unanimous": compare(agreed, lambda trace: unanimous(trace.fine)),
        "on_disputed": _on_disputed(split, single),
        "by_exit": {
            exit: compare([row for row in rows if row[0].exit == exit], lambda trace: trace.label)
            for exit in ("coarse_unanimous", "easy", "hard")
        },
    }


def compare(rows: Sequence[Known], read: Reading) -> dict[str, Any]:
    """Accuracy (0..1, with ties and all else undecided = wrong, and over decided rows) and kappa of one method."""
    gold, said = [gold for _, gold in rows], [read(trace) for trace, _ in rows]
    measures = ("accuracy_strict", "accuracy", "balanced_accuracy", "kappa")
    found = label_agreement(gold, said, measures=measures)
    counts = {"n": found["n"] + found["undecided"], "undecided": found["undecided"]}
    return counts | {name: found[name].value for name in measures}


def _on_disputed(split: Sequence[Known], single: Mapping[str, Reading]) -> dict[str, Any]:
    """The methods of settling a dispute, side by side (Figure 3, disputed cases)."""
    metas = [verdict.judge for verdict in split[0][0].meta] if split else []
    alone = _ranked({name: compare(split, read) for name, read in single.items()})
    return {
        "judges": alone,
        "best single judge": next(iter(alone.values()), None),
        "majority": compare(split, lambda trace: _majority(trace.fine)),
        **{f"meta-judge {name}": compare(split, _judge("meta", i)) for i, name in enumerate(metas)},
        "meta-judges": compare(split, lambda trace: unanimous(trace.meta)),
    }


def _ranked(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    # By the strict figure: a judge cannot climb by keeping silent on the difficult ones.
    order = sorted(found, key=lambda name: (-(found[name]["accuracy_strict"] or 0.0), name))
    return {name: found[name] for name in order}


def _judge(stage: str, index: int) -> Reading:
    def read(trace: Trace) -> Label | None:
        verdicts: Sequence[Verdict] = getattr(trace, stage)
        return verdicts[index].label

    return read


def _majority(verdicts: Sequence[Verdict]) -> Label | None:
    label = majority([verdict.label for verdict in verdicts]).label
    return label if label in ("yes", "no") else None  # type: ignore[return-value]


def sections(result: Mapping[str, Any]) -> list[Section]:
    """Everything the report shows, in order, of the content of `funnel.json`."""
    return [_funnel(result), *(_validation(result["validation"]) if result["validation"] else [])]


def _funnel(result: Mapping[str, Any]) -> Grid:
    """Stages as rows, with a last one for the whole."""
    rows: list[Cells] = []
    total = Usage()
    for stage in result["funnel"]:
        exits = "\n".join(f"{name} {count}" for name, count in stage["exits"].items())
        spent = Usage(stage["input_tokens"], stage["output_tokens"], 0, stage["calls"], stage["unknown_calls"])
        rows.append((stage["stage"], stage["rubrics_in"], exits, stage["rubrics_on"], *spent.shown))
        total += spent
    kept = sum(result["exits"][name]["n"] for name in ("easy", "hard"))
    rows.append(("all", result["rubrics"], f"labelled {kept}", "", *total.shown))
    header = ("stage", "rubrics in", "exits", "rubrics on", "calls", "tokens in", "tokens out")
    return Grid("Rubrics through the funnel", header, tuple(rows))


def _validation(found: Mapping[str, Any]) -> list[Section]:
    """The comparison with trusted labels."""
    left_out = (
        f"Left out: {found['not_in_run']} not in this run, {found['other_response']} of other responses, "
        f"{found['unanswered']} without a response."
    )
    disputed = {name: row for name, row in found["on_disputed"].items() if name != "judges"}
    methods = _measured({"unanimous": found["unanimous"], **disputed})
    title = "Methods of labelling (paper 003, Figure 3): unanimous, and what to do with the disputed"
    header = (*_MEASURES, "paper: accuracy %", "paper: kappa")
    ranking, alone, exits = (
        _measured(rows) for rows in (found["ranking"], found["on_disputed"]["judges"], found["by_exit"])
    )
    return [
        Grid(f"Judges ranked on {found['n']} trusted labels", ("judge", *_MEASURES), ranking, note=left_out),
        Grid(f"Single judges on the {found['disputed']} disputed", ("judge", *_MEASURES), alone),
        Grid(title, ("method", *header), tuple((*row, *_paper(str(row[0]))) for row in methods)),
        Grid("Labels by exit", ("exit", *_MEASURES), exits),
    ]


def _paper(method: str) -> tuple[str, str]:
    accuracy, kappa = PAPER.get(method, (None, None))
    return ("", "") if accuracy is None else (fixed(accuracy, 1), fixed(kappa))


def _measured(rows: Mapping[str, Mapping[str, Any] | None]) -> tuple[Cells, ...]:
    return tuple(
        (
            name, percent(row["accuracy_strict"], 1), percent(row["accuracy"], 1), fixed(row["kappa"], 3), row["n"],
            row["undecided"],
        )
        for name, row in rows.items()
        if row is not None
    )  # fmt: skip


def human_section(found: Mapping[str, Any]) -> Grid:
    """Arbitrated labels against people, all and by split and category, and people among themselves.

    The paper's annotators settled all their disagreements; its figure compares with ours once nothing is open.
    """
    rows: list[Cells] = []
    for name, row in {"all": found, **found["by_stratum"]}.items():
        shown = [percent(row["accuracy"], 1), percent(row["accuracy_open_wrong"], 1), fixed(row["kappa"], 3)]
        title = f"{name} (upper estimate)" if row["upper_estimate"] else name
        rows.append((title, row["n"], row["n_open"], *shown, row["kappa_band"] or "-"))
    people = found["annotators"]
    kappa = people["fleiss_kappa"]
    band = "" if kappa is None else verbal_band(kappa)
    among = f"{len(people['names'])} annotators among themselves"
    rows.append((among, "", "", percent(people["raw"], 1), "", fixed(kappa, 3), band))
    accuracy, theirs = PAPER_HUMANS
    paper = ("section 3.4", 160, 0, fixed(accuracy, 1), fixed(accuracy, 1), fixed(theirs, 3), verbal_band(theirs))
    header = ("rows", "settled", "open", "accuracy %", "open=wrong %", "kappa", "band")
    return Grid("Arbitrated labels against people", header, tuple(rows), (paper,))
