"""Rows of instructions to people and back, and how far annotators agree (paper 004, section 5.2, Table 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from truebench_hf.benchmarks.tick.annotation import asked, asked_about, join_answers, possible, read_rows
from truebench_hf.benchmarks.tick.entries import entry_items, load_entries
from truebench_hf.benchmarks.tick.scoring import INTERVAL, paper_rows
from truebench_hf.data.checklist_rows import EFFECTS, PROTOCOLS, Entry
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import alpha_interval, krippendorff_alpha
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.report.labels import Annotations, write_rows
from truebench_hf.report.sections import Grid, fixed
from truebench_hf.study.labelling import SHEETS, Draw, LabelAskOptions, LabelInOptions, Labelling, Taken

V = TypeVar("V")
TITLES = {"direct": "direct scoring", "check_then_score": "check-then-score"}
_PAPER = {"direct": "Direct Scoring", "check_then_score": "Check-then-Score"}
_PAPER_EFFECTS = {"easier": 78.5, "harder": 6.4, "no effect": 15.0}  # percent; appendix H.4


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha over `items` with two ratings or more, its 95 % interval, and the mean of all `ratings`."""

    alpha: float | None
    interval: tuple[float, float] | None
    items: int
    left_out: int
    ratings: int
    mean: float | None


def score_agreement(entries: Sequence[Entry], protocol: str, seed: int = 0) -> Agreement:
    """The scores of responses under a protocol; instructions are the clusters of the interval."""
    items = [
        (entry.id, scores)
        for entry in entries
        for scores in _grouped(
            (rating.response_id, rating.score) for rating in entry.ratings if rating.protocol == protocol
        )
    ]
    return _agreement(items, "ordinal", seed)


def preference_agreement(entries: Sequence[Entry], seed: int = 0) -> tuple[Agreement, Counter[str]]:
    """The preferences of pairs, and their labels by the bins of section 3.2.2, about the response that stands first."""
    items: list[tuple[str, list[int]]] = []
    for entry in entries:
        order = [response.id for response in entry.responses]
        pairs = [
            (sorted((preference.response_a, preference.response_b), key=order.index), preference)
            for preference in entry.preferences
        ]
        ratings = (
            (tuple(ids), preference.rating if ids[0] == preference.response_a else 6 - preference.rating)
            for ids, preference in pairs
        )
        items += [(entry.id, group) for group in _grouped(ratings)]
    labels = Counter(label for _, group in items if (label := preference_from_ratings(group)))
    return _agreement(items, "ordinal", seed), labels


def answer_agreement(entries: Sequence[Entry], seed: int = 0) -> Agreement:
    """The answers to single questions, at the nominal level; the mean is the share of yes."""
    items = [
        (entry.id, labels)
        for entry in entries
        for group in _grouped(((answer.response_id, answer.checklist_id), answer.answers) for answer in entry.answers)
        for labels in zip(*group, strict=True)
    ]
    return _agreement(items, "nominal", seed)


def effects(entries: Sequence[Entry]) -> Counter[str]:
    """How often annotators say that a checklist made scoring easier, harder, or had no effect."""
    return Counter(rating.effect for entry in entries for rating in entry.ratings if rating.effect)


def _grouped(keyed: Iterable[tuple[Hashable, V]]) -> list[list[V]]:
    """The values of each key, in order of appearance."""
    groups: dict[Hashable, list[V]] = {}
    for key, value in keyed:
        groups.setdefault(key, []).append(value)
    return list(groups.values())


def _agreement(
    items: Sequence[tuple[str, Sequence[int | str | None]]], level: Literal["nominal", "ordinal"], seed: int
) -> Agreement:
    ratings = [group for _, group in items]
    values = [
        float(value == "yes" if isinstance(value, str) else value) for group in ratings for value in group if value
    ]
    alpha = krippendorff_alpha(ratings, level)
    ends = alpha_interval(ratings, level, clusters=[name for name, _ in items], seed=seed)
    return Agreement(alpha.value, ends, alpha.n, alpha.left_out, len(values), ratio(sum(values), len(values)))


def agreement_sections(entries: Sequence[Entry], seed: int = 0) -> list[Grid]:
    """Whatever the rows have ratings for: table 6 of the paper, the tally of effects, preferences, answers."""
    by_protocol = {protocol: score_agreement(entries, protocol, seed) for protocol in PROTOCOLS}
    grids = []
    if any(agreement.ratings for agreement in by_protocol.values()):
        rows = [(TITLES[name], *_line(agreement)) for name, agreement in by_protocol.items() if agreement.ratings]
        paper = [
            (TITLES[name], "", "", fixed(row["Inter-Annotator Agreement"], 3), "", fixed(row["Command-R+ Avg. Score"], 3))
            for name in by_protocol for row in paper_rows("6") if row["Eval. Protocol"] == _PAPER[name]
        ]  # fmt: skip
        note = (
            "Krippendorff's alpha at the ordinal level (the paper names none), with a bootstrap interval over "
            "instructions; none of fewer than ten. Items: responses with two scores or more."
        )
        grids.append(Grid("Scores from 1 to 5 (like the paper's table 6)", _HEADER, tuple(rows), tuple(paper), note))
    if tally := effects(entries):
        total = tally.total()
        lines = [(name, tally[name], fixed(100 * tally[name] / total, 1)) for name in EFFECTS]
        printed = [(name, "", fixed(share, 1)) for name, share in _PAPER_EFFECTS.items()]
        title = "What answering the checklist did to scoring (like the paper's appendix H.4)"
        grids.append(Grid(title, ("effect", "answers", "%"), tuple(lines), tuple(printed)))
    return grids + _others(entries, seed)


def _others(entries: Sequence[Entry], seed: int) -> list[Grid]:
    preferred, labels = preference_agreement(entries, seed)
    by_measure = {
        "preferences, 1 to 5 (ordinal)": preferred,
        "answers to questions (nominal)": answer_agreement(entries, seed),
    }
    rows = tuple((name, *_line(agreement)) for name, agreement in by_measure.items() if agreement.ratings)
    grids = [Grid("Other answers", _HEADER, rows, note="The mean of answers is the share of yes.")] if rows else []
    if labels:
        counted = [(name, labels[name]) for name in ("win", "tie", "loss")]
        note = "About the response that stands first in the data, by the mean of its annotators: below 2.5 is a win, above 3.5 a loss."
        grids.append(Grid("Preferences", ("label", "pairs"), tuple(counted), note=note))
    return grids


_HEADER = ("what", "ratings", "items", "alpha", INTERVAL, "mean")


def _line(agreement: Agreement) -> tuple[str | int, ...]:
    ends = f"{agreement.interval[0]:.3f} to {agreement.interval[1]:.3f}" if agreement.interval else ""
    return agreement.ratings, agreement.items, fixed(agreement.alpha, 3), ends, fixed(agreement.mean, 3)


class RowLabels(Labelling):
    """Rows of the `checklists` form, or what becomes such rows."""

    heeds = ("ask", "author", "out")
    written = True

    def folder(self, options: LabelAskOptions | LabelInOptions) -> Path:
        """FILE-sheets, beside the file; of rows that stand elsewhere in the current folder."""
        file = Path(self.place) if Path(self.place).name else Path(self.place).resolve()  # the current folder
        return file.with_name(f"{file.stem}-{SHEETS}") if file.exists() else Path(f"{file.name}-{SHEETS}")

    def _entries(self) -> list[Entry]:
        """The rows. Raises UserError where there are none: any other folder ends here, too."""
        try:
            return load_entries(self.place)
        except UserError as error:
            if not Path(self.place).is_dir():
                raise
            raise UserError(f"{self.place}: is no folder of a finished run or study, and no rows: {error}") from error

    def labels_file(self, options: LabelInOptions) -> None:
        return None

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """None without `--out`: then what the rows hold is shown."""
        return super().unnamed_sheets(options) if options.out else []

    def draw(self, options: LabelAskOptions) -> Draw:
        """The questions of a protocol about `n` instructions, which keep the shares of languages and categories."""
        entries = self._entries()
        protocol = options.ask or possible(entries, options.author)
        chosen = entry_items(asked_about(entries, protocol, options.author)).sampled(options.n, options.seed)
        questions = [q for entry in chosen for q in asked(entry, protocol, options.author, options.seed)]
        return Draw(questions, [f"{protocol}: {len(questions)} questions about {len(chosen)} instructions"])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """The rows with all answers, written to `out`; without sheets what the rows hold. `value` are the entries."""
        if decisions:
            raise UserError("--decisions: rows keep the answers of every annotator; hand the sheet in as the others")
        if bool(new.labels) != (options.out is not None):
            raise UserError(
                "give filled-in sheets and --out, a JSONL for the rows with them (their own file adds them there); or "
                "neither: then what the rows hold is shown"
            )
        entries, notes, files = self._entries(), list[str](), list[Path]()
        if options.out is not None:
            out = Path(options.out)
            if out.exists() and not (Path(self.place).exists() and out.samefile(self.place)):
                raise UserError(f"--out {out}: is there already; name another file, or {self.place} to add to it")
            returned = join_answers(entries, new)
            out.parent.mkdir(parents=True, exist_ok=True)
            write_rows(out, returned.rows)
            entries, files = read_rows(returned.rows), [out]
            counts = ", ".join(f"{count} {what}" for what, count in returned.counts.items()) or "nothing"
            notes = [f"New: {counts}.", *returned.notes]
        return Taken(entries, None, agreement_sections(entries), notes=notes, files=files)
