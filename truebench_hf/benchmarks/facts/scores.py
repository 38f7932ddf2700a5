"""What judges said of an answer, and from verdicts to scores (paper 002, section 3): a frame with a row per answer and judge, and estimates on its groups.

The frame is made of the lines of verdicts.jsonl, while a run ends and whenever its folder is read later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truebench_hf.benchmarks.facts.data import FactsItem
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, Mark, Marked, Tone, filled, sample_name
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.types import Eligibility, Excerpt, Grounding, Source
from truebench_hf.metrics.agreement import by_group
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.intervals import clustered_mean, clustered_share
from truebench_hf.metrics.pass_rate import clustered_rate, disqualified, pass_rate
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Label, Response, Score, Usage, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

KIND, VERDICTS = "facts", "verdicts.jsonl"
MEAN = "mean"  # of the judges, where a judge is named
Measure = Literal["unadjusted", "final"]
MEASURES: tuple[Measure, ...] = ("unadjusted", "final")
_COLUMNS = (
    "answer", "item", "cluster", "split", "groups", "ineligible", "judge", "unadjusted", "rated", "rating", "supported",
    "checkable", "unquoted",
)  # fmt: skip


def verdict_frame(lines: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Return a row per answer and judge of the lines of verdicts.jsonl.

    Columns: `answer` numbers the answers; `item` is the id that samples of one answer share; `cluster` the document,
    whose answers hang together; `split` ("" without one) and `groups` ({"domain": "finance"}) are the data's;
    `ineligible`: all judges see major issues; `judge` its name; `unadjusted` 1.0 for grounded, 0.0 for not, NaN for
    undecided; `final` the same, with 0.0 for ineligible answers; `rated`: the judge was asked about eligibility, and
    `rating` is "yes", "no" (major issues) or None. `supported` counts the sentences that a judge calls supported where it
    was to quote for each, `checkable` those of which every excerpt is found, `unquoted` those without one.
    """
    import pandas as pd

    rows = []
    for number, line in enumerate(lines):
        answer = {
            "answer": number, "item": line["id"], "cluster": line["document"], "split": line["split"],
            "groups": line.get("groups", {}), "ineligible": bool(line["ineligible"]),
        }  # fmt: skip
        eligible = line.get("eligible", {})
        for judge, label in line["grounded"].items():
            grounding = line.get("grounding", {}).get(judge, {})
            quoting = str(grounding.get("template", "")).startswith("json")  # a template that asks for excerpts
            supported = [unit for unit in grounding["units"] if unit["label"] == "supported"] if quoting else []
            rows.append(answer | {
                "judge": judge, "unadjusted": {"yes": 1.0, "no": 0.0}.get(label),
                "rated": judge in eligible and not line.get("is_baseline", False), "rating": eligible.get(judge),
                "supported": len(supported), "checkable": sum(not unit["untraced"] for unit in supported),
                "unquoted": sum(not unit["excerpts"] for unit in supported),
            })  # fmt: skip
    frame = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
    counts = dict.fromkeys(("answer", "supported", "unquoted"), int)
    frame = frame.astype({**counts, "ineligible": bool, "rated": bool, "unadjusted": float})
    return frame.assign(judge=in_order(frame["judge"]), final=frame["unadjusted"].mask(frame["ineligible"], 0.0))


def in_order(values: Any) -> Any:
    """Return a column of names whose groups stand in the order of their first row; "" is in none."""
    import pandas as pd

    names = [name for name in dict.fromkeys(values) if name]
    return pd.Categorical([name or None for name in values], categories=names)


def read_frame(folder: Path, split: str = "") -> DataFrame:
    """Return the frame of a finished run (of a split). Raises UserError where verdicts.jsonl cannot be read."""
    file = folder / VERDICTS
    lines = (line for _, line in jsonl.read(file, "repeat the run's command"))
    try:
        return verdict_frame(line for line in lines if not split or line["split"] == split)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise UserError(f"{file}: cannot be read ({why}); repeat the run's command") from error


def judge_scores(frame: DataFrame, by: Sequence[str] = ()) -> DataFrame:
    """Return a row per group of `by` for the mean of the judges, and then one per group and judge (see `estimate`)."""
    import pandas as pd

    means = by_group(frame, by, estimate).assign(judge=MEAN)
    judges = by_group(frame, [*by, "judge"], estimate).astype({"judge": object})
    return pd.concat([means, judges], ignore_index=True)


def group_scores(frame: DataFrame) -> DataFrame:
    """Return the rows of `judge_scores` for every split and every group of the data: columns `by` and `group` say which.

    Answers without a split or group are in none.
    """
    import pandas as pd

    columns = dict.fromkeys(name for groups in frame["groups"] for name in groups)
    values = {"split": frame["split"]} | {
        name: [groups.get(name, "") for groups in frame["groups"]] for name in columns
    }
    parts = [judge_scores(frame.assign(group=in_order(names)), ["group"]).assign(by=by) for by, names in values.items()]
    return pd.concat([part.astype({"group": object}) for part in parts], ignore_index=True)


def estimate(rows: DataFrame) -> dict[str, Any]:
    """Return the counts and scores of some answers by the judges in these rows.

    A judge's `unadjusted` score is the share of decided answers that are grounded; in `final` ineligible answers are
    inaccurate, decided or not. Several samples of an answer count as their mean. With several judges it is the mean of
    their shares, undefined where one of them is, and `unscored` counts answers that no judge decided. `checkable` is the
    share of the sentences called supported whose excerpts are all found; None without any.
    """
    answers = rows.drop_duplicates("answer")
    rated = rows[rows["rated"]]
    sentences = rows.groupby("cluster", sort=False)[["checkable", "supported"]].sum()
    supported, unquoted, checkable = (int(rows[name].sum()) for name in ("supported", "unquoted", "checkable"))
    interval = clustered_share(sentences["checkable"], sentences["supported"]) if supported else None
    return {
        "answers": len(answers),
        "ineligible": int(answers["ineligible"].sum()),
        **{measure: _mean_share(rows, measure) for measure in MEASURES},
        "undecided": int(rows["unadjusted"].isna().sum()),
        "major": int((rated["rating"] == "no").sum()) if len(rated) else None,
        "unrated": int(rated["rating"].isna().sum()) if len(rated) else None,
        "supported": supported,
        "unquoted": unquoted,
        "unfound": supported - unquoted - checkable,
        "checkable": Score(checkable / supported, supported, 0, interval) if supported else None,
    }


def _mean_share(rows: DataFrame, measure: Measure) -> Score:
    """The mean of the judges' shares. Its interval comes from how documents differ: more judges are no more answers."""
    import numpy as np
    import pandas as pd

    # The mean over the samples of an item by each judge, NaN where none is decided.
    sampled = rows.groupby(["item", "judge"], observed=True, sort=False)[measure].mean().unstack("judge")
    means = sampled.reindex(rows["item"].unique()).to_numpy(dtype=float)
    clusters = rows.drop_duplicates("item")["cluster"].tolist()
    if len(set(clusters)) == len(clusters):
        shares = [pass_rate(column) for column in means.T]
    else:  # some documents have several answers
        shares = [clustered_rate(_or_none(column), clusters) for column in means.T]
    if len(shares) == 1:
        return shares[0]
    known = ~np.isnan(means)
    n = int(known.any(axis=1).sum())
    value = mean_of(*(share.value for share in shares))
    if value is None:
        return Score(None, n, len(means) - n)
    sides = (np.nan_to_num(means), known)  # per document and judge how many are yes, and decided
    tops, bottoms = (pd.DataFrame(side).groupby(clusters, sort=False).sum().to_numpy(dtype=float) for side in sides)
    return Score(value, n, len(means) - n, clustered_mean(tops[:, None, :], bottoms[:, None, :]))


def scores_by_document(frame: DataFrame) -> dict[str, float | None]:
    """Return the final score of every document: the mean over judges, then over the answers that all judges decided."""
    answers = frame.groupby(["cluster", "answer"], sort=False)["final"].agg(["mean", "count", "size"])
    decided = answers["mean"].where(answers["count"] == answers["size"])
    scores = decided.groupby("cluster", sort=False).mean()
    return dict(zip(scores.index, _or_none(scores), strict=True))


def scores_by_judge(frame: DataFrame, measure: Measure) -> dict[str, dict[str, float | None]]:
    """Return what each judge gave the answers to every document by a measure: {judge: {document: mean}}."""
    means = frame.groupby(["judge", "cluster"], observed=True, sort=False)[measure].mean()
    return {
        str(judge): dict(zip(part.index.get_level_values("cluster"), _or_none(part), strict=True))
        for judge, part in means.groupby("judge", observed=True)
    }


def _or_none(values: Any) -> list[float | None]:
    """The numbers of a column, None for NaN."""
    return [None if value != value else value for value in values.tolist()]


@dataclass(frozen=True)
class GroundingScores:
    """The scores of a run. `verdicts` is the frame of `verdict_frame`; `table` the rows of `judge_scores` over all answers
    (`by` and `group` are ""), and of `group_scores`."""

    verdicts: DataFrame = field(repr=False)
    table: DataFrame

    @classmethod
    def of(cls, verdicts: DataFrame) -> GroundingScores:
        """Return the scores of a frame of verdicts."""
        import pandas as pd

        parts = [judge_scores(verdicts).assign(by="", group=""), group_scores(verdicts)]
        return cls(verdicts, pd.concat(parts, ignore_index=True))

    def rows(self, by: str = "", judge: str = "") -> list[dict[str, Any]]:
        """Return the rows of one grouping ("" for all answers), of one judge or of all."""
        table = self.table[self.table["by"] == by]
        table = table[table["judge"] == judge] if judge else table
        return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]

    @property
    def mean(self) -> dict[str, Any]:
        """The mean of the judges over all answers: `final`, `unadjusted` and counts."""
        return self.rows(judge=MEAN)[0]

    @property
    def groupings(self) -> list[str]:
        """By what the data tells answers apart: split, domain, task, length, language."""
        return [name for name in dict.fromkeys(self.table["by"]) if name]


_TONES: Mapping[str | None, Tone] = {
    "supported": "yes", "unsupported": "no", "contradictory": "no", "no_rad": "none", None: "open"
}  # fmt: skip
_WORDS = {"no_rad": "nothing to verify", None: "undecided"}
_RATINGS: Mapping[str | None, Label | None] = {"no_issues": "yes", "minor": "yes", "major": "no", None: None}
_RATING_NAMES = {"no_issues": "no issues", "minor": "minor issues", "major": "major issues", None: "undecided"}
_GROUNDED: Mapping[bool | None, Label | None] = {True: "yes", False: "no", None: None}
_AROUND = 90  # characters of the source that are shown on either side of an excerpt
_QUOTES = str.maketrans("“”", '""')  # so that those around the excerpt are the only ones of a passage
ELIGIBLE = "The response does what was asked: not every judge finds major issues in it."
GROUNDED = "The response is grounded in its prompt"


@dataclass(frozen=True)
class Graded:
    """An answer to an item; verdicts and ratings by the judges' names. `document` names what several answers share.

    `itself`: the answer is its own baseline, so that nobody was asked whether it is eligible.
    """

    item: FactsItem
    document: str
    response: Response
    grounding: Mapping[str, Grounding]
    ratings: Mapping[str, Eligibility]
    baseline: str | None = None
    itself: bool = False
    usage: Mapping[str, Usage] = field(default_factory=dict)

    def name(self, beside: bool) -> str:
        """The item; `beside` other answers of the model to it with the number of this one."""
        return sample_name(self.item.id, self.response.sample, beside=beside)

    @property
    def answer(self) -> str:
        """The answer, "" where there is none."""
        return self.response.answers[0] if self.response.answers else ""

    @property
    def eligible(self) -> dict[str, Label | None]:
        """Whether the answer is eligible, by judge; "no" are major issues."""
        return {name: _RATINGS[rating.rating] for name, rating in self.ratings.items()}

    @property
    def undecided(self) -> str:
        """Why a verdict is missing that a score needs; "" where none is.

        Whether an answer is eligible is settled by one judge who finds it so.
        """
        for name, verdict in self.grounding.items():
            if verdict.accurate is None:
                return self.response.error or f"{name}: {verdict.reason}"
        unrated = [] if self.itself or self._consensus else [r for r in self.ratings.items() if r[1].rating is None]
        return f"{unrated[0][0]}: {unrated[0][1].reason}" if unrated else ""

    @property
    def _consensus(self) -> Label | None:
        labels = self.eligible.values()
        return "yes" if "yes" in labels else None if None in labels else "no"

    @property
    def judged(self) -> Judged:
        """As reports and the Space show it: a criterion on eligibility, and one a judge on grounding."""
        verdicts = []
        if self.ratings and not self.itself:
            reasons = (
                f"{anonymous.name(name)}: {_RATING_NAMES[rating.rating]}. {rating.reason}"
                for name, rating in self.ratings.items()
            )
            votes, judges = tuple(self.eligible.values()), " + ".join(self.ratings)
            verdicts.append(Verdict(Criterion(ELIGIBLE), self._consensus, "\n".join(reasons), judges, votes=votes))
        for name, verdict in self.grounding.items():
            text = f"{GROUNDED} ({anonymous.name(name)}, {verdict.template})."
            verdicts.append(Verdict(Criterion(text), _GROUNDED[verdict.accurate], verdict.reason, name))
        instance = self.item.instance
        turn = replace(instance.turns[0], criteria=tuple(verdict.criterion for verdict in verdicts))
        marked = tuple(
            marked_by(name, self.item.source, self.answer, grounding)
            for name, grounding in self.grounding.items()
            if grounding.units
        )
        return Judged(replace(instance, turns=(turn,)), self.response, (tuple(verdicts),), self.usage, marked=marked)

    def row(self, model: str, repeated: bool = False) -> dict[str, Any]:
        """Its line in verdicts.jsonl, of `repeated` samples with its number."""
        return {
            "id": self.item.id, **({"sample": self.response.sample} if repeated else {}),
            "document": self.document, "split": self.item.split, "model": model,
            "ineligible": disqualified([*self.eligible.values()]),
            "grounded": {name: _GROUNDED[verdict.accurate] for name, verdict in self.grounding.items()},
            "eligible": self.eligible,
            "groups": self.item.groups, "undecided": self.undecided, "is_baseline": self.itself,
            "answer": self.answer, "error": self.response.error, "baseline": self.baseline,
            "grounding": {name: asdict(verdict) for name, verdict in self.grounding.items()},
            "ratings": {name: asdict(verdict) for name, verdict in self.ratings.items()},
        }  # fmt: skip


def marked_by(judge: str, source: Source, answer: str, grounding: Grounding) -> Marked:
    """Return an answer in pieces, each with its label and the passages that hold it, as reports and the Space show it."""
    parts = dict(source.parts())
    marks = []
    for unit in grounding.units:
        tone, word = _TONES[unit.label], _WORDS.get(unit.label, str(unit.label))
        if unit.untraced:  # said to be supported, without an excerpt to be found: in doubt
            tone, word = "open", f"{word}, {'excerpt not found' if unit.excerpts else 'no excerpt'}"
        if unit.checked is False:
            word += ", not confirmed by its excerpt alone"
        if unit.start is None:
            word += ", not in the answer word for word"
        passages = tuple(_passage(excerpt, parts) for excerpt in unit.excerpts)
        marks.append((unit.start, Mark(unit.text, tone, word, unit.reason, passages)))
    return Marked(judge, filled(answer, marks))


def _passage(excerpt: Excerpt, parts: Mapping[str, str]) -> str:
    """The passage of the source in which an excerpt stands, within “ ”; of one that stands nowhere what was quoted."""
    if not excerpt.found:
        return f"“{excerpt.text}” (not in the prompt)"
    text = parts[excerpt.place]
    before, after = text[: excerpt.start].rpartition("\n")[2], text[excerpt.end :].partition("\n")[0]
    if len(before) > _AROUND:
        before = "… " + before[-_AROUND:].partition(" ")[2]
    if len(after) > _AROUND:
        after = after[:_AROUND].rpartition(" ")[0] + " …"
    where = excerpt.place if excerpt.ratio == 1 else f"{excerpt.place}, {excerpt.ratio:.0%} alike"
    quote = " ".join(text[excerpt.start : excerpt.end].split()).translate(_QUOTES)
    return f"{before.translate(_QUOTES)}“{quote}”{after.translate(_QUOTES)} ({where})".strip()
