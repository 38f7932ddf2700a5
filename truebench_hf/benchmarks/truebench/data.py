"""What a run is about (the built-in sample, a release of TRUEBench, one's own data, given responses to it), and every option
of `truebench run`, `generate` and `judge`, declared once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.data import instances, row_files
from truebench_hf.data.answer_files import read_answers, responses_by_model
from truebench_hf.data.catalogue import NAMES, located
from truebench_hf.data.logs import TURNS
from truebench_hf.data.records import JUDGMENTS, RESPONSES
from truebench_hf.data.row_files import Usable, unusable
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING
from truebench_hf.options import NOBODY, Binds, InMemory, columns, flag, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import (
    PANEL_HELP,
    DataOptions,
    FailUnderOptions,
    FolderOptions,
    PanelOptions,
    RepeatOptions,
    ReplyOptions,
    RuleOptions,
    WritingOptions,
    level_of,
    numbered,
)
from truebench_hf.text.redaction import known
from truebench_hf.types import Instance, Response

CATEGORIES = (
    "Content Generation", "Editing", "Data Analysis", "Reasoning", "Hallucination",
    "Safety", "Repetition", "Summarization", "Translation", "Multi-Turn",
)  # fmt: skip
LANGUAGE_NAMES = {
    "KO": "Korean", "EN": "English", "JA": "Japanese", "ZH": "Chinese", "PL": "Polish", "DE": "German", "PT": "Portuguese",
    "ES": "Spanish", "FR": "French", "IT": "Italian", "RU": "Russian", "VI": "Vietnamese",
}  # fmt: skip
LANGUAGES = tuple(LANGUAGE_NAMES)


def load(
    data: str, column: tuple[str, ...] = (), criteria: str | None = None, separator: str = "", *, judged: bool = True,
    repeated: bool = False,
) -> list[Instance]:  # fmt: skip
    """The instances of one of `NAMES`, a file, a folder or a Hub id, as `instances.of_rows` reads them, or SOURCE:PATH.

    `column` (OURS=THEIRS) maps columns, `criteria` is a file of criteria for every turn, `separator` parts those of a
    text. Of several splits the one named test is read; `judged` and `repeated` as there. Of a source, whose rows may be
    dirty, `unusable` tells what was left out. Raises UserError naming the first malformed row and its field, or the
    remedy where nothing is found.
    """
    named, more = columns(column), instances.criteria_file(criteria, separator) if criteria else ()
    if row_files.is_source(data):
        from truebench_hf.data import sources  # many modules, of which most runs need none

        source = sources.instances(data)
        completed = (instances.with_criteria(instance, more) for instance in source)
        return Usable(completed, source.left_out)
    rows = list(row_files.one_split(data if isinstance(data, InMemory) else located(data), NAMES))
    if not separator:
        instances.warn_unsplit(rows, named)
    return instances.of_rows(rows, named, more, separator=separator, judged=judged, repeated=repeated)


def select(all_instances: Sequence[Instance], languages: Sequence[str], categories: Sequence[str]) -> list[Instance]:
    """The instances of some languages and categories, with what was left out of the data. Raises UserError on a name
    that it lacks.

    A language may be named by its code or in English, whichever the data has.
    """
    chosen = list(all_instances)
    also = {code.casefold(): english.casefold() for code, english in LANGUAGE_NAMES.items()}
    also |= {english: code for code, english in also.items()}
    for field, wanted in (("language", languages), ("category", categories)):
        known = {getattr(i, field).casefold(): getattr(i, field) for i in all_instances if getattr(i, field)}
        if wanted and not known:
            raise UserError(f"--{field} {wanted[0]}: the data names no {field}; leave it out")
        folded = set()
        for name in wanted:
            own = name.strip().casefold()
            own = also.get(own, own) if field == "language" and own not in known else own
            if own not in known:
                raise unknown(field, name, sorted(known.values()))
            folded.add(own)
        chosen = [i for i in chosen if not folded or getattr(i, field).casefold() in folded]
    if not chosen:
        raise UserError("no instance has both the languages and the categories asked for; ask for fewer")
    return Usable(chosen, all_instances.left_out) if isinstance(all_instances, Usable) else chosen


def slug(name: str) -> str:
    """A language or category as configurations and tasks are called on the Hub: `Multi-Turn` is `multi_turn`."""
    return re.sub(r"\W+", "_", name.casefold()).strip("_")


def data_hash(chosen: Sequence[Instance]) -> str:
    """SHA-256 over all that the instances hold but for secrets, whatever file they came from."""
    return digest(known(canonical(list(chosen))))


@dataclass(frozen=True, slots=True)
class ModelResponses:
    """An instance with the responses to it that there are; several of one model are its samples."""

    instance: Instance
    responses: Sequence[Response]


class SeveralOptions(WritingOptions):
    """Where responses come from."""

    responses: tuple[str, ...] = option(
        (), panel="Data", help="Responses to the data: a run folder, or a file as for `truebench judge`; may be repeated, e.g. "
        "one a model. Where rows do not say whose they are the file's name does."
    )  # fmt: skip
    model: tuple[str, ...] = role(
        (), help="Model whose responses are made here: a spec; may be repeated.",
        binds=Binds("model", lambda options: options.models, grows=True),
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if not self.responses and not self.model:
            raise UserError("give --responses (a file or a run folder), or name a --model that makes them")

    @property
    def models(self) -> list[str]:
        """The models by name: the spec, numbered where one is named more than once."""
        return list(map(str, numbered(self.model)))


def answered(options: SeveralOptions, chosen: Sequence[Instance]) -> tuple[Items[ModelResponses], list[str]]:
    """The instances with what was given, of one that is sampled all; and the names of all models.

    What nobody answered and nobody will is left out. Raises UserError where a model's responses are given and made, and
    as `given_responses`.
    """
    answering = options.models
    files = []
    for place in options.responses:
        path = Path(place)
        if path.is_dir():
            held = [path / name for name in (RESPONSES, JUDGMENTS) if (path / name).is_file()]
            if not held:
                raise UserError(
                    f"--responses {place}: holds neither {RESPONSES} nor {JUDGMENTS}; give a run folder, or a file"
                )
            path = held[0]
        files.append(path)
    by_model = responses_by_model(chosen, [(path, list(read_answers(path))) for path in files])
    if both := set(by_model) & set(answering):
        raise UserError(f"--model {min(both)}: --responses holds answers of it too; leave out one of the two")
    items = [ModelResponses(i, [response for by_id in by_model.values() for response in by_id[i.id]]) for i in chosen]
    # A file often answers a part of the data.
    silent = [] if answering else [item for item in items if not any(response.answers for response in item.responses)]
    left = {item.instance.id for item in silent}
    return Items(
        [item for item in items if item.instance.id not in left],
        lambda item: item.instance.id,
        lambda item: [item.instance, item.responses],
        lambda item: (item.instance.language, item.instance.category),
        size=lambda item: len(item.instance.turns),
        left_out=(
            *unusable(chosen), *(f"instance {item.instance.id}, to which there is no response" for item in silent),
        ),
    ), [*by_model, *answering]  # fmt: skip


_JUDGING = Binds("judging", lambda options: options.judging_facts, late=True)
_SAMPLING = Binds("sampling", lambda options: asdict(options.sampling))
_PANEL = Binds("panel", lambda o: {"judges": o.judge, "rule": o.panel_rule} if o.panel else {}, late=True)
_CASCADE = Binds(
    "cascade_judge", lambda o: (o.cascade_judge or o.judge[0]) if o.settings.level == "cascade" else None, late=True
)
# The options that say which instances there are; answers in a folder have theirs.
OF_DATA = ("data", "column", "criteria_separator", "criteria", "language", "category", "limit", "seed")


class InstanceOptions(DataOptions):
    """Which instances."""

    PANEL: ClassVar[str] = "Data"

    data: str = option(
        help="truebench_mini (or mini), truebench (or v0.6.1), a path (JSONL, JSON, CSV, XLSX, Parquet, or a folder), a Hub id, "
        "or SOURCE:PATH (rubrics of others, as in `truebench data list`)."
    )
    column: tuple[str, ...] = option(
        (), help="OURS=THEIRS, e.g. prompt=question: another name of a column; may be repeated. Several of criteria are "
        "joined."
    )  # fmt: skip
    criteria_separator: str = option(
        "", help="What parts the criteria in a cell beside line breaks, e.g. ';'. Lists and JSON are left as they are."
    )
    criteria: str | None = option(None, help="File of criteria that all answers must meet: one a line, or a JSON list.")
    language: tuple[str, ...] = option((), help="Only this language, e.g. DE; may be repeated.")
    category: tuple[str, ...] = option((), help="Only this category, e.g. Translation; may be repeated.")

    def chosen(self, **how: bool) -> list[Instance]:
        """The instances of the languages and categories asked for; `how` as `load` takes it. Raises UserError."""
        loaded = load(self.data, self.column, self.criteria, self.criteria_separator, **how)
        return select(loaded, self.language, self.category)


class GenerateOptions(WritingOptions, InstanceOptions, RepeatOptions):
    """Which models answer, and how."""

    model: tuple[str, ...] = role(
        help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds(
            "model", lambda options: options.models if len(options.models) > 1 else options.models[0], grows=True
        ),
    )
    max_tokens: int = option(4096, binds=_SAMPLING, ge=1, help="Token limit of one answer, thinking included.")
    temperature: float = option(0.0, binds=_SAMPLING, ge=0, help="Sampling temperature of the model.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if not self.model:
            raise UserError("name at least one --model")

    @property
    def models(self) -> list[str]:
        """The models by name: the spec, numbered where one is named more than once."""
        return list(map(str, numbered(self.model)))


class JudgeOptions(FolderOptions, ReplyOptions, RuleOptions, PanelOptions):
    """Who judges, and how."""

    PANEL: ClassVar[str] = "Judging"

    judge: tuple[str, ...] = role(
        help="Judge: a spec like the model's; may be repeated, for --panel. none: only what can be counted is decided, and "
        "no model is asked.",
        binds=Binds("judge", lambda options: options.judge_name, late=True),
        no_model=lambda spec: spec == NOBODY,
    )
    judge_level: str | None = option(
        None, binds=_JUDGING,
        help="checklist (one call a turn), rubric (one a criterion), decision (probabilities) or cascade "
        "(decision, then reasoning where that is unsure); decision for smollm2, checklist for all others."
    )  # fmt: skip
    reasoning: bool = option(True, binds=_JUDGING, help="Whether the judge gives reasons before its verdicts.")
    protocol: str = option(
        "default", binds=Binds(late=True), choices=("default", "official"),
        help="default, or official: the official pass rule and tables."
    )  # fmt: skip
    threshold: float | None = option(
        None, rare=True, binds=_JUDGING,
        help="Decision level: P(yes) from which a criterion passes; that of --calibration, otherwise 0.5."
    )  # fmt: skip
    calibration: str | None = option(
        None, rare=True, binds=_JUDGING, help="calibration.json of this judge from `truebench study calibrate`."
    )
    cascade_judge: str | None = role(
        None, rare=True, help="Cascade: judge that decides where the first one is unsure; the judge itself if not given.",
        binds=_CASCADE,
    )  # fmt: skip
    votes: int = option(
        1, binds=_JUDGING, ge=1, help="Votes per criterion (majority); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=_JUDGING, ge=0, help="Sampling temperature of the judge.")
    panel: str | None = option(None, rare=True, binds=_PANEL, help=PANEL_HELP)
    allow_unscored: bool = option(False, help="Exit with 0 even when instances are left unscored.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        official = self.judge_level in (None, "checklist") and self.rules == "off" and NOBODY not in self.judge
        if self.protocol == "official" and not official:
            raise UserError(
                "--protocol official: its judge decides every criterion at checklist level; leave out --judge-level, --rules "
                "and --judge none"
            )
        if not self.judge:
            raise UserError("name a --judge, or none: then only what can be counted is decided")
        if NOBODY in self.judge and (len(self.judge) > 1 or self.rules != "decide"):
            raise UserError(
                "--judge none: what can be counted decides, and nobody else; leave out --rules and other judges"
            )
        if len(self.judge) > 1 and self.panel is None:
            raise UserError("several judges go with --panel majority, unanimous or weighted:2,1; name one")
        if self.panel and (self.judge_level == "cascade" or self.calibration):
            raise UserError("a cascade and a --calibration belong to one judge; leave out --panel")
        self.check_panel(len(self.judge))

    @property
    def nobody(self) -> bool:
        """Whether there is no judge: only what can be counted is decided."""
        return self.judge == (NOBODY,)

    @property
    def usual_rules(self) -> str:
        """Rules decide; the official protocol knows none."""
        return "off" if self.protocol == "official" else "decide"

    @property
    def judge_name(self) -> str:
        """The judge as tables name it: a panel by all its judges and its rule, so that none shows one of them alone."""
        if self.panel is None:
            return self.judge[0]
        return f"{' + '.join(self.judge)} ({self.panel_rule})"

    @property
    def judging_facts(self) -> dict[str, Any]:
        """How verdicts come about, as a folder notes it."""
        return {"rules": self.rules} if self.nobody else asdict(self.settings)

    @cached_property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on values that make no sense."""
        level = "checklist" if self.protocol == "official" else level_of(self.judge_level, self.judge[0], "checklist")
        settings = JudgeSettings(
            level=level, reasoning=self.reasoning, structured=self.structured, votes=self.votes, rules=self.rules,
            sampling=replace(JUDGE_SAMPLING, temperature=self.judge_temperature),
        )  # fmt: skip
        return settings.at_threshold(self.threshold, self.calibration, self.judge[0], self.prompts)

    def check_samples(self, samples: int) -> None:
        """Raise UserError where there are more answers to an instance than the official tables know."""
        if samples > 1 and self.protocol == "official":
            raise UserError(
                "--protocol official: its tables have one answer an instance; leave it out, or have one sample"
            )


class RuleReaderOptions(JudgeOptions, FailUnderOptions):
    """Judging by rules that a model may read out of criteria."""

    OTHER_PROMPTS: ClassVar[tuple[str, ...]] = ("find_rules",)

    rules_model: str | None = role(
        None, rare=True, binds=_JUDGING,
        help="Model that reads rules out of criteria that have none, once each; a rule must stand in the criterion's words.",
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.rules_model and self.rules == "off":
            raise UserError("--rules-model: with --rules off no rule is used; leave one of them out")

    @property
    def judging_facts(self) -> dict[str, Any]:
        """How verdicts come about, as a folder notes it; with who read rules, where somebody did."""
        return super().judging_facts | ({"rules_model": self.rules_model} if self.rules_model else {})


class JudgeGivenOptions(RuleReaderOptions, InstanceOptions):
    """Judging answers that are there: those in the folder, or those of a file to instances of some data."""

    responses: str | None = option(
        None, panel="Data", help="File of answers: {id, response} rows, official evaluation files, lm-eval samples, "
        "lighteval details or inspect logs. Without one those of `truebench study generate` in --out."
    )  # fmt: skip
    data: str | None = option(None, help="With --responses: the data they answer, as in `truebench run`.")  # type: ignore[assignment]
    logs: str | None = option(
        None, panel="Data", help="File or folder of conversations that end with an answer, in place of --responses and --data: as "
        "servers, tracing tools and chat exports keep them (docs/data.md). Judged by --criteria, or those in its rows."
    )  # fmt: skip
    turns: str = option(
        "last", panel="Data", choices=TURNS, help="With --logs: last (answer of each conversation), or all."
    )
    model_name: str | None = option(
        None, panel="Data", help="With --responses or --logs: whose answers they are, where the file does not say."
    )

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.logs and (self.responses or self.data or self.column):
            raise UserError("--logs holds prompts and answers; leave out --responses, --data and --column")
        if self.responses and not self.data:
            raise UserError("--responses goes with --data: the data that was answered")
        for name in (*OF_DATA, "model_name"):
            if getattr(self, name) and not (self.responses or self.logs):
                raise UserError(f"{flag(name)} goes with --responses or --logs; the answers in --out have theirs")


class RunOptions(GenerateOptions, RuleReaderOptions):
    """A whole run: answers and verdicts in one pass."""

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self.check_samples(self.samples)
