"""What was judged in a run, one conversation at a time, whatever kind of study judged it; and what of it was missed most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from truebench_hf.benchmarks.flexbench.conversations import step_by_step
from truebench_hf.benchmarks.flexbench.score import FlexScore
from truebench_hf.benchmarks.rubric_eval.conversations import rubric_by_rubric
from truebench_hf.benchmarks.truebench import data
from truebench_hf.comparing import runs
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged, public
from truebench_hf.data.records import JUDGMENTS, of_entry
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.report.sections import Conversation, Outcome, conversation, exchanges
from truebench_hf.results.folder import Results
from truebench_hf.space.board import words
from truebench_hf.space.board.store import Recent
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Label, Message, Response

V = TypeVar("V")
SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
UNJUDGED = "not judged"
# In the order of lists: what went wrong comes first.
ENDED: dict[Outcome, str] = {"no": "failed", "open": "unscored", "yes": "passed", "": UNJUDGED}
_KEPT = 4


@dataclass(frozen=True)
class ExplorerItem:
    """A judged conversation as strangers may see it; `name` says which of its run it is."""

    name: str
    drawn: Conversation

    @classmethod
    def of(cls, judged: Judged) -> ExplorerItem:
        """An answered instance, or one that no model has had."""
        instance, model = judged.instance, judged.response.model
        kind = " / ".join(filter(None, (instance.category, instance.task)))
        if model:
            drawn = conversation(public(judged), judged.passed)
        else:
            bare = [turn.criteria for turn in instance.turns]
            drawn = Conversation("", exchanges(judged.response.messages, bare), "", language=instance.language)
        return cls.of_conversation(judged.name, replace(drawn, name=kind, who=model, category=instance.category))

    @classmethod
    def of_conversation(cls, name: str, drawn: Conversation, title: str = "") -> ExplorerItem:
        """A conversation without what is not for strangers, by default under name, language and what it calls itself."""
        title = title or " · ".join(filter(None, (name, words.column(drawn.language), drawn.name)))
        checks = (replace(c, note=anonymous.text(c.note)) if c.state == "open" else c for c in drawn.checks)
        who, error = words.model(drawn.who), anonymous.text(drawn.error)
        return cls(name, replace(drawn, name=title, who=who, error=error, checks=tuple(checks)))

    @property
    def language(self) -> str:
        """The code of its language, if it is known."""
        return self.drawn.language

    @property
    def ended(self) -> str:
        """How it ended."""
        return ENDED[self.drawn.outcome]

    @property
    def about(self) -> str:
        """Its language and category."""
        return " · ".join(filter(None, (words.column(self.language), self.drawn.category)))

    @property
    def opening(self) -> str:
        """What was asked first."""
        messages = (message for turn in self.drawn.exchanges for message in turn.messages)
        prompts = (message.content for message in messages if message.role == "user")
        return next(prompts, "") or (self.drawn.checks[0].text if self.drawn.checks else "")

    def verdicts(self) -> Iterator[tuple[Criterion, Label | None, str]]:
        """Every criterion with its verdict as it counts, and the reason; bare ones without."""
        for check in self.drawn.checks:
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
                names = map(words.model, [whose] if isinstance(whose, str) else whose)
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
            drawn = replace(row, who=row.who or entry.name, category=category)
            items[name] = ExplorerItem.of_conversation(name, drawn, row.name)
        return items
    return _READERS.get(entry.kind, _answers)(folder, entry)


def _answers(folder: Path, entry: BoardEntry) -> Items:
    """Judged answers of the model of a line, whose file may hold those of others."""
    by_model: dict[str, dict[str, ExplorerItem]] = {}
    for judged in Results(folder, {}).judged(runs.loads):
        by_model.setdefault(judged.response.model, {})[judged.name] = ExplorerItem.of(judged)
    return _own(by_model, entry)


def _steps(folder: Path, entry: BoardEntry) -> Items:
    """Conversations of the model of a line along a procedure."""
    own = _own(step_by_step(str(folder)), entry)
    return {name: ExplorerItem.of_conversation(name, drawn) for name, drawn in own.items()}


def _own(by_model: Mapping[str, dict[str, V]], entry: BoardEntry) -> dict[str, V]:
    names = anonymous.names(by_model)
    own = of_entry({names[model]: rows for model, rows in by_model.items()}, entry.name) if by_model else None
    return own or {}


def _rubrics(folder: Path, entry: BoardEntry) -> Items:
    """Labelled answers with what a judge decided of their rubrics."""
    with (folder / JUDGMENTS).open("rb") as content:
        rows = [runs.loads(line.decode("utf-8")) for _, line in jsonl.lines(content, JUDGMENTS)]
    data = str(Results.open(folder).settings.get("data"))
    by_name = rubric_by_rubric(rows, entry.name, entry.facts.get("Paradigm", ""), data)
    return {name: ExplorerItem.of_conversation(name, drawn) for name, drawn in by_name.items()}


_READERS: dict[str, Callable[[Path, BoardEntry], Items]] = {FlexScore.kind: _steps, JUDGES: _rubrics}

_EXAMPLES = 3
_MOST = 3  # criteria of a type
_LONGEST = 240  # characters of what is quoted


@dataclass(frozen=True)
class Story:
    """What a run's judgments tell: by type of criteria ("" where the data names none) how many were decided and missed,
    and the missed ones with how often; examples of failed conversations, of different categories, each with the text of a
    criterion that was not met and why."""

    decided: Counter[str]
    missed: Counter[str]
    most: Mapping[str, tuple[tuple[str, int], ...]]
    examples: tuple[tuple[ExplorerItem, str, str], ...]


def story(items: Items) -> Story:
    """Return what the conversations of a run tell."""
    decided, missed, texts = Counter[str](), Counter[str](), dict[str, Counter[str]]()
    failures: dict[str, tuple[ExplorerItem, str, str]] = {}
    for item in items.values():
        for criterion, label, reason in item.verdicts():
            kind = criterion.kind or ""
            decided[kind] += label is not None and label != "unknown"
            if label == "no":
                missed[kind] += 1
                texts.setdefault(kind, Counter())[shortened(criterion.text, _LONGEST)] += 1
                failures.setdefault(item.name, (item, criterion.text, reason))
    most = {kind: tuple(count.most_common(_MOST)) for kind, count in texts.items()}
    # The first failure of each category comes before the second of any.
    first = {item.drawn.category: item for item, *_ in reversed(failures.values())}
    examples = sorted(failures.values(), key=lambda example: first[example[0].drawn.category] is not example[0])
    return Story(decided, missed, most, tuple(examples[:_EXAMPLES]))
