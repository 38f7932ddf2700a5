"""What was judged in a run, one conversation at a time, whatever kind of study judged it; and what of it was missed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from truebench_hf.data.judged import Judged, public
from truebench_hf.data.records import JUDGMENTS, of_entry
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.report.sections import OF_JUDGES, Conversation, Outcome, conversation, exchanges
from truebench_hf.results.folder import Results
from truebench_hf.space.board import words
from truebench_hf.space.board.store import Recent
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Turn

SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
UNJUDGED = "not judged"
# In the order of lists: what went wrong comes first.
ENDED: dict[Outcome, str] = {"no": "failed", "open": "unscored", "yes": "passed", "": UNJUDGED}
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
    """A judged conversation as strangers may see it, what it counts under, and the checks of a kind that has such, under
    `heads`. `name` says which of its run it is."""

    name: str
    drawn: Conversation
    category: str = ""
    heads: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    @classmethod
    def of(cls, judged: Judged, outcome: Outcome | None = None, **more: Any) -> ExplorerItem:
        """An answered instance, or one that no model has had."""
        instance, passed = judged.instance, judged.passed
        kind = " / ".join(filter(None, (instance.category, instance.task)))
        title = " · ".join(filter(None, (judged.name, words.column(instance.language), kind)))
        if judged.response.model:
            drawn = replace(conversation(public(judged), passed), who=anonymous.name(judged.response.model))
            drawn = drawn if outcome is None else replace(drawn, outcome=outcome)
        else:
            bare = [turn.criteria for turn in instance.turns]
            drawn = Conversation("", exchanges(judged.response.messages, bare), "", language=instance.language)
        return cls(judged.name, replace(drawn, name=title), instance.category, **more)

    @property
    def language(self) -> str:
        """The code of its language, if it is known."""
        return self.drawn.language

    @property
    def ended(self) -> str:
        """How it ended."""
        return ENDED[self.drawn.outcome]

    @property
    def opening(self) -> str:
        """What was asked first."""
        messages = (message for turn in self.drawn.exchanges for message in turn.messages)
        prompts = (message.content for message in messages if message.role == "user")
        return next(prompts, "") or (self.checks[0].text if self.checks else "")

    def verdicts(self) -> Iterator[tuple[Criterion, Label | None, str]]:
        """Every criterion with its verdict as it counts, and the reason; bare ones without."""
        for check in self.checks:
            label: Label | None = check.state if check.state in ("yes", "no") else None
            yield Criterion(check.text), label, check.note
        for verdict in (verdict for turn in self.drawn.exchanges for verdict in turn.verdicts):
            if isinstance(verdict, Criterion):
                yield verdict, None, ""
            else:
                yield verdict.criterion, verdict.label, verdict.reason


Items = Mapping[str, ExplorerItem]


@dataclass(frozen=True)
class StudyRun:
    """A run that is on no board, or whose board is about something else than conversations.

    `key` stands in links, `title` says what it holds, and `name` whose it is.
    """

    key: str
    title: str
    name: str
    folder: Path


def studies(roots: Iterable[Path]) -> Iterator[StudyRun]:
    """Yield the runs that keep what their report shows: pairs, versions of answers, diagnoses and others."""
    for folder in runs.folders(roots):
        with suppress(UserError):
            results = Results.open(folder)
            if isinstance(title := results.info.get("conversations"), str):
                key = f"{runs.slug(folder.name)}-{digest(str(folder))[:8]}"
                whose = next(filter(None, map(results.settings.get, ("model", "judges", "judge", "validator"))), ())
                names = [words.model(anonymous.name(n)) for n in ([whose] if isinstance(whose, str) else whose)]
                yield StudyRun(key, title, ", ".join(names), folder)


class RecentItems:
    """The conversations of the runs looked at last."""

    def __init__(self) -> None:
        self._recent = Recent[Items](_KEPT)

    def of(self, entry: BoardEntry | StudyRun | None) -> Items:
        """Those of a line of a board, by name in the order of the file; without one the built-in sample. Raises UserError."""
        if entry is None:
            return sample()
        if (folder := entry.folder) is None:
            raise UserError("this entry has no conversations to show")
        try:
            return self._recent.of((entry.key, runs.stamp(folder)), lambda: _read(folder, entry))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
            raise UserError("the judgments of this run cannot be read") from error


@cache
def sample() -> Items:
    """The built-in instances as conversations that no model has had: theirs has no name."""
    items = {}
    for instance in data.load("mini"):
        prompts = Response(instance.id, "", tuple(Message("user", turn.prompt) for turn in instance.turns))
        items[instance.id] = ExplorerItem.of(Judged(instance, prompts, ()))
    return items


def _read(folder: Path, entry: BoardEntry | StudyRun) -> Items:
    if isinstance(entry, StudyRun):
        items: dict[str, ExplorerItem] = {}
        for row in Results(folder, {}).conversations:
            name, _, category = row.name.partition(" · ")
            name = row.name if name in items else name
            items[name] = ExplorerItem(name, replace(row, who=row.who or entry.name), category)
        return items
    return _READERS.get(entry.kind, _answers)(folder, entry)


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
        outcome, heads = _worst(steps), ("Applies", "Attempted", "Right")
        item = ExplorerItem.of(Judged(instance, response, ()), outcome, heads=heads, checks=tuple(steps))
        by_model.setdefault(talk.model, {})[name] = item
    return _own(by_model, entry)


def _worst(checks: Iterable[Check]) -> Outcome:
    states = {check.state for check in checks}
    return "no" if "no" in states else "open" if "open" in states else "yes"


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
        heads = ("People", "Judge")
        item = ExplorerItem.of(judged, _worst(in_order), heads=heads, checks=tuple(in_order))
        items[name] = replace(item, drawn=replace(item.drawn, words=OF_JUDGES))
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
                quotes = (shortened(text, _LONGEST) for text in (item.opening, criterion.text, reason))
                failures.setdefault(item.name, Example(item.name, item.language, item.category, *quotes))
    most = {kind: tuple(count.most_common(_MOST)) for kind, count in texts.items()}
    seen, placed = Counter[str](), list[tuple[int, Example]]()  # the first failure of each category comes first
    for example in failures.values():
        placed.append((seen[example.category], example))
        seen[example.category] += 1
    examples = [example for _, example in sorted(placed, key=lambda pair: pair[0])]
    return Story(decided, missed, most, tuple(examples[:_EXAMPLES]))
