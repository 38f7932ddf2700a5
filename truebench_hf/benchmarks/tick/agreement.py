"""How far checklists, those who answer them, and annotators agree (paper 004, sections 3.2 and 5.2).

Checklists are held against the chosen ones, answers against the majority of the annotators (Tables 2, 3, Figure 2, B),
and annotators against each other (Table 6).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick.checklists import lengths_table
from truebench_hf.benchmarks.tick.entries import answered, answerers, others, score
from truebench_hf.benchmarks.tick.scoring import ALL, beside_paper, frame_of, grouped_table, paper_rows
from truebench_hf.data.checklist_rows import EFFECTS, ChecklistRow, Text, Written
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import mean_of, ratio
from truebench_hf.metrics.kappa import corrected, krippendorff_alpha, skills
from truebench_hf.metrics.pass_rate import checklist_share, clustered_rate
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.metrics.ranks import correlation as coefficient
from truebench_hf.metrics.texts import mean_overlap, overlap
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.report.table import Column, Table, plain
from truebench_hf.types import Label, Score

if TYPE_CHECKING:
    from pandas import DataFrame

OTHERS = "one annotator, against the others"
PEOPLE = "people (H')"  # all alternatives that people wrote, as the paper's Table 2 pools them
CHOSEN = "chosen"


@dataclass(frozen=True)
class AskedQuestion:
    """A question on a response: what most annotators say, the votes held against it, and what each annotator says."""

    gold: Label | None
    votes: Sequence[Label | None]
    labels: Mapping[str, Label | None]


def question_frame(entries: Sequence[ChecklistRow]) -> DataFrame:
    """A row per question that annotators and a judge answered, and odd number of votes; behind them annotators themselves.

    Columns: by and mode (categoricals: who answered, and how), k (votes), samples (draws of this judge and mode), cluster
    (the instruction), question (an `AskedQuestion`).
    """
    rows: list[tuple[Any, ...]] = []
    judges = dict.fromkeys((judgment.by, judgment.mode) for entry in entries for judgment in entry.judgments)
    for entry in entries:
        drawn: defaultdict[tuple[str, ...], list[Sequence[Label | None]]] = defaultdict(list)
        for judgment in sorted(entry.judgments, key=lambda judgment: judgment.sample):
            drawn[judgment.by, judgment.mode, judgment.response_id, judgment.checklist_id].append(judgment.answers)
        for key, questions in _people(entry).items():
            for judge in judges:
                votes = zip(*drawn[*judge, *key], strict=True) if (*judge, *key) in drawn else ()
                for labels, draws in zip(questions, votes, strict=False):
                    rows.append((*judge, entry.id, AskedQuestion(_most(labels), draws, labels)))
            # Each annotator held against the majority of the others: what a judge can be expected to reach.
            for labels in questions if len(questions[0]) > 2 else ():
                for name, label in labels.items():
                    rest = {other: other_label for other, other_label in labels.items() if other != name}
                    if label is not None:
                        rows.append((OTHERS, "", entry.id, AskedQuestion(_most(rest), (label,), rest)))
    sides = [*judges, (OTHERS, "")]
    order = {"by": [by for by, _ in sides], "mode": [mode for _, mode in sides]}
    frame = frame_of(("by", "mode", "cluster", "question"), rows, order)
    draws = frame["question"].map(lambda question: len(question.votes))
    frame["samples"] = draws.groupby([frame["by"], frame["mode"]], observed=True).transform("max")
    frame["k"] = [list(range(1, samples + 1, 2)) for samples in frame["samples"]]
    return frame.explode("k", ignore_index=True)


def _people(entry: ChecklistRow) -> dict[tuple[str, str], list[dict[str, Label | None]]]:
    """By response and checklist what each annotator says to each question."""
    by_key: dict[tuple[str, str], list[dict[str, Label | None]]] = {}
    for annotation in entry.answers:
        key = annotation.response_id, annotation.checklist_id
        for labels, label in zip(
            by_key.setdefault(key, [{} for _ in annotation.answers]), annotation.answers, strict=True
        ):
            labels[annotation.by] = label
    return by_key


def _most(labels: Mapping[str, Label | None]) -> Any:
    return majority(list(labels.values())).label


def accuracy_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return the accuracy of every judge in every mode at maj@k, over all subsets of k of its draws (Table 3b, Figure 2).

    What a majority leaves open is wrong. Unscored are questions without a majority of annotators to be held against, or
    that were drawn less often than others: every k is of the same questions.
    """
    skill = skills([labels for entry in entries for questions in _people(entry).values() for labels in questions])

    def accuracy(rows: DataFrame) -> dict[str, Any]:
        complete = [
            (question, cluster) for question, cluster, samples in zip(rows["question"], rows["cluster"], rows["samples"], strict=True)
            if question.gold is not None and len(question.votes) == samples
        ]  # fmt: skip
        k = rows["k"].iloc[0] if len(rows) else 1
        questions, clusters = [question for question, _ in complete], [cluster for _, cluster in complete]
        shares = [majority_of(question.votes, question.gold, k) for question in questions]
        rate = clustered_rate([right for right, _ in shares], clusters)
        undecided, without_errors = ratio(sum(undecided for _, undecided in shares), rate.n), None
        moments: dict[Hashable, float] = {}
        for name in skill:  # the share of majorities that agree with an annotator, less that of those that differ
            labelled = [q for q in questions if q.labels.get(name) is not None]
            agreed = [majority_of(question.votes, question.labels[name], k) for question in labelled]
            if agreed:
                moments[name] = sum(2 * right + open_ - 1 for right, open_ in agreed) / len(agreed)
        if undecided is not None and (less := corrected(moments, skill)) is not None:  # right less wrong
            without_errors = (less + 1 - undecided) / 2
        gold, first = [question.gold for question in questions], [question.votes[0] for question in questions]
        return {
            "kappa": label_agreement(gold, first, clusters, measures=("kappa",))["kappa"] if k == 1 else None,
            "accuracy": replace(rate, unscored=len(rows) - rate.n), "undecided": undecided, "corrected": without_errors,
        }  # fmt: skip

    columns = (
        Column("by", "Answered by"), Column("mode", "mode"), Column("k", "votes", "count"),
        Column("accuracy", "accuracy %", "score", "Against the majority of the annotators.", digits=1, parts=ALL, drawn=True),
        Column("kappa", "kappa", "score", "Cohen's, of the first answer, beyond chance.", unit="", digits=3, minor=2),
        Column("undecided", "undecided %", "number", "What a majority of k leaves open, which is wrong.", digits=1, minor=1),
        Column("corrected", "corrected %", "number", "What it would be without the errors of annotators, if all err "
               "independently, as three annotators and more agree among themselves.", digits=1),
    )  # fmt: skip
    note = (
        "Of k votes the majority counts (maj@k): the mean over all subsets of k answers. Errors of annotators lower what a "
        "judge can reach (see one annotator against the others)."
    )
    published = [
        {"by": row["Checklist Evaluator"], "mode": "reasoning", "k": 1,
         "accuracy": Score(row["Question-Level Accuracy"], 0)}
        for row in paper_rows("3b")
    ]  # fmt: skip
    frame, title = question_frame(entries), "Answers to single questions (like the paper's table 3b and figure 2)"
    table = grouped_table(
        "accuracy", frame, ["by", "mode", "k"], accuracy, columns, published=published, title=title, note=note
    )
    return [table] if len(frame) else []


_OVERLAP = {
    "bleu": "BLEU",
    "rouge_1": "ROUGE-1 F1",
    "rouge_2": "ROUGE-2 F1",
    "rouge_l": "ROUGE-L F1",
    "count": "Count MAE",
}


def likeness_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how alike each author's checklists and the chosen ones are (Table 2); those of people also together.

    Means are first over an author's lists for an instruction, then over instructions.
    """
    rows = [
        (author, entry.id, overlap(checklist.questions, entry.chosen.questions))
        for entry in entries if entry.chosen for checklist in others(entry)
        for author in (checklist.author, *([PEOPLE] if checklist.source == "human" else []))
    ]  # fmt: skip

    def alike(rows: DataFrame) -> dict[str, Any]:
        instructions = [mean_overlap(list(own)) for _, own in rows.groupby("id", sort=False)["overlap"]]
        mean = mean_overlap([own for own in instructions if own])
        measured = dict.fromkeys(_OVERLAP) if mean is None else asdict(mean)
        return {"instructions": len(instructions), "checklists": len(rows), **measured}

    authors = [author for author in dict.fromkeys(row[0] for row in rows) if author != PEOPLE]
    frame = frame_of(("author", "id", "overlap"), rows, {"author": [*authors, PEOPLE]})
    counts = (Column("instructions", "instructions", "count"), Column("checklists", "lists", "count"))
    columns = [Column("author", "Checklists by"), *counts]
    columns += [
        Column(name, title, "number", unit="", digits=3, lower_is_better=name == "count")
        for name, title in _OVERLAP.items()
    ]
    note = (
        "Sentence BLEU (sacrebleu, 0 to 1) and F1 of ROUGE (rouge-score, no stemming) of all questions of a list as one "
        "text; count MAE in questions. Words are found in every script; Chinese, Japanese and Thai go sign by sign. The paper "
        "does not say which BLEU it took; but for punctuation BLEU-4 lies below ROUGE-1, so that its column is of another kind "
        "than ours."
    )
    published = [
        {"author": row["Checklist Source"].replace("H'", PEOPLE), **{name: row[title] for name, title in _OVERLAP.items()}}
        for row in paper_rows("2")
    ]  # fmt: skip
    title = "Checklists and the chosen ones (like the paper's table 2)"
    table = grouped_table("likeness", frame, ["author"], alike, columns, published=published, title=title, note=note)
    return [table] if rows else []


def length_tables(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how many checklists of each author have how many questions; the chosen ones apart (Figure 5)."""
    by_author: dict[str, Counter[int]] = {}
    for entry in entries:
        for checklist in entry.checklists:
            sizes = by_author.setdefault(CHOSEN if checklist.chosen else checklist.author, Counter())
            sizes[len(checklist.questions)] += 1
    title = "How long checklists are (like the paper's figure 5)"
    return [replace(lengths_table(by_author, title), printed=True)] if by_author else []


def rate_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how the pass rates of responses under other checklists and the chosen one go together (Table 3a)."""
    rows = []
    for by, (entry, checklist, response) in product(answerers(entries), _beside(entries)):
        own = answered(entry, response, checklist, by)
        chosen = answered(entry, response, entry.chosen, by) if entry.chosen else None
        if own is not None and chosen is not None:
            rows.append((checklist.author, by, checklist.run, checklist_share(own), checklist_share(chosen)))
    names = {"Internal": "people (Internal)", "InFoBench": "GPT-4 (InFoBench)"}
    published = [
        {"author": row["Checklist Generator"], "by": by, "r": Score(row[name], 0)}
        for row in paper_rows("3a") for name, by in names.items()
    ]  # fmt: skip
    note = (
        "Pearson's r over responses of the pass rates under a checklist and under the chosen one, by the same answerer; run by "
        "run, then averaged. Unscored: responses with an open question in one of them."
    )
    title = "Pass rates under other checklists (like the paper's table 3a)"
    return _correlated("rates", rows, Column("by", "answered by"), title, note, published)


_PAPER_B2 = {"InFoBench score": -0.001, "WildBench score": 0.028}  # appendix B.2, its text


def difficulty_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how the length of checklists and the scores of responses to their instructions go together (appendix B.2)."""
    rows = [
        (checklist.author, "score from 1 to 5, by people", checklist.run, len(checklist.questions), score(entry, response))
        for entry, checklist, response in _beside(entries)
    ]  # fmt: skip
    for by, (entry, checklist, response) in product(answerers(entries), _beside(entries)):
        labels = answered(entry, response, entry.chosen, by) if entry.chosen else None
        share, name = checklist_share(labels or ()), f"pass rate of the chosen checklist, by {by}"
        rows.append((checklist.author, name, checklist.run, len(checklist.questions), share))
    published = [{"author": "GPT-4o", "by": by, "r": Score(r, 0)} for by, r in _PAPER_B2.items()]
    note = "Far from 0 where long checklists go with hard (or easy) instructions."
    title = "Length and difficulty (like the paper's appendix B.2)"
    return _correlated("difficulty", rows, Column("by", "score of the response"), title, note, published)


def _beside(entries: Sequence[ChecklistRow]) -> Iterator[tuple[ChecklistRow, Written, Text]]:
    """Every response beside each checklist for its instruction that is not the chosen one."""
    for entry in entries:
        for checklist, response in product(others(entry), entry.responses):
            yield entry, checklist, response


def _correlated(
    name: str, rows: Sequence[tuple[Any, ...]], by: Column, title: str, note: str, published: Sequence[Mapping[str, Any]]
) -> list[Table]:  # fmt: skip
    """Pearson's r of two figures of a response; rows are (author, by, run, figure, figure): run by run, then averaged."""

    def correlation(rows: DataFrame) -> dict[str, Any]:
        runs = [
            coefficient(list(map(plain, run["x"])), list(map(plain, run["y"])), "pearson")
            for _, run in rows.groupby("run")
        ]
        known = [run.value for run in runs if run.value is not None]
        return {"r": Score(mean_of(*known), sum(run.n for run in runs), sum(run.unscored for run in runs))}

    frame = frame_of(("author", "by", "run", "x", "y"), rows, {"author": None, "by": None})
    r = Column("r", "Pearson r", "score", unit="", digits=3, parts=("value", "n", "unscored"))
    columns = (Column("author", "Checklists by"), by, r)
    table = grouped_table(
        name, frame, ["by", "author"], correlation, columns, published=published, title=title, note=note
    )
    return [table] if rows else []


_TITLES = {"direct": "direct scoring", "check_then_score": "check-then-score"}
_PREFERENCES, _ANSWERS = "preferences, 1 to 5", "answers to questions"
_PAPER = {"Direct Scoring": "direct scoring", "Check-then-Score": "check-then-score"}
_PAPER_EFFECTS = {"easier": 0.785, "harder": 0.064, "no effect": 0.15}  # appendix H.4


def rating_frame(entries: Sequence[ChecklistRow]) -> DataFrame:
    """A row per thing that an annotator was asked about.

    Columns: what (categorical: scores by protocol, preferences, answers), cluster (the instruction), item (what was asked
    about: annotators with the same item answered the same), value (1 to 5, yes or no, None: left open). A preference is
    about the response that stands first in the data.
    """
    rows: list[tuple[Any, ...]] = []
    for entry in entries:
        place = {response.id: n for n, response in enumerate(entry.responses)}
        rows += [(_TITLES[r.protocol], entry.id, str((entry.id, r.response_id)), r.score) for r in entry.ratings]
        for preference in entry.preferences:
            a, b = preference.response_a, preference.response_b
            rating = preference.rating if place[a] < place[b] else 6 - preference.rating
            rows.append((_PREFERENCES, entry.id, str((entry.id, *sorted((a, b)))), rating))
        rows += [
            (_ANSWERS, entry.id, str((entry.id, answers.response_id, answers.checklist_id, number)), label)
            for answers in entry.answers for number, label in enumerate(answers.answers)
        ]  # fmt: skip
    return frame_of(("what", "cluster", "item", "value"), rows, {"what": [*_TITLES.values(), _PREFERENCES, _ANSWERS]})


def annotator_tables(entries: Sequence[ChecklistRow], seed: int = 0) -> list[Table]:
    """Return how far annotators agree (Table 6), what answering a checklist did to scoring (H.4), and their preferences."""

    def alpha(rows: DataFrame) -> dict[str, Any]:
        items = [own for _, own in rows.groupby("item", sort=False)]
        level: Any = "nominal" if len(rows) and rows["what"].iloc[0] == _ANSWERS else "ordinal"
        ratings, clusters = [list(own["value"]) for own in items], [own["cluster"].iloc[0] for own in items]
        values = [float(value == "yes" if isinstance(value, str) else value) for value in rows["value"] if value]
        agreed = krippendorff_alpha(ratings, level, clusters=clusters, seed=seed)
        return {"ratings": len(values), "alpha": agreed, "mean": ratio(sum(values), len(values))}

    frame = rating_frame(entries)
    columns = (
        Column("what", "what"), Column("ratings", "ratings", "count"),
        Column("alpha", "alpha", "score", "Krippendorff's; items with a single rating are unscored.", unit="", digits=3, parts=ALL),
        Column("mean", "mean", "number", "Of the scores; of answers the share of yes.", unit="", digits=3),
    )  # fmt: skip
    note = (
        "Krippendorff's alpha at the ordinal level (the paper names none), of answers at the nominal one, with a bootstrap "
        "interval over instructions; none of fewer than ten."
    )
    published = [
        {"what": _PAPER[row["Eval. Protocol"]], "alpha": Score(row["Inter-Annotator Agreement"], 0),
         "mean": row["Command-R+ Avg. Score"]}
        for row in paper_rows("6") if _PAPER.get(row["Eval. Protocol"]) in set(frame["what"])
    ]  # fmt: skip
    title = "Agreement of annotators (like the paper's table 6)"
    agreed = grouped_table("agreement", frame, ["what"], alpha, columns, published=published, title=title, note=note)
    return [*([agreed] if len(frame) else []), *_effects(entries), *_preferences(frame)]


def _effects(entries: Sequence[ChecklistRow]) -> list[Table]:
    """How often annotators say that a checklist made scoring easier, harder, or had no effect."""
    tally = Counter(rating.effect for entry in entries for rating in entry.ratings if rating.effect)
    rows = [{"effect": name, "answers": tally[name], "share": ratio(tally[name], tally.total())} for name in EFFECTS]
    published = [{"effect": name, "share": share} for name, share in _PAPER_EFFECTS.items()]
    share = Column("share", "%", "number", digits=1)
    columns = (Column("effect", "effect"), Column("answers", "answers", "count"), share)
    title = "What answering the checklist did to scoring (like the paper's appendix H.4)"
    return [beside_paper(Table("effects", columns, rows, title), published)] if tally else []


def _preferences(frame: DataFrame) -> list[Table]:
    items = frame[frame["what"] == _PREFERENCES].groupby("item", sort=False)["value"]
    labels = Counter(preference_from_ratings(list(ratings)) for _, ratings in items)
    rows = [{"label": name, "pairs": labels[name]} for name in ("win", "tie", "loss")]
    note = "About the response that stands first in the data, by the mean of its annotators: below 2.5 is a win, above 3.5 a loss."
    columns = (Column("label", "label"), Column("pairs", "pairs", "count"))
    return [Table("preferences", columns, rows, "Preferences", note)] if labels else []
