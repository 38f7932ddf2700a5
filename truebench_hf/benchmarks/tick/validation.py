"""`truebench study checklist validate`: how far checklists, and judges who answer them, can be trusted (section 3.2).

Models add to the rows what the data does not hold: generators their checklists, judges their answers. All scores are
then read off the rows, so that rows which hold everything need no model, and the rows written here are such: the paper's
tables 2, 3a and 3b, its figures 2 and 5, and appendix B.2.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick.checklists import lengths_table
from truebench_hf.benchmarks.tick.scoring import ALL, frame_of, grouped_table, paper_rows
from truebench_hf.data.checklist_rows import DATA_HELP, ChecklistRow, Judgments, Text, Written, answerers, load_entries
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import SAMPLING, generate_checklist
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import mean_of, ratio
from truebench_hf.metrics.pass_rate import checklist_share, clustered_rate
from truebench_hf.metrics.ranks import correlation as coefficient
from truebench_hf.metrics.texts import mean_overlap, overlap
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.options import Binds, option, role
from truebench_hf.report.table import PUBLISHED, Column, Table, plain
from truebench_hf.study.items import Items
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame


ROWS, VERDICTS = "rows.jsonl", "verdicts.jsonl"
_RUNS = 2  # checklists of each generator for an instruction: how alike they are says how steady it is
_DRAWN = replace(SAMPLING, temperature=0.7)  # at 0 they would all be the same


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
        5, ge=1, binds=Binds(late=True), panel="Judging",
        help="Answers with reasoning to each question that people answered: maj@k is of odd k up to this.",
    )  # fmt: skip
    judge_temperature: float = option(0.7, ge=0, binds=Binds(late=True), panel="Judging", help="Temperature of judges.")

    def settings(self, spec: str, mode: str, votes: int = 1) -> JudgeSettings:
        """How a judge answers: directly (by a probability where it gives those) or with reasoning."""
        base = self.judging(spec, self.TEXT_LEVEL, reasoning=mode == "reasoning")
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(base, sampling=sampling, votes=1 if self.decides(spec) else votes)

    def modes(self, spec: str) -> tuple[str, ...]:
        """In which ways a judge answers what people answered; who gives probabilities writes no reasoning."""
        return ("direct",) if self.decides(spec) else ("direct", "reasoning")


# A row with all that models added; the problems of checklists that were not written, and all verdicts.
Validated = tuple[ChecklistRow, list[str], list[dict[str, Any]]]


class Validate(Study[ValidateOptions, ChecklistRow, Validated, dict[str, Table]]):
    """Rows of checklists, completed and compared; `value` is the tables by name."""

    kind, unit = "checklist-validation", "instructions"
    needs = ("sacrebleu", "rouge_score")
    prompts = ("generate_checklist",)
    files = (ROWS, VERDICTS)

    def items(self) -> Items[ChecklistRow]:
        left_out: list[str] = []
        entries, options = load_entries(self.options.data, left_out), self.options
        self.generators, self.judges = numbered(options.generator), numbered(options.judge)
        if not (options.generator or any(len(entry.checklists) > 1 or entry.answers for entry in entries)):
            raise UserError(f"--data {options.data}: no row has another checklist, or answers; name a --generator")
        taken = {record.author for entry in entries for record in entry.checklists} & set(self.generators)
        taken |= {record.judge for entry in entries for record in entry.judgments} & set(self.judges)
        if taken:
            raise UserError(f"--data {options.data}: holds what {min(taken)} gave already; leave it out of the options")
        return Items(
            entries, lambda entry: entry.id, lambda entry: dict(entry.row), lambda entry: (entry.language, entry.category),
            left_out=tuple(left_out),
        )  # fmt: skip

    def judge_settings(self) -> Iterator[JudgeSettings]:
        for spec in self.options.judge:
            for mode in self.options.modes(spec):
                yield self.options.settings(spec, mode, self.options.votes if mode == "reasoning" else 1)

    async def work(self, entry: ChecklistRow) -> Validated:
        """The row with the generators' checklists, and then the judges' answers."""
        runs = product(enumerate(self.generators, 1), range(1, _RUNS + 1))
        generated = await asyncio.gather(*(self._written(entry, name, number, run) for (number, name), run in runs))
        written = tuple(checklist for checklist in generated if isinstance(checklist, Written))
        entry = entry.model_copy(update={"checklists": entry.checklists + written})
        # Judges answer what people answered, and on what a model wrote the chosen list beside it.
        compared = entry.chosen is not None and any(checklist.source == "model" for checklist in entry.checklists)
        calls = [
            self._answered(entry, response, checklist, name, number)
            for response in entry.responses for checklist in entry.checklists for number, name in enumerate(self.judges, 1)
            if entry.people(response, checklist) is not None
            or (compared and (checklist.chosen or checklist.source == "model"))
        ]  # fmt: skip
        answered = await asyncio.gather(*calls)
        answers = tuple(answer for judgments, _ in answered for answer in judgments)
        entry = entry.model_copy(update={"judgments": entry.judgments + answers})
        problems = [problem for problem in generated if isinstance(problem, str)]
        return entry, problems, [row for _, rows in answered for row in rows]

    async def _written(self, entry: ChecklistRow, name: str, number: int, run: int) -> Written | str:
        """One checklist of a generator, or why there is none."""
        caller, prompts = self.caller("generator", number), self.options.prompts
        generated = await generate_checklist(caller, entry.case(), prompts, sampling=_DRAWN, sample=run - 1)
        if not generated.questions:
            return f"{entry.id}: {name}, run {run}: {generated.problem}"
        return Written(id=f"{name}, run {run}", author=name, source="model", run=run, questions=generated.questions)

    async def _answered(
        self, entry: ChecklistRow, response: Text, checklist: Written, name: str, number: int
    ) -> tuple[list[Judgments], list[dict[str, Any]]]:
        """A judge's answers and its verdicts: in every mode, and several with reasoning, where people answered, too."""
        options, spec = self.options, self.options.judge[number - 1]
        people, answers, rows = entry.people(response, checklist) is not None, list[Judgments](), list[dict[str, Any]]()
        for mode in options.modes(spec) if people else options.modes(spec)[-1:]:
            votes = options.votes if people and mode == "reasoning" else 1
            judge = self.judge(options.settings(spec, mode, votes), number=number, part=f"{name} {mode}")
            verdicts = await judge.verdicts(entry.case(response.text, checklist.questions))
            # A rule casts no votes: it would say the same each time.
            draws = zip(*(verdict.votes or (verdict.label,) * votes for verdict in verdicts), strict=True)
            about = dict[str, Any](response_id=response.id, checklist_id=checklist.id, judge=name, mode=mode)
            answers += [Judgments.model_construct(**about, sample=n, answers=draw) for n, draw in enumerate(draws, 1)]
            rows += [
                {"id": entry.id, **about, "question": verdict.criterion.text, "label": verdict.label,
                 "votes": list(verdict.votes), "probability": verdict.probability, "reason": verdict.reason}
                for verdict in verdicts
            ]  # fmt: skip
        return answers, rows

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Table]]:
        entries = [entry for entry, *_ in done]
        problems = [problem for _, unwritten, _ in done for problem in unwritten]
        lacking = {
            "a chosen checklist": sum(entry.chosen is None for entry in entries),
            "another checklist": sum(not entry.others for entry in entries),
            "a response": sum(not entry.responses for entry in entries),
        }
        notes = [f"instructions without {what}: {count} of {len(entries)}" for what, count in lacking.items() if count]
        notes += [f"checklists not written: {len(problems)} ({problems[0]})"] if problems else []
        notes += weak_judges(self.options.judge)
        kinds = likeness_table, correlation_tables, accuracy_table, length_tables
        tables = [table for kind in kinds for table in kind(entries)]
        return Outcome(
            {table.name: table for table in tables}, title="TICK: checklists and their judges, validated", tables=tables,
            lead="Checklists are held against the chosen ones, and who answers them against the majority of the annotators.",
            items={
                # Rows of the `checklists` form with what models added: given back as data they need none.
                ROWS: [{**e.row, **e.model_dump(mode="json", include={"checklists", "judgments"})} for e in entries],
                VERDICTS: [row for *_, rows in done for row in rows],
            },
            notes=notes, facts={"Instructions": len(entries)}, ranking=self._ranking(tables), incomplete=len(problems),
        )  # fmt: skip

    def _ranking(self, tables: Sequence[Table]) -> Ranking:
        """The judges by their accuracy with one answer, with reasoning where they have it."""
        facts = {"Data": str(self.provenance["data"]), **rules_fact(self.provenance)}
        accuracy = (row for table in tables if table.name == "accuracy" for row in table.rows)
        by_judge: dict[str, dict[tuple[str, int], Score]] = {}
        for row in (row for row in accuracy if row["mode"] and not row.get(PUBLISHED)):
            by_judge.setdefault(row["by"], {})[row["mode"], row["k"]] = row["accuracy"]
        rows = []
        for judge, scores in by_judge.items():
            direct, most = scores.get(("direct", 1)), max((k for mode, k in scores if mode == "reasoning"), default=1)
            row = {"judge": judge, "accuracy": scores.get(("reasoning", 1), direct), "direct": direct}
            rows.append(row | ({"majority": scores["reasoning", most], "Majority of": str(most)} if most > 1 else {}))
        titles = {"accuracy": "Accuracy", "direct": "Without reasoning", "majority": "Majority"}
        columns = [Column("judge", "Judge"), *(Column(name, title, "score") for name, title in titles.items())]
        columns.append(Column("Majority of", "Majority of"))
        alike = [self.provenance["data_sha256"], self.provenance.get("rules", "off")]
        table, unit = Table("", columns, rows), "Agreement with annotators in %"
        return Ranking(table, "accuracy", alike, title="TICK: judges of checklists", unit=unit, facts=facts)


OTHERS = "one annotator, against the others"
PEOPLE = "people (H')"  # all alternatives that people wrote, as the paper's Table 2 pools them


def question_frame(entries: Sequence[ChecklistRow]) -> DataFrame:
    """A row per question that annotators and a judge answered, and odd number of votes; behind them annotators themselves.

    Columns: by and mode (categoricals: who answered, and how), k (votes), samples (draws of this judge and mode), cluster
    (the instruction), gold (what most annotators say, None on a tie) and votes (what is held against it).
    """
    rows: list[tuple[Any, ...]] = []
    judges = dict.fromkeys((judgment.judge, judgment.mode) for entry in entries for judgment in entry.judgments)
    for entry in entries:
        people, drawn = defaultdict[Any, list[Any]](list), defaultdict[Any, list[Any]](list)
        for answers in entry.answers:
            people[answers.response_id, answers.checklist_id].append(answers.answers)
        for judgment in sorted(entry.judgments, key=lambda judgment: judgment.sample):
            about = judgment.judge, judgment.mode, judgment.response_id, judgment.checklist_id
            drawn[about].append(judgment.answers)
        for key, answered in people.items():
            questions = list(zip(*answered, strict=True))  # what each annotator says to it
            for judge in judges:
                votes = zip(*drawn[*judge, *key], strict=True) if (*judge, *key) in drawn else ()
                golds = (majority(labels) for labels in questions)
                rows += [(*judge, entry.id, gold, draws) for gold, draws in zip(golds, votes, strict=False)]
            # Each annotator held against the majority of the others: what a judge can be expected to reach.
            rests = [(labels[:n] + labels[n + 1 :], label) for labels in questions for n, label in enumerate(labels)]
            rows += [(OTHERS, "", entry.id, majority(rest), (own,)) for rest, own in rests if own and rest[1:]]
    sides = [*judges, (OTHERS, "")]
    order = {"by": [by for by, _ in sides], "mode": [mode for _, mode in sides]}
    frame = frame_of(("by", "mode", "cluster", "gold", "votes"), rows, order)
    frame["samples"] = frame["votes"].map(len).groupby([frame["by"], frame["mode"]], observed=True).transform("max")
    frame["k"] = [list(range(1, samples + 1, 2)) for samples in frame["samples"]]
    return frame.explode("k", ignore_index=True)


def accuracy_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return the accuracy of every judge in every mode at maj@k, over all subsets of k of its draws (Table 3b, Figure 2).

    What a majority leaves open is wrong. Unscored are questions without a majority of annotators to be held against, or
    that were drawn less often than others: every k is of the same questions.
    """

    def accuracy(rows: DataFrame) -> dict[str, Any]:
        k = rows["k"].iloc[0] if len(rows) else 1
        cells = zip(rows["gold"], rows["votes"], rows["samples"], rows["cluster"], strict=True)
        known = [(gold, votes, of) for gold, votes, samples, of in cells if gold is not None and len(votes) == samples]
        gold, clusters = [label for label, _, _ in known], [cluster for *_, cluster in known]
        shares = [majority_of(votes, label, k) for label, votes, _ in known]
        rate, first = clustered_rate([right for right, _ in shares], clusters), [votes[0] for _, votes, _ in known]
        return {
            "kappa": label_agreement(gold, first, clusters, measures=("kappa",))["kappa"] if k == 1 else None,
            "accuracy": replace(rate, unscored=len(rows) - rate.n),
            "undecided": ratio(sum(undecided for _, undecided in shares), rate.n),
        }  # fmt: skip

    columns = (
        Column("by", "Answered by"), Column("mode", "mode"), Column("k", "votes", "count"),
        Column("accuracy", "accuracy %", "score", "Against the majority of the annotators.", digits=1, parts=ALL, drawn=True),
        Column("kappa", "kappa", "score", "Cohen's, of the first answer, beyond chance.", unit="", digits=3, minor=2),
        Column("undecided", "undecided %", "number", "What a majority of k leaves open, which is wrong.", digits=1, minor=1),
    )  # fmt: skip
    note = (
        "Of k votes the majority counts (maj@k): the mean over all subsets of k answers. Errors of annotators lower what a "
        "judge can reach (see one annotator against the others)."
    )
    printed = paper_rows("3b", by="Checklist Evaluator", accuracy="Question-Level Accuracy")
    published = [{**row, "mode": "reasoning", "k": 1} for row in printed]
    frame, title = question_frame(entries), "Answers to single questions (like the paper's table 3b and figure 2)"
    keys = ["by", "mode", "k"]
    table = grouped_table("accuracy", frame, keys, accuracy, columns, published=published, title=title, note=note)
    return [table] if len(frame) else []


_OVERLAP = {
    "bleu": "BLEU", "rouge_1": "ROUGE-1 F1", "rouge_2": "ROUGE-2 F1", "rouge_l": "ROUGE-L F1", "count": "Count MAE",
}  # fmt: skip


def likeness_table(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how alike each author's checklists and the chosen ones are (Table 2); those of people also together.

    Means are first over an author's lists for an instruction, then over instructions.
    """
    rows = [
        (author, entry.id, overlap(checklist.questions, entry.chosen.questions))
        for entry in entries if entry.chosen for checklist in entry.others
        for author in (checklist.author, *([PEOPLE] if checklist.source == "human" else []))
    ]  # fmt: skip

    def alike(rows: DataFrame) -> dict[str, Any]:
        instructions = [mean_overlap(list(own)) for _, own in rows.groupby("id", sort=False)["overlap"]]
        mean = mean_overlap([own for own in instructions if own])
        measured = dict.fromkeys(_OVERLAP) if mean is None else asdict(mean)
        return {"instructions": len(instructions), "checklists": len(rows), **measured}

    authors = [author for author in dict.fromkeys(row[0] for row in rows) if author != PEOPLE]
    frame = frame_of(("author", "id", "overlap"), rows, {"author": [*authors, PEOPLE]})
    columns = [
        Column("author", "Checklists by"), Column("instructions", "instructions", "count"), Column("checklists", "lists", "count"),
        *(Column(name, title, "number", unit="", digits=3, lower_is_better=name == "count") for name, title in _OVERLAP.items()),
    ]  # fmt: skip
    note = (
        "Sentence BLEU (sacrebleu, 0 to 1) and F1 of ROUGE (rouge-score, no stemming) of all questions of a list as one "
        "text; count MAE in questions. Words are found in every script; Chinese, Japanese and Thai go sign by sign. The paper "
        "does not say which BLEU it took; but for punctuation BLEU-4 lies below ROUGE-1, so that its column is of another kind "
        "than ours."
    )
    printed = paper_rows("2", author="Checklist Source", **_OVERLAP)
    published = [{**row, "author": row["author"].replace("H'", PEOPLE)} for row in printed]
    title = "Checklists and the chosen ones (like the paper's table 2)"
    table = grouped_table("likeness", frame, ["author"], alike, columns, published=published, title=title, note=note)
    return [table] if rows else []


def length_tables(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how many checklists of each author have how many questions; the chosen ones apart (Figure 5)."""
    by_author: dict[str, Counter[int]] = {}
    for entry in entries:
        for checklist in entry.checklists:
            sizes = by_author.setdefault("chosen" if checklist.chosen else checklist.author, Counter())
            sizes[len(checklist.questions)] += 1
    title = "How long checklists are (like the paper's figure 5)"
    return [replace(lengths_table(by_author, title), printed=True)] if by_author else []


def correlation_tables(entries: Sequence[ChecklistRow]) -> list[Table]:
    """Return how the pass rates of responses under other checklists and the chosen one go together (Table 3a), and how
    the length of checklists and the scores of responses to their instructions do (appendix B.2)."""
    beside = [(e, checklist, text) for e in entries for checklist in e.others for text in e.responses]
    rates: list[tuple[Any, ...]] = []
    lengths: list[tuple[Any, ...]] = [
        (checklist.author, "score from 1 to 5, by people", checklist.run, len(checklist.questions), entry.score(response))
        for entry, checklist, response in beside
    ]  # fmt: skip
    for by, (entry, checklist, response) in product(answerers(entries), beside):
        own, author, run = entry.answered(response, checklist, by), checklist.author, checklist.run
        chosen = entry.answered(response, entry.chosen, by) if entry.chosen else None
        share, name = checklist_share(chosen or ()), f"pass rate of the chosen checklist, by {by}"
        lengths.append((author, name, run, len(checklist.questions), share))
        if own is not None and chosen is not None:
            rates.append((author, by, run, checklist_share(own), share))
    names = {"Internal": "people (Internal)", "InFoBench": "GPT-4 (InFoBench)"}
    published = [
        {"author": row["Checklist Generator"], "by": by, "r": row[name]}
        for row in paper_rows("3a") for name, by in names.items()
    ]  # fmt: skip
    note = (
        "Pearson's r over responses of the pass rates under a checklist and under the chosen one, by the same answerer; run by "
        "run, then averaged. Unscored: responses with an open question in one of them."
    )
    title = "Pass rates under other checklists (like the paper's table 3a)"
    tables = _correlated("rates", rates, Column("by", "answered by"), title, note, published)
    printed = {"InFoBench score": -0.001, "WildBench score": 0.028}  # in the text of appendix B.2
    published = [{"author": "GPT-4o", "by": by, "r": r} for by, r in printed.items()]
    note = "Far from 0 where long checklists go with hard (or easy) instructions."
    title = "Length and difficulty (like the paper's appendix B.2)"
    by_score = Column("by", "score of the response")
    return [*tables, *_correlated("difficulty", lengths, by_score, title, note, published)]


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
    columns, keys = (Column("author", "Checklists by"), by, r), ["by", "author"]
    table = grouped_table(name, frame, keys, correlation, columns, published=published, title=title, note=note)
    return [table] if rows else []
