"""How far checklists, those who answer them, and annotators agree (paper 004, sections 3.2 and 5.2).

Checklists are held against the chosen ones, answers against the majority of the annotators (Tables 2, 3, Figure 2, B),
and annotators against each other (Table 6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick.checklists import lengths_table
from truebench_hf.benchmarks.tick.entries import answered, answerers, others, score
from truebench_hf.benchmarks.tick.scoring import ALL, beside_paper, frame_of, paper_rows
from truebench_hf.data.checklist_rows import EFFECTS, ChecklistRow, Judgments, Text, Written
from truebench_hf.metrics.agreement import by_group, label_agreement
from truebench_hf.metrics.binary import mean_of, ratio
from truebench_hf.metrics.correlation import pearson
from truebench_hf.metrics.kappa import alpha_interval, corrected, krippendorff_alpha, skills
from truebench_hf.metrics.pass_rate import checklist_share, clustered_rate
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.metrics.texts import mean_overlap, overlap
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.report.table import Column, Table, plain
from truebench_hf.types import Label, Score

if TYPE_CHECKING:
    from pandas import DataFrame

OTHERS = "one annotator, against the others"
PEOPLE = "people (H')"  # all alternatives that people wrote, as the paper's Table 2 pools them
CHOSEN = "chosen"
Key = tuple[str, str]  # of a response and a checklist


@dataclass(frozen=True)
class AskedQuestion:
    """A question on a response: what most annotators say, what each of them says, and the votes held against it."""

    gold: Label | None
    votes: Sequence[Label | None]
    said: Mapping[str, Label | None]


def question_frame(entries: Sequence[ChecklistRow]) -> DataFrame:
    """A row per question that annotators and a judge answered, and odd number of votes; behind them annotators themselves.

    Columns: by and mode (categoricals: who answered, and how), k (votes), samples (draws of this judge and mode), cluster
    (the instruction), question (an `AskedQuestion`).
    """
    rows: list[tuple[Any, ...]] = []
    judges = dict.fromkeys((judgment.by, judgment.mode) for entry in entries for judgment in entry.judgments)
    for by, mode in judges:
        questions = [(entry.id, question) for entry in entries for question in _votes(entry, by, mode)]
        samples = max((len(question.votes) for _, question in questions), default=0)
        rows += [(by, mode, k, samples, *row) for k in range(1, samples + 1, 2) for row in questions]
    rows += [(OTHERS, "", 1, 1, entry.id, question) for entry in entries for question in _against_others(entry)]
    return frame_of(("by", "mode", "k", "samples", "cluster", "question"), rows, {"by": None, "mode": None})


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
        clusters = [cluster for _, cluster in complete]
        shares = [majority_of(question.votes, question.gold, k) for question, _ in complete]
        rate = clustered_rate([right for right, _ in shares], clusters)
        undecided = ratio(sum(undecided for _, undecided in shares), rate.n)
        moments = _moments([question for question, _ in complete], k, skill)
        less = corrected(moments, skill) if undecided is not None else None  # right less wrong
        labels = [question.gold for question, _ in complete], [question.votes[0] for question, _ in complete]
        return {
            "kappa": label_agreement(*labels, clusters, measures=("kappa",))["kappa"] if k == 1 else None,
            "accuracy": replace(rate, unscored=len(rows) - rate.n), "undecided": undecided,
            "corrected": None if less is None or undecided is None else (less + 1 - undecided) / 2,
        }  # fmt: skip

    frame = by_group(question_frame(entries), ["by", "mode", "k"], accuracy)
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
    title = "Answers to single questions (like the paper's table 3b and figure 2)"
    table = Table.of_frame("accuracy", frame, columns, title=title, note=note, keys=3)
    published = [
        {"by": row["Checklist Evaluator"], "mode": "reasoning", "k": 1,
         "accuracy": Score(row["Question-Level Accuracy"], 0)}
        for row in paper_rows("3b")
    ]  # fmt: skip
    return [beside_paper(table, published)] if table.rows else []


def _moments(questions: Sequence[AskedQuestion], k: int, names: Iterable[str]) -> dict[Hashable, float]:
    """By annotator the share of majorities of k that agree with them, less that of those that differ."""
    moments: dict[Hashable, float] = {}
    for name in names:
        shares = [
            majority_of(question.votes, label, k)
            for question in questions
            if (label := question.said.get(name)) is not None
        ]
        if shares:
            moments[name] = sum(2 * right + open_ - 1 for right, open_ in shares) / len(shares)
    return moments


def _votes(entry: ChecklistRow, by: str, mode: str) -> Iterator[AskedQuestion]:
    """The draws of a judge, in order, on each question that annotators answered, too."""
    drawn: dict[Key, list[Judgments]] = {}
    for judgment in sorted(entry.judgments, key=lambda judgment: judgment.sample):
        if (judgment.by, judgment.mode) == (by, mode):
            drawn.setdefault((judgment.response_id, judgment.checklist_id), []).append(judgment)
    for key, questions in _people(entry).items():
        if key in drawn:
            for labels, votes in zip(
                questions, zip(*(judgment.answers for judgment in drawn[key]), strict=True), strict=True
            ):
                yield AskedQuestion(majority(list(labels.values())).label, votes, labels)  # type: ignore[arg-type]


def _people(entry: ChecklistRow) -> dict[Key, list[dict[str, Label | None]]]:
    """What each annotator says to each question of a checklist about a response."""
    by_key: dict[Key, list[dict[str, Label | None]]] = {}
    for annotation in entry.answers:
        questions = by_key.setdefault(
            (annotation.response_id, annotation.checklist_id), [{} for _ in annotation.answers]
        )
        for labels, label in zip(questions, annotation.answers, strict=True):
            labels[annotation.by] = label
    return by_key


def _against_others(entry: ChecklistRow) -> Iterator[AskedQuestion]:
    """Each annotator's answers, held against the majority of the others: what a judge can be expected to reach."""
    for questions in _people(entry).values():
        for labels in questions:
            for name, label in labels.items() if len(labels) > 2 else ():
                rest = {other: other_label for other, other_label in labels.items() if other != name}
                if label is not None:
                    yield AskedQuestion(majority(list(rest.values())).label, (label,), rest)  # type: ignore[arg-type]


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

    order = {"author": [*(author for author in dict.fromkeys(row[0] for row in rows) if author != PEOPLE), PEOPLE]}
    frame = by_group(frame_of(("author", "id", "overlap"), rows, order), ["author"], alike)
    columns = [
        Column("author", "Checklists by"),
        Column("instructions", "instructions", "count"),
        Column("checklists", "lists", "count"),
    ]
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
    table = Table.of_frame(
        "likeness", frame, columns, title="Checklists and the chosen ones (like the paper's table 2)", note=note
    )
    published = [
        {"author": row["Checklist Source"].replace("H'", PEOPLE), **{name: row[title] for name, title in _OVERLAP.items()}}
        for row in paper_rows("2")
    ]  # fmt: skip
    return [beside_paper(table, published)] if table.rows else []


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
    for by in answerers(entries):
        for entry, checklist, response in _beside(entries):
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
    for by in answerers(entries):
        for entry, checklist, response in _beside(entries):
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
        for checklist in others(entry):
            for response in entry.responses:
                yield entry, checklist, response


def _correlated(
    name: str, rows: Sequence[tuple[Any, ...]], by: Column, title: str, note: str, published: Sequence[Mapping[str, Any]]
) -> list[Table]:  # fmt: skip
    """Pearson's r of two figures of a response; rows are (author, by, run, figure, figure): run by run, then averaged."""

    def correlation(rows: DataFrame) -> dict[str, Any]:
        runs = [pearson(list(map(plain, run["x"])), list(map(plain, run["y"]))) for _, run in rows.groupby("run")]
        known = [run.value for run in runs if run.value is not None]
        return {"r": Score(mean_of(*known), sum(run.n for run in runs), sum(run.left_out for run in runs))}

    frame = frame_of(("author", "by", "run", "x", "y"), rows, {"author": None, "by": None})
    r = Column("r", "Pearson r", "score", unit="", digits=3, parts=("value", "n", "unscored"))
    columns = (Column("author", "Checklists by"), by, r)
    table = Table.of_frame(
        name, by_group(frame, ["by", "author"], correlation), columns, title=title, note=note, keys=2
    )
    known = any(row["r"].n or row["r"].unscored for row in table.rows)
    return [beside_paper(table, published)] if known else []


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
        agreed = krippendorff_alpha(ratings, level)
        interval = alpha_interval(ratings, level, clusters=clusters, seed=seed)
        return {
            "ratings": len(values), "alpha": Score(agreed.value, agreed.n, agreed.left_out, interval),
            "mean": ratio(sum(values), len(values)),
        }  # fmt: skip

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
    title = "Agreement of annotators (like the paper's table 6)"
    table = Table.of_frame("agreement", by_group(frame, ["what"], alpha), columns, title=title, note=note)
    published = [
        {"what": _PAPER[row["Eval. Protocol"]], "alpha": Score(row["Inter-Annotator Agreement"], 0),
         "mean": row["Command-R+ Avg. Score"]}
        for row in paper_rows("6") if row["Eval. Protocol"] in _PAPER
    ]  # fmt: skip
    own = {row["what"] for row in table.rows}
    table = beside_paper(table, (row for row in published if row["what"] in own))
    return [*([table] if own else []), *_effects(entries), *_preferences(frame)]


def _effects(entries: Sequence[ChecklistRow]) -> list[Table]:
    """How often annotators say that a checklist made scoring easier, harder, or had no effect."""
    tally = Counter(rating.effect for entry in entries for rating in entry.ratings if rating.effect)
    rows = [{"effect": name, "answers": tally[name], "share": ratio(tally[name], tally.total())} for name in EFFECTS]
    published = [{"effect": name, "share": share} for name, share in _PAPER_EFFECTS.items()]
    columns = (
        Column("effect", "effect"),
        Column("answers", "answers", "count"),
        Column("share", "%", "number", digits=1),
    )
    title = "What answering the checklist did to scoring (like the paper's appendix H.4)"
    return [beside_paper(Table("effects", columns, rows, title), published)] if tally else []


def _preferences(frame: DataFrame) -> list[Table]:
    items = frame[frame["what"] == _PREFERENCES].groupby("item", sort=False)["value"]
    labels = Counter(preference_from_ratings(list(ratings)) for _, ratings in items)
    rows = [{"label": name, "pairs": labels[name]} for name in ("win", "tie", "loss")]
    note = "About the response that stands first in the data, by the mean of its annotators: below 2.5 is a win, above 3.5 a loss."
    columns = (Column("label", "label"), Column("pairs", "pairs", "count"))
    return [Table("preferences", columns, rows, "Preferences", note)] if labels else []
