"""`truebench study checklist validate`: how far checklists, and judges who answer them, can be trusted (section 3.2).

Models add to the rows what the data does not hold: generators their checklists, judges their answers. All scores are
then read off the rows, so that rows which hold everything need no model, and the rows written here are such. The report
has the paper's tables 2, 3a and 3b, its figures 2 and 5, and appendix B.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from math import inf
from typing import Any

from truebench_hf.benchmarks.tick import entries as scores
from truebench_hf.benchmarks.tick.entries import DATA_HELP, entry_items, load_entries
from truebench_hf.benchmarks.tick.scoring import INTERVAL, paper_rows
from truebench_hf.data.checklist_rows import Entry, Judgments, Text, Written
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import SAMPLING, USUAL, generate_checklist
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.report.sections import Axis, Cells, Grid, Plot, Section, Series, fixed, interval, percent
from truebench_hf.study.items import Items
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Board, Column, Outcome, Row
from truebench_hf.study.study import Study
from truebench_hf.text import anonymous
from truebench_hf.types import Verdict

TITLE = "TICK: checklists and their judges, validated"
LEAD = "Checklists are held against the chosen ones, and who answers them against the majority of the annotators."
_PAPER_B2 = (("GPT-4o", "InFoBench score", "-0.001"), ("GPT-4o", "WildBench score", "0.028"))  # appendix B.2, its text
_MEASURES = ("BLEU", "ROUGE-1 F1", "ROUGE-2 F1", "ROUGE-L F1")


def validation_sections(entries: Sequence[Entry]) -> list[Section]:
    """Whatever the rows have something for."""
    return [*_alike(entries), *_rates(entries), *_accuracy(entries), *_lengths(entries), *_hard(entries)]


def validation_board(entries: Sequence[Entry], provenance: Mapping[str, Any]) -> Board | None:
    """The judges by their accuracy with one answer, with reasoning where they have it; None where there are none."""
    accuracies = [accuracy for accuracy in scores.accuracy(entries) if accuracy.mode]
    lines = []
    for by in dict.fromkeys(accuracy.by for accuracy in accuracies):
        own = {(accuracy.mode, accuracy.k): accuracy.score for accuracy in accuracies if accuracy.by == by}
        most = max((k for mode, k in own if mode == "reasoning"), default=1)
        cells = {"direct": own.get(("direct", 1)), "majority": own.get(("reasoning", most)) if most > 1 else None}
        cells["accuracy"] = own.get(("reasoning", 1)) or own["direct", 1]
        known = {name: score for name, score in cells.items() if score is not None}
        facts = {"Data": anonymous.name(str(provenance["data"]))} | ({"Majority of": str(most)} if most > 1 else {})
        facts |= rules_fact(provenance)
        setting = digest(canonical([provenance["data_sha256"], provenance.get("rules", "off")]))
        lines.append(Row(anonymous.name(by), setting, known, facts))
    columns = (Column("accuracy", "Accuracy"), Column("direct", "Without reasoning"), Column("majority", "Majority"))
    measured = {name for line in lines for name in line.scores}
    if not lines:
        return None
    present_columns = tuple(column for column in columns if column.name in measured)
    return Board(
        "accuracy",
        present_columns,
        tuple(lines),
        title="TICK: judges of checklists",
        unit="Agreement with annotators in %",
    )


def _alike(entries: Sequence[Entry]) -> list[Section]:
    rows: list[Cells] = [
        (likeness.author, likeness.instructions, likeness.checklists, *(fixed(value, 3) for value in astuple(likeness.overlap)))
        for likeness in scores.likeness(entries) if likeness.overlap
    ]  # fmt: skip
    names = (*_MEASURES, "Count MAE")
    paper = [
        (row["Checklist Source"].replace("H'", scores.PEOPLE), "", "", *(fixed(row[name], 3) for name in names))
        for row in paper_rows("2")
    ]
    note = (
        "Sentence BLEU (sacrebleu, 0 to 1) and F1 of ROUGE (rouge-score, no stemming) of all questions of a list as one "
        "text, averaged over an author's lists for an instruction, then over instructions; count MAE in questions. Words "
        "are found in every script; Chinese, Japanese and Thai go sign by sign. The paper does not say which BLEU it "
        "took; but for punctuation BLEU-4 lies below ROUGE-1, so that its column is of another kind than ours."
    )
    header = ("Checklists by", "instructions", "lists", *names)
    return _table("Checklists and the chosen ones (like the paper's table 2)", header, rows, paper, note)


def _rates(entries: Sequence[Entry]) -> list[Section]:
    rows = [
        (correlation.author, correlation.by, correlation.n, correlation.left_out, fixed(correlation.r, 3))
        for correlation in scores.rates(entries)
    ]
    by = {"Internal": "people (Internal)", "InFoBench": "GPT-4 (InFoBench)"}
    paper = [
        (row["Checklist Generator"], by[name], "", "", fixed(row[name], 3)) for row in paper_rows("3a") for name in by
    ]
    note = (
        "Pearson's r over responses of the pass rates under a checklist and under the chosen one, by the same answerer; "
        "run by run, then averaged. Left out: responses with an open question in one of them."
    )
    header = ("Checklists by", "answered by", "pairs", "left out", "Pearson r")
    return _table("Pass rates under other checklists (like the paper's table 3a)", header, rows, paper, note)


def _accuracy(entries: Sequence[Entry]) -> list[Section]:
    accuracies = scores.accuracy(entries)
    rows = [
        (
            accuracy.by, accuracy.mode, f"maj@{accuracy.k}" if accuracy.samples > 1 else "1 answer", accuracy.score.n, accuracy.score.unscored,
            percent(accuracy.score.value, 1), interval(accuracy.score), percent(accuracy.undecided, 1),
            percent(accuracy.corrected, 1),
        )
        for accuracy in accuracies
    ]  # fmt: skip
    name, accurate = "Checklist Evaluator", "Question-Level Accuracy"
    paper = [
        (row[name], "reasoning", "1 answer", "", "", fixed(100 * row[accurate], 1), "", "", "")
        for row in paper_rows("3b")
    ]
    note = (
        "Against the majority of the annotators, in percent; what a majority of k leaves open is wrong. maj@k is the mean "
        "over all subsets of k answers. Left out: questions on which annotators have no majority, or which were answered "
        "less often. Errors of annotators lower what a judge can reach (see one annotator against the others); corrected is "
        "what it would reach without them, if all err independently, as three annotators and more agree among themselves."
    )
    header = ("Answered by", "mode", "votes", "questions", "left out", "accuracy", INTERVAL, "undecided", "corrected")
    drawn = [_curve(accuracies)] if max((accuracy.k for accuracy in accuracies), default=1) > 1 else []
    return [*_table("Answers to single questions (like the paper's table 3b)", header, rows, paper, note), *drawn]


def _curve(accuracies: Sequence[scores.Accuracy]) -> Plot:
    """Figure 2: accuracy by the number of votes."""
    lines: dict[str, list[tuple[float, float, float, str]]] = {}
    for accuracy in accuracies:
        if accuracy.mode and accuracy.score.value is not None:
            share = 100 * accuracy.score.value
            point = (accuracy.k, share, 0.5, f"maj@{accuracy.k}: {share:.1f}")
            lines.setdefault(f"{accuracy.by}, {accuracy.mode}", []).append(point)
    low = min((point[1] for points in lines.values() for point in points), default=0.0)
    series = tuple(Series(name, tuple(points), joined=True) for name, points in lines.items())
    votes, share_axis = (
        Axis("votes", 1, max(accuracy.k for accuracy in accuracies)),
        Axis("accuracy, %", min(90, 10 * (low // 10)), 100),
    )
    return Plot("Accuracy by votes (like the paper's figure 2)", series, votes, share_axis)


def _lengths(entries: Sequence[Entry]) -> list[Section]:
    """Figure 5, as numbers and as lines."""
    by_author = scores.lengths(entries)
    if not by_author:
        return []
    low, high = min(map(min, by_author.values())), max(map(max, by_author.values()))
    sizes, (least, most) = range(low, high + 1), USUAL
    rows: list[Cells] = [(str(size), *(histogram[size] for histogram in by_author.values())) for size in sizes]
    rows.append(("lists", *(histogram.total() for histogram in by_author.values())))
    outside = (sum(n for size, n in histogram.items() if not least <= size <= most) for histogram in by_author.values())
    rows.append((f"outside {least} to {most}", *outside))
    series = []
    for author, histogram in by_author.items():
        points = (
            (size, 100 * histogram[size] / histogram.total(), 0.5, f"{histogram[size]} of {histogram.total()}")
            for size in sizes
        )
        series.append(Series(author, tuple(points), joined=True))
    axes = Axis("questions", min(low, least), max(high, most)), Axis("lists, %", 0, 100)
    return [
        Grid("How long checklists are (like the paper's figure 5)", ("questions", *by_author), tuple(rows)),
        Plot("How long checklists are", tuple(series), *axes),
    ]


def _hard(entries: Sequence[Entry]) -> list[Section]:
    rows = [
        (correlation.author, correlation.by, correlation.n, correlation.left_out, fixed(correlation.r, 3))
        for correlation in scores.difficulty(entries)
    ]
    paper = [(author, by, "", "", r) for author, by, r in _PAPER_B2]
    note = (
        "Pearson's r of the number of questions and the score of a response to the instruction: far from 0 where long "
        "checklists go with hard (or easy) instructions."
    )
    header = ("Checklists by", "score of the response", "pairs", "left out", "Pearson r")
    return _table("Length and difficulty (like the paper's appendix B.2)", header, rows, paper, note)


def _table(
    title: str, header: tuple[str, ...], rows: Sequence[Cells], paper: Sequence[Cells], note: str
) -> list[Section]:
    """The table, if it has a row of ours."""
    return [Grid(title, header, tuple(rows), tuple(paper), note)] if rows else []


_RUNS = 2  # checklists of each generator for an instruction: how alike they are says how steady it is
_DRAWN = replace(SAMPLING, temperature=0.7)  # at 0 they would all be the same


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(StudyOptions, JudgingOptions):
    """Whose checklists are compared, and who answers them."""

    data: str = option(help=DATA_HELP)
    generator: tuple[str, ...] = role(
        (), help="Whose checklists are held against the chosen ones; may be repeated. None: those the data has.",
        binds=Binds("generators", lambda o: numbered(o.generator), grows=True),
    )  # fmt: skip
    judge: tuple[str, ...] = role(
        (), help="Who answers checklists; may be repeated. None: only what the data has of answers.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )  # fmt: skip
    votes: int = option(
        5, binds=Binds(late=True), panel="Judging",
        help="Answers with reasoning to each question that people answered: maj@k is of odd k up to this.",
    )  # fmt: skip
    judge_temperature: float = option(
        0.7, binds=Binds(late=True), panel="Judging", help="Sampling temperature of judges."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "votes")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")

    def settings(self, spec: str, mode: str, votes: int = 1) -> JudgeSettings:
        """How a judge answers: directly (by a probability where it gives those) or with reasoning."""
        base = self.judging(spec, self.TEXT_LEVEL, reasoning=mode == "reasoning")
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(base, sampling=sampling, votes=1 if self.decides(spec) else votes)

    def modes(self, spec: str) -> tuple[str, ...]:
        """In which ways a judge answers what people answered; who gives probabilities writes no reasoning."""
        return ("direct",) if self.decides(spec) else ("direct", "reasoning")


@dataclass(frozen=True)
class Validated:
    """A row with all that models added; the problems of checklists that were not written, and all verdicts."""

    entry: Entry
    problems: tuple[str, ...] = ()
    verdicts: tuple[Mapping[str, Any], ...] = ()


class Validate(Study[ValidateOptions, Entry, Validated, dict[str, Any]]):
    """Rows of checklists, completed and compared; `value` is the content of `validation.json`."""

    kind, unit = "checklist-validation", "instructions"
    needs = ("sacrebleu", "rouge_score")
    prompts = ("generate_checklist",)
    files = ("validation.json", "rows.jsonl", "verdicts.jsonl")

    def items(self) -> Items[Entry]:
        left_out: list[str] = []
        entries, options = load_entries(self.options.data, left_out), self.options
        if not (options.generator or any(len(entry.checklists) > 1 or entry.answers for entry in entries)):
            raise UserError(
                f"--data {options.data}: no row has another checklist than the chosen one, or answers; name a --generator"
            )
        taken = {record.author for entry in entries for record in entry.checklists} & set(numbered(options.generator))
        taken |= {record.by for entry in entries for record in entry.judgments} & set(numbered(options.judge))
        if taken:
            raise UserError(f"--data {options.data}: holds what {min(taken)} gave already; leave it out of the options")
        return entry_items(entries, left_out)

    def judge_settings(self) -> Iterator[JudgeSettings]:
        for spec in self.options.judge:
            for mode in self.options.modes(spec):
                yield self.options.settings(spec, mode, self.options.votes if mode == "reasoning" else 1)

    def check(self) -> None:
        if self.options.generator:
            check_prompts(("generate_checklist",), self.options.prompts)

    async def work(self, entry: Entry) -> Validated:
        """The row with the generators' checklists, and then the judges' answers."""
        count = len(self.options.generator)
        generated = await asyncio.gather(
            *(self._written(entry, n, run) for n in range(count) for run in range(1, _RUNS + 1))
        )
        written = tuple(checklist for checklist in generated if isinstance(checklist, Written))
        entry = entry.model_copy(update={"checklists": entry.checklists + written})
        names = numbered(self.options.judge)
        calls = [
            self._answered(entry, response, checklist, name, n)
            for response in entry.responses for checklist in entry.checklists for n, name in enumerate(names, 1)
            if _wanted(entry, response, checklist)
        ]  # fmt: skip
        answered = [part for parts in await asyncio.gather(*calls) for part in parts]
        answers = tuple(answer for group, _ in answered for answer in group)
        problems = tuple(problem for problem in generated if isinstance(problem, str))
        entry = entry.model_copy(update={"judgments": entry.judgments + answers})
        return Validated(entry, problems, tuple(row for _, rows in answered for row in rows))

    async def _written(self, entry: Entry, place: int, run: int) -> Written | str:
        """One checklist of a generator, or why there is none."""
        options, name = self.options, numbered(self.options.generator)[place]
        generated = await generate_checklist(
            self.caller("generator", place + 1), entry.case(), options.prompts, sampling=_DRAWN, sample=run - 1
        )
        if not generated.questions:
            return f"{entry.id}: {name}, run {run}: {generated.problem}"
        return Written(id=f"{name}, run {run}", author=name, source="model", run=run, questions=generated.questions)

    async def _answered(
        self, entry: Entry, response: Text, checklist: Written, name: str, number: int
    ) -> list[tuple[list[Judgments], list[dict[str, Any]]]]:
        """A judge's answers: in every mode, and several with reasoning, where people answered, too."""
        spec, people = self.options.judge[number - 1], entry.people(response, checklist) is not None
        modes = self.options.modes(spec) if people else self.options.modes(spec)[-1:]
        case, results = entry.case(response.text, checklist.questions), []
        for mode in modes:
            votes = self.options.votes if people and mode == "reasoning" else 1
            judge = self.judge(self.options.settings(spec, mode, votes), number=number, part=f"{name} {mode}")
            verdicts = await judge.verdicts(case)
            # A rule casts no votes: it would say the same each time.
            draws = zip(*(verdict.votes or (verdict.label,) * votes for verdict in verdicts), strict=True)
            about: dict[str, Any] = {
                "response_id": response.id,
                "checklist_id": checklist.id,
                "judge": name,
                "mode": mode,
            }
            answers = [Judgments.model_construct(**about, sample=n, answers=draw) for n, draw in enumerate(draws, 1)]
            results.append((answers, [{"id": entry.id, **about, **_verdict_row(verdict)} for verdict in verdicts]))
        return results

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Any]]:
        entries = [validated.entry for validated in done]
        problems = [problem for validated in done for problem in validated.problems]
        result: dict[str, Any] = {
            "likeness": [asdict(validated) for validated in scores.likeness(entries)],
            "rates": [asdict(validated) for validated in scores.rates(entries)],
            "accuracy": [asdict(validated) for validated in scores.accuracy(entries)],
            "lengths": {author: dict(sorted(counts.items())) for author, counts in scores.lengths(entries).items()},
            "difficulty": [asdict(validated) for validated in scores.difficulty(entries)],
            "instructions": len(entries),
            "left_out": dict(scores.left_out(entries)),
            "not_written": problems,
            "rows_left_out": list(self.all.left_out),
        }
        notes = [f"{what}: {n} of {len(entries)}" for what, n in result["left_out"].items() if n]
        notes += [f"checklists not written: {len(problems)} ({problems[0]})"] if problems else []
        notes += weak_judges(self.options.judge)
        files = {
            "validation.json": result,
            "rows.jsonl": [to_row(entry) for entry in entries],
            "verdicts.jsonl": [row for validated in done for row in validated.verdicts],
        }
        return Outcome(
            result, files, TITLE, validation_sections(entries), lead=LEAD, notes=notes, facts={"Instructions": len(entries)},
            board=validation_board(entries, self.provenance), incomplete=len(problems),
        )  # fmt: skip


def _wanted(entry: Entry, response: Text, checklist: Written) -> bool:
    """Whether a judge is asked: where people answered, and on what a model wrote and the chosen list beside it."""
    written = any(listed.source == "model" for listed in entry.checklists)
    own = checklist.source == "model" or checklist.chosen
    return entry.people(response, checklist) is not None or (own and written and entry.chosen is not None)


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    """What a line of `verdicts.jsonl` holds of what a judge said to a question, and why."""
    fields = {"label": verdict.label, "votes": list(verdict.votes), "probability": verdict.probability}
    return {"question": verdict.criterion.text, **fields, "reason": verdict.reason}


def to_row(entry: Entry) -> dict[str, Any]:
    """A row of the `checklists` form with what models added: given back as data it needs none."""
    return {**entry.row, **entry.model_dump(mode="json", include={"checklists", "judgments"})}


def validate(options: ValidateOptions) -> dict[str, Any]:
    """Compare checklists and who answers them. Returns validation.json's content. Raises UserError."""
    return Validate(options).run().value
