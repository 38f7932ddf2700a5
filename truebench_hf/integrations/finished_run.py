"""A finished run as it is exported: its scores, its judged responses, and how it was made, fit for strangers' eyes.

The one place in which exports read folders.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.results import one_model, provenance
from truebench_hf.benchmarks.truebench.scores import score as score_judged
from truebench_hf.comparing import runs
from truebench_hf.data.judged import Judged, public, sent
from truebench_hf.errors import UserError
from truebench_hf.hub.submission import check_scores
from truebench_hf.prompts import Prompts
from truebench_hf.results.folder import Results
from truebench_hf.study.notes import identities
from truebench_hf.study.ranking import COST
from truebench_hf.text import anonymous
from truebench_hf.text.redaction import known
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Instance, Message, Score
from truebench_hf.version import __version__

# Scores of a run that its board does not show, by their names in scores.json.
_NOT_ON_THE_BOARD = {
    "strict": "Pass rate, undecided ones as failed", "official": "Pass rate by the official rule",
    "soft_criterion": "Mean share of criteria", "soft_turn": "Mean share of turns", "drfr": "Share of all criteria (DRFR)",
    "weighted": "Mean share of points",
}  # fmt: skip
_SAMPLING = ("temperature", "top_p", "max_tokens", "repetition_penalty")


@dataclass(frozen=True)
class MeasuredScores:
    """One score: its name, how it is called, whether it is a share (0 to 1), and in which way it was measured."""

    name: str
    title: str
    score: Score
    share: bool = True
    lower_is_better: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AnsweredInstance:
    """A judged response with its score (0 to 1; None: undecided)."""

    judged: Judged
    score: float | None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation as the model was sent it, up to its last answer; at least the first prompt."""
        instance, messages = self.judged.instance, self.judged.response.messages
        if not any(message.role == "user" for message in messages):
            messages = (*messages, Message("user", instance.turns[0].prompt))
        return sent(instance, messages)

    @property
    def opening(self) -> int:
        """How many messages there are up to the first prompt that is to be answered."""
        own = self.judged.response.messages
        return (bool(own) and own[0].role == "system") + len(self.judged.instance.history) + 1

    @property
    def usage(self) -> dict[str, int] | None:
        """The tokens it took; None where a part is unknown, which would be shown, and summed up, as the whole."""
        usage = self.judged.response.usage
        if usage.unknown_calls:
            return None
        return {
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens, "reasoning_tokens": usage.reasoning_tokens,
        }  # fmt: skip


@dataclass(frozen=True)
class Exported:
    """A run: scores by model, the first of them the main one, and where they are scored one by one its responses.

    `about` says what the score of a response is; `info` is what may be told of `run.json`, `prompt` what judges were
    asked by.
    """

    where: str
    kind: str
    info: Mapping[str, Any]
    scores: Mapping[str, Sequence[MeasuredScores]]
    responses: Mapping[str, Sequence[AnsweredInstance]]
    about: str = ""
    judges: Sequence[str] = ()
    prompt: str = ""

    def decided(self, model: str) -> list[MeasuredScores]:
        """The scores of a model that anything was decided for."""
        return [measured for measured in self.scores.get(model, ()) if measured.score.value is not None]

    @property
    def answered(self) -> Iterator[AnsweredInstance]:
        """The responses of all models."""
        return chain.from_iterable(self.responses.values())

    @property
    def settings(self) -> dict[str, Any]:
        """The options, as far as they may be told."""
        return dict(self.info.get("settings", {}))

    def sampling(self, model: str) -> dict[str, Any]:
        """How the answers of a model were drawn: as the command asked, and over it the options of the model itself."""
        of_command = self.settings.get("sampling") or self.settings
        _, identity = identities(self.settings).get(model, ("", {}))
        own = identity.get("options")
        sources = [source for source in (of_command, own) if isinstance(source, Mapping)]
        return {name: source[name] for source in sources for name in _SAMPLING if source.get(name) is not None}

    @property
    def version(self) -> str:
        """The version of ours that made it."""
        versions = self.info.get("versions")
        return str(versions.get("truebench-hf", __version__)) if isinstance(versions, Mapping) else __version__

    def time(self, what: str) -> str | None:
        """When the last session `started` or `finished`, as `run.json` has it."""
        last = (self.info.get("sessions") or [{}])[-1]
        return str(last[what]) if last.get(what) else None

    @property
    def data(self) -> str:
        """What the run was over."""
        return str(self.settings.get("data") or "unnamed data")


def groups_of(instance: Instance) -> dict[str, str]:
    """Language, category and task of an instance, as far as it has them."""
    names = {"language": instance.language, "category": instance.category, "task": instance.task}
    return {name: text for name, text in names.items() if text}


def references_of(instance: Instance) -> list[str]:
    """The references of its turns, of those that have one."""
    return [turn.reference for turn in instance.turns if turn.reference is not None]


def put(path: Path, text: str) -> None:
    """Write a file, and its folder, without secrets. Half a character is written as a question mark. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [known(text)], errors="replace", newline="")


def put_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write rows as JSON Lines, as `put` does."""
    put(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def read(where: str) -> Exported:
    """The finished run in a folder. Raises UserError where there is none, or one without scores to export."""
    results = Results.open(where)
    path, info, kind = results.path, results.info, results.kind or TRUEBENCH
    results.check_finished()
    results.check_board()
    about, responses, named = "", dict[str, list[AnsweredInstance]](), dict[str, str]()
    rows: list[tuple[Judged, float | None]] = []
    if kind in runs.KINDS:
        judged_kind, _, rows = runs.rows_of(where)
        about = judged_kind.about
        named = anonymous.names(judged.response.model for judged, _ in rows)
        for judged, score in rows:
            public_judged, name = public(judged), named[judged.response.model]
            public_judged = replace(public_judged, response=replace(public_judged.response, model=name))
            responses.setdefault(name, []).append(AnsweredInstance(public_judged, score))
    run = runs.read_board(path)
    if run is None:
        raise UserError(
            f"{where}: a study of kind {kind} scores no models or judges; its rows are files of that folder"
        )
    scores: dict[str, list[MeasuredScores]] = {}
    # The main score first. Without a value are those that nothing was decided for.
    main = run.board.main
    columns = sorted(run.board.columns, key=lambda column: column.name != main)
    for entry in run.entries:
        scores.setdefault(entry.name, []).extend(
            MeasuredScores(c.name, c.title, value, c.percent, c.name == main and entry.ascending, entry.facts)
            for c in columns
            if c.group != COST and (value := entry.scores.get(c.name)) is not None
        )
    for model, public_name in named.items() if kind == TRUEBENCH else ():
        others = _scores_of(results, model, [judged for judged, _ in rows if judged.response.model == model])
        scores[public_name] += [
            MeasuredScores(name, title, others[name]) for name, title in _NOT_ON_THE_BOARD.items() if name in others
        ]
    public_info: dict[str, Any] = {
        name: anonymous.settings(info[name]) for name in ("settings", "sessions", "versions", "usage") if name in info
    }
    judges = sorted(map(anonymous.name, runs.judges(kind, info.get("settings", {}))))
    return Exported(where, kind, public_info, scores, responses, about, judges, _prompt(info))


def _scores_of(results: Results, model: str, judged: Sequence[Judged]) -> dict[str, Score]:
    """The scores of a model over all instances, from its verdicts. Raises UserError where scores.json has other ones."""
    alone = one_model(results.info, model) if "model" in results.settings else results.info
    report = score_judged(judged, provenance=provenance(alone))
    table = results.tables.get("scores")
    check_scores(report, [row for row in table.rows if row["model"] == model] if table else ())
    return {name: score for name, score in report.scores.items() if isinstance(score, Score)}


def _prompt(info: Mapping[str, Any]) -> str:
    """The texts of the prompts that were in use, as far as they are known: ours of today, or those put in their place."""
    ours, replaced = Prompts(), info.get("replaced_prompts") or {}
    texts = []
    for name, noted in (info.get("settings", {}).get("prompts") or {}).items():
        if name == "repair":
            continue
        text = replaced.get(name, {}).get("text") or (ours.source(name) if ours.hash(name) == noted else None)
        texts.append(f"# {name}\n{text or f'(sha256 {noted})'}")
    return "\n\n".join(texts)
