"""What users are like, and what simulated ones lack of real ones: length, turns, and what they talk about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import Talk
from truebench_hf.metrics.intervals import MIN_CLUSTERS, drawn_ratios, percentiles
from truebench_hf.report.table import Column, Table
from truebench_hf.types import Score

MEASURES = {
    "turns": ("turns a conversation", "How often users write in a conversation."),
    "words": ("words a turn", "Words of a user's message; in Chinese and Japanese every two characters are a word."),
    "disclosure": (
        "new words a turn", "Words of four letters and more, and numbers, that nobody has used before in the conversation."
    ),
    "questions": ("turns with a question %", "Messages of users that ask something."),
}  # fmt: skip
_QUESTION = re.compile(r"[?\uff1f\u061f]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_TOPICS = 20  # words that are listed at most
_LEAST = 3  # real conversations that a word stands in before it counts as a topic
Ratio = tuple[list[float], list[float]]  # a top and a bottom per conversation


@dataclass(frozen=True)
class _User:
    """The user's side of one conversation: how many turns, words, new words and turns with a question there are, and the
    content words that the user brings up."""

    sums: dict[str, float]
    vocabulary: set[str]

    @classmethod
    def of(cls, talk: Talk) -> _User:
        user, used = cls(dict.fromkeys(MEASURES, 0.0), set()), set[str]()
        for message in talk.messages:
            words = []
            for word in re.findall(r"\w+", message.content.casefold()):
                words += [word[i : i + 2] for i in range(0, len(word), 2)] if _CJK.search(word) else [word]
            if message.role == "user":
                content = {word for word in words if len(word) > 3 or _CJK.search(word) or word.isdigit()}
                user.sums["turns"] += 1
                user.sums["words"] += len(words)
                user.sums["disclosure"] += len(content - used)
                user.sums["questions"] += 100.0 * bool(_QUESTION.search(message.content))
                user.vocabulary.update(content)
            used |= set(words)
        return user


def measures(talks: Sequence[Talk]) -> dict[str, Score]:
    """Return the means over users' turns (of `turns` over conversations), with intervals by conversations."""
    ratios = _ratios(list(map(_User.of, talks)))
    return {name: _score(ratio, None) for name, ratio in ratios.items()}


def users_table(talks: Sequence[Talk]) -> Table:
    """Return what the users of some conversations are like."""
    columns = [Column("users", "")]
    columns += [Column(name, title, "score", about, unit="", digits=1) for name, (title, about) in MEASURES.items()]
    return Table("users", columns, [{"users": "all users", **measures(talks)}], "What the users are like")


def gap_tables(simulated: Sequence[Talk], real: Sequence[Talk]) -> list[Table]:
    """Return what simulated users lack of real ones: a measure a row, and the words that real users alone bring up."""
    first, second = (list(map(_User.of, talks)) for talks in (simulated, real))
    mine, theirs = _ratios(first), _ratios(second)
    known = set().union(*(user.vocabulary for user in first))
    covered: Ratio = (
        [100.0 * len(user.vocabulary & known) for user in second], [float(len(user.vocabulary)) for user in second],
    )  # fmt: skip
    rows: list[dict[str, Any]] = [
        {"measure": title, "about": about, "simulated": _score(mine[name], None), "real": _score(theirs[name], None),
         "lacking": _score(theirs[name], mine[name])}
        for name, (title, about) in MEASURES.items()
    ]  # fmt: skip
    topics = "Of the content words of a real user, those that any simulated user brings up, too."
    rows.append({"measure": "topics covered %", "about": topics, "simulated": _score(covered, None)})
    columns = (
        Column("measure", ""), _column("simulated", f"simulated ({len(first)})"), _column("real", f"real ({len(second)})"),
        _column("lacking", "real less simulated", "Where the interval holds 0 the two may be alike."),
    )  # fmt: skip
    note = f"Intervals by a bootstrap over conversations, from {MIN_CLUSTERS} on."
    return [
        Table("simulation", columns, rows, "What the simulation lacks of real conversations", note),
        *_topics(first, second),
    ]


def _topics(simulated: Sequence[_User], real: Sequence[_User]) -> list[Table]:
    """The words that real users bring up more often than simulated ones, those with the greatest difference first."""
    often = Counter(word for user in real for word in user.vocabulary)
    rows: list[dict[str, Any]] = []
    for word, count in often.items():
        mine, theirs = ([float(word in user.vocabulary) for user in users] for users in (simulated, real))
        gap = _score((theirs, [1.0] * len(theirs)), (mine, [1.0] * len(mine))) if count >= _LEAST else None
        if gap and gap.value and gap.value > 0 and (gap.ci95 is None or gap.ci95[0] > 0):
            rows.append({"word": word, "real": count / len(real), "simulated": sum(mine) / len(mine), "gap": gap})
    rows.sort(key=lambda row: -(row["gap"].value or 0.0))
    columns = (
        Column("word", "word"), Column("real", "in real conversations %", "number", digits=0),
        Column("simulated", "in simulated ones %", "number", digits=0),
        Column("gap", "difference", "score", "By how much more often real users bring it up.", "points", digits=1,
               parts=("value", "interval")),
    )  # fmt: skip
    title = "Words that real users bring up and simulated ones hardly do"
    return [Table("topics", columns, rows[:_TOPICS], title)] if rows else []


def _column(name: str, title: str, about: str = "") -> Column:
    return Column(name, title, "score", about, unit="", digits=1, parts=("value", "interval"))


def _ratios(users: Sequence[_User]) -> dict[str, Ratio]:
    turns = [user.sums["turns"] for user in users]
    tops = {name: [user.sums[name] for user in users] for name in MEASURES}
    return {name: (top, [1.0] * len(users) if name == "turns" else turns) for name, top in tops.items()}


def _score(ratio: Ratio, less: Ratio | None) -> Score:
    """The ratio, or by how much it is greater than another one over other conversations, with its interval."""
    ratios = [ratio, *([less] if less else [])]
    if not all(sum(bottom) for _, bottom in ratios):
        return Score(None, 0)
    first, *second = (sum(top) / sum(bottom) for top, bottom in ratios)
    n = len(ratio[0])
    if any(sum(map(bool, bottom)) < MIN_CLUSTERS for _, bottom in ratios):
        return Score(first - sum(second), n)
    drawn, *others = (drawn_ratios([each], seed)[0] for seed, each in enumerate(ratios))
    return Score(first - sum(second), n, 0, percentiles(drawn - others[0] if others else drawn))
