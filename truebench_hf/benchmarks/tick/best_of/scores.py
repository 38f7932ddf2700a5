"""What each scoring function selects, and what it is worth by the outside score (Tables 5 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.benchmarks.tick import summary as checklists
from truebench_hf.benchmarks.tick.outside import Outside, to_json, verdict_rows
from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.metrics import repeated
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import mean_share
from truebench_hf.types import Instance, Score, Verdict

GREEDY, RANDOM, BEST = "greedy", "random", "best"


@dataclass(frozen=True, slots=True)
class Selecting:
    """What one scoring function says of one answer: the higher the better, None where undecided and `reason` says why."""

    score: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, None where `problem` says why there is none. `inside` has a score by each scoring function."""

    text: str | None
    problem: str = ""
    truncated: bool = False
    verdicts: tuple[Verdict, ...] = ()
    inside: Mapping[str, Selecting] = field(default_factory=dict)
    outside: Outside | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """An instruction with its `n` sampled answers and the greedy one, which nothing selects from."""

    instance: Instance
    listed: Listed | None
    answers: tuple[Answer, ...]
    greedy: Answer

    @property
    def worth(self) -> list[float | None]:
        """The outside scores of the answers."""
        return [_worth(answer) for answer in self.answers]

    def selected(self, by: str) -> repeated.Selected:
        """What a scoring function selects. An answer that there is not is undecided, and so no candidate."""
        inside = [answer.inside[by].score if by in answer.inside else None for answer in self.answers]
        return repeated.select(inside, self.worth)

    def value(self, by: str) -> float | None:
        """The outside score of a way to choose: a scoring function's name, or greedy, random or best."""
        rows: dict[str, Callable[[], float | None]] = {
            GREEDY: lambda: _worth(self.greedy),
            RANDOM: lambda: mean_of(*self.worth),
            BEST: lambda: repeated.best(self.worth),
        }
        return rows[by]() if by in rows else self.selected(by).score

    def precision(self, by: str) -> float | None:
        """The share of what is selected that is best by the outside score; None for greedy, which does not select."""
        if by == GREEDY:
            return None
        chance = repeated.select(self.worth, self.worth)
        return {RANDOM: chance.chance, BEST: chance.precision}.get(by, self.selected(by).precision)

    def row(self, by: Sequence[str]) -> dict[str, Any]:
        """The line of `answers.jsonl`."""
        selected = {name: self.selected(name).places for name in by}
        rows = [
            _row(answer) | {"selected_by": [n for n in by if i in selected[n]]} for i, answer in enumerate(self.answers)
        ]
        return {"id": self.instance.id, "answers": rows, "greedy": _row(self.greedy)}


@dataclass(frozen=True)
class Line:
    """A way to choose, over all instructions: mean outside score and precision, and how it differs from greedy.

    `tied` is the mean number of answers selected, `unselected` how many instructions had no answer with a score.
    """

    by: str
    outside: Score
    precision: Score | None
    versus: PairedDifference
    tied: float | None = None
    unselected: int = 0


def table(done: Sequence[Sampled], by: Sequence[str]) -> list[Line]:
    """Greedy, a random pick, every scoring function, and the best there is to choose."""
    return [_line(done, name) for name in (GREEDY, RANDOM, *by, BEST)]


def _line(done: Sequence[Sampled], by: str) -> Line:
    values = [one.value(by) for one in done]
    versus = paired_difference(values, [one.value(GREEDY) for one in done])
    precision = None if by == GREEDY else mean_share([one.precision(by) for one in done])
    if by in (GREEDY, RANDOM, BEST):
        return Line(by, mean_share(values), precision, versus)
    sizes = [len(one.selected(by).places) for one in done]
    chosen = [size for size in sizes if size]
    tied = sum(chosen) / len(chosen) if chosen else None
    return Line(by, mean_share(values), precision, versus, tied, len(sizes) - len(chosen))


def undecided(one: Sampled, by: Sequence[str], outside: bool) -> str:
    """What is missing of an instruction; "" where everything is decided."""
    answers = (*one.answers, one.greedy)
    found = [answer.problem for answer in answers if answer.text is None]
    none = one.listed is not None and not one.listed.criteria  # then no answer has a pass rate, for that one reason
    found += [f"no checklist: {one.listed.problem}"] if one.listed and none else []
    scores = [(name, score) for answer in one.answers for name, score in answer.inside.items() if name in by]
    found += [f"{n}: {s.reason}" for n, s in scores if s.score is None and not (none and n == "stick")]
    if outside:
        found += [f"outside: {a.outside.reason}" for a in answers if a.outside and a.outside.score is None]
    return "; ".join(dict.fromkeys(filter(None, found)))


def summary(done: Sequence[Sampled], by: Sequence[str], outside: bool) -> dict[str, Any]:
    """The content of `scores.json`."""
    open_ = {one.instance.id: why for one in done if (why := undecided(one, by, outside))}
    return {
        "instructions": len(done),
        "checklists": checklists.summary([one.listed for one in done if one.listed]),
        "lines": [asdict(line) for line in table(done, by)] if outside else [],
        "tied": {name: _line(done, name).tied for name in by},
        "unselected": {name: [o.instance.id for o in done if not o.selected(name).places] for name in by},
        "undecided": open_,
        "incomplete": len(open_),
    }


def _worth(answer: Answer) -> float | None:
    return answer.outside.score if answer.outside else None


def _row(answer: Answer) -> dict[str, Any]:
    shown: dict[str, Any] = {"text": answer.text}
    shown |= {name: value for name in ("problem", "truncated") if (value := getattr(answer, name))}
    if answer.verdicts:
        shown["verdicts"] = verdict_rows(answer.verdicts)
    shown |= {"scores": {name: asdict(one) for name, one in answer.inside.items()}} if answer.inside else {}
    return shown | ({"outside": to_json(answer.outside)} if answer.outside else {})
