"""What was judged in a run, one conversation at a time, whatever kind of study judged it; and what of it was missed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import read_judged as read_talks
from truebench_hf.benchmarks.flexbench.score import FlexScore
from truebench_hf.benchmarks.rubric_eval.data import load as load_rubrics
from truebench_hf.benchmarks.rubric_eval.scores import paradigm_words
from truebench_hf.benchmarks.truebench import data
from truebench_hf.comparing import runs
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, public, unanswered
from truebench_hf.data.records import JUDGMENTS, of_entry
from truebench_hf.errors import UserError
from truebench_hf.report.sections import Outcome
from truebench_hf.results.folder import Results
from truebench_hf.space.board.store import Recent
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Turn

SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
OUTCOMES = {"failed": False, "unscored": None, "passed": True}  # in the order of lists: what went wrong comes first
UNANSWERED = "not answered"
_KEPT = 4
_BUILT_IN = "rubric_mini"  # the labelled data whose answers are at hand; a run names other data by paths of its own


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of one requirement, where more is told of it than a verdict: a step of a procedure, a labelled rubric.

    `cells` stand under the heads of its item. `message` is where the judge saw it (from 1), and `is_branch` whether it depends on the step before. A step without a verdict has the state "", and `gap` says why.
    """

    text: str
    state: Outcome
    cells: tuple[str, ...]
    note: str = ""
    message: int | None = None
    is_branch: bool = False
    gap: str = ""


@dataclass(frozen=True)
class ExplorerItem:
    """A judged conversation as strangers may see it, how it ended, and the checks of a kind that has such, under `heads`."""

    judged: Judged
    ended: str
    heads: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @classmethod
    def of(cls, judged: Judged) -> ExplorerItem:
        """An answered instance, or one that no model has had."""
        if not judged.response.model:
            return cls(judged, UNANSWERED)
        passed = judged.passed
        return cls(public(judged), next(name for name, state in OUTCOMES.items() if passed is state))

    @property
    def name(self) -> str:
        """Which conversation of its run it is."""
        return self.judged.name

    @property
    def opening(self) -> str:
        """What was asked first."""
        prompts = (message.content for message in self.judged.response.messages if message.role == "user")
        return next(prompts, "") or (self.checks[0].text if self.checks else "")

    def verdicts(self) -> Iterator[tuple[Criterion, Label | None, str]]:
        """Every criterion with its verdict as it counts, and the reason."""
        for check in self.checks:
            label: Label | None = check.state if check.state in ("yes", "no") else None
            yield Criterion(check.text), label, check.note
        if not self.checks:
            for turn, labels in zip(self.judged.verdicts, self.judged.outcomes, strict=True):
                for verdict, label in zip(turn, labels, strict=True):
                    yield verdict.criterion, label, verdict.reason


Items = Mapping[str, ExplorerItem]


class RecentItems:
    """The conversations of the runs looked at last."""

    def __init__(self) -> None:
        self._recent = Recent[Items](_KEPT)

    def of(self, entry: BoardEntry | None) -> Items:
        """Those of a line of a board, by name in the order of the file; without one the built-in sample. Raises UserError."""
        if entry is None:
            return sample()
        if (folder := entry.folder) is None:
            raise UserError("this entry has no conversations to show")
        try:
            reader = _READERS.get(entry.kind, _answers)
            return self._recent.of((entry.key, runs.stamp(folder)), lambda: reader(folder, entry))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
            raise UserError("the judgments of this run cannot be read") from error


@cache
def sample() -> Items:
    """The built-in instances as conversations that no model has had: theirs has no name."""
    items = {}
    for instance in data.load("mini"):
        prompts = Response(instance.id, "", tuple(Message("user", turn.prompt) for turn in instance.turns))
        items[instance.id] = ExplorerItem.of(Judged(instance, prompts, tuple(unanswered(instance, prompts))))
    return items


def _answers(folder: Path, entry: BoardEntry) -> Items:
    """Judged answers of the model of a line, whose file may hold those of others."""
    by_model: dict[str, dict[str, ExplorerItem]] = {}
    for judged in Results(folder, {}).judged(runs.loads):
        by_model.setdefault(judged.response.model, {})[judged.name] = ExplorerItem.of(judged)
    return _own(by_model, entry)


def _own(by_model: Mapping[str, dict[str, ExplorerItem]], entry: BoardEntry) -> Items:
    names = anonymous.names(by_model)
    items = of_entry({names[model]: items for model, items in by_model.items()}, entry.name) if by_model else None
    return items or {}


_TRI = {True: "yes", False: "no", None: "–"}


def _talks(folder: Path, entry: BoardEntry) -> Items:
    """Conversations along a procedure, with every step in its order."""
    procedure, judged = read_talks(str(folder))
    by_model: dict[str, dict[str, ExplorerItem]] = {}
    for of in judged:
        talk, steps = of.talk, []
        for dimension in procedure.dimensions:
            facts, label = of.facts[dimension.id], of.labels[dimension.id]
            state: Outcome = "open" if label is None else label if label in ("yes", "no") else ""
            note = anonymous.text(facts.reason) if label is None else facts.reason
            cells = tuple(_TRI[value] for value in (facts.applies, facts.attempted, facts.correct))
            gap = "" if state else "Skipped" if facts.applies and not facts.attempted else "Not due"
            branch = dimension.base is not None
            steps.append(Check(dimension.question, state, cells, note, facts.turn, branch, gap))
        name = f"{talk.id} (seed {talk.seed})" if talk.seed else talk.id
        instance = Instance(name, "", talk.cooperativeness, f"ended by {talk.end}" if talk.end else "", ())
        response = Response(name, talk.model, talk.messages, error=talk.error or None)
        ended, heads = _ended({step.state for step in steps}), ("Applies", "Attempted", "Right")
        item = ExplorerItem(public(Judged(instance, response, ())), ended, heads, tuple(steps))
        by_model.setdefault(talk.model, {})[name] = item
    return _own(by_model, entry)


def _ended(states: set[Outcome]) -> str:
    return "failed" if "no" in states else "unscored" if "open" in states else "passed"


def _rubrics(folder: Path, entry: BoardEntry) -> Items:
    """Labelled answers with the rubrics that a judge decided, those first that it decided wrongly."""
    with (folder / JUDGMENTS).open("rb") as content:
        lines = [runs.loads(line.decode("utf-8")) for _, line in jsonl.lines(content, JUDGMENTS)]
    wanted, judges = entry.facts.get("Paradigm", ""), anonymous.names(row["judge"] for row in lines)
    checks, rows = dict[str, list[Check]](), dict[str, dict[str, Any]]()
    for row in lines:
        label, gold = row["label"], row["gold"]
        if judges[row["judge"]] == entry.name and paradigm_words(row["paradigm"]) == wanted and gold is not None:
            state: Outcome = "open" if label not in ("yes", "no") else "yes" if label == gold else "no"
            note = anonymous.text(row["reason"]) if label is None else row["reason"]
            checks.setdefault(row["response_id"], []).append(Check(row["rubric"], state, (gold, label or "–"), note))
            rows[row["response_id"]] = row
    texts = _built_in_texts() if Results.open(folder).settings.get("data") == _BUILT_IN else {}
    items = {}
    for name, row in rows.items():
        instance = Instance(name, row["language"] or "", row["instruction_category"], "", (Turn("", ()),))
        judged = Judged(instance, Response(name, entry.name, texts.get(name, ())), ())
        in_order = sorted(checks[name], key=lambda check: ("no", "open", "yes").index(check.state))
        ended = _ended({check.state for check in in_order})
        items[name] = ExplorerItem(judged, ended, ("People", "Judge"), tuple(in_order))
    return items


@cache
def _built_in_texts() -> dict[str, tuple[Message, ...]]:
    """What the judges of the built-in data were shown, by response."""
    return {
        row["response_id"]: (
            *(Message(message["role"], message["content"]) for message in row["messages"]),
            Message("assistant", row["response"]),
        )
        for row in load_rubrics(_BUILT_IN)
    }


_READERS: dict[str, Callable[[Path, BoardEntry], Items]] = {FlexScore.kind: _talks, JUDGES: _rubrics}

_EXAMPLES = 3
_MOST = 3  # criteria of a type
_LONGEST = 240  # characters of what is quoted


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that failed: the name of its instance, what was asked, and a criterion that was not met, with why."""

    name: str
    language: str
    category: str
    prompt: str
    criterion: str
    reason: str


@dataclass(frozen=True)
class Story:
    """What a run's judgments tell: by type of criteria ("" where the data names none) how many were decided and missed,
    and the missed ones with how often; examples of failed conversations, of different categories."""

    decided: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    most: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()


def story(items: Items) -> Story:
    """Return what the conversations of a run tell."""
    decided, missed, texts = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    failures: dict[str, Example] = {}
    for item in items.values():
        for criterion, label, reason in item.verdicts():
            kind = criterion.kind or ""
            decided[kind] += label is not None and label != "unknown"
            if label == "no":
                missed[kind] += 1
                texts.setdefault(kind, Counter())[shortened(criterion.text, _LONGEST)] += 1
                instance = item.judged.instance
                quotes = (shortened(text, _LONGEST) for text in (item.opening, criterion.text, reason))
                failures.setdefault(item.name, Example(item.name, instance.language, instance.category, *quotes))
    most = {kind: tuple(count.most_common(_MOST)) for kind, count in texts.items()}
    seen, placed = Counter[str](), list[tuple[int, Example]]()  # the first failure of each category comes first
    for example in failures.values():
        placed.append((seen[example.category], example))
        seen[example.category] += 1
    examples = [example for _, example in sorted(placed, key=lambda pair: pair[0])]
    return Story(decided, missed, most, tuple(examples[:_EXAMPLES]))
