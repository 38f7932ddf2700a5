"""Sets of rubrics by others, read to one common form: `read(NAME, PATH)`, in commands `--data NAME:PATH`.

Tested on the real files: structflowbench, llmbar. Tested only on hand-made records in the documented form: all others.
`rubric_eval` reads rows in the columns of the set of that name, and is tested on rubric_mini. People's labels stand in
profbench, healthbench_meta and rubric_eval; points, negative ones for faults, in profbench, healthbench, rubrichub, rar
and multichallenge. Columns: `sets.yaml`; what a set has beside columns is a function here from a row to its items.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from truebench_hf.data import row_files
from truebench_hf.data.judged import category_shown
from truebench_hf.data.row_files import Rows, Sieve, Usable
from truebench_hf.data.row_files import is_source as is_source
from truebench_hf.data.row_formats import Entry, RowFile
from truebench_hf.data.rows import Decoded, Labels, Record, Text, tables
from truebench_hf.data.rubrics import Item, Responses
from truebench_hf.data.sources import forms
from truebench_hf.data.sources.forms import SetForm, item_of, joined, messages_of, name_of, sets
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Instance, Label, Message, Turn

Columns = Callable[[Record], Mapping[str, Any]]  # a row in the columns of rubric_eval
_LOG = logging.getLogger(__name__)
_CATEGORY = re.compile(r"\s*(Essential|Important|Optional|Pitfall) Criteria:\s*(?=\S)")
_THEME, _RESPONSE, _LABEL = "theme:", "_response", "_fulfilment"


def read(name: str, path: str | Path, *, strict: bool = False, warns: bool = True, split: str = "test") -> Usable[Item]:
    """The instructions of a source, from its file as published, a folder of it, or its id on the Hub.

    Of several splits the one named `split` is read, else test; llmbar takes a folder of its repository. A row that
    cannot be used (malformed, or with an id that an earlier one has) is left out: `left_out` of the result says how
    many and why, and if it `warns` so does the log, which is printed where nobody asked for it elsewhere. Raises
    UserError on an unknown name, an absent file, a file of which more than half cannot be used, and with `strict` on
    the first such row, with its number and the field.
    """
    if name not in sets():
        raise unknown("source of rubrics", name, sets())
    if name == "llmbar":
        rows = _pairs(str(path))
    else:
        splits = row_files.splits(str(path), flag="source")
        rows = splits[split] if split in splits else row_files.the_one(splits, str(path))
    if name in _BY_RESPONSE:
        items = by_response(rows.name, rows.entries(), strict, _BY_RESPONSE[name])
    else:
        parse = partial(_PARSERS.get(name, forms.plain), sets()[name])
        sieve = Sieve(rows.name, rows.entries(), parse, key=attrgetter("instruction_id"), strict=strict)
        items = Usable(list(sieve), sieve.left_out)
    if warns and items.left_out:
        _LOG.warning("%s", items.left_out)
    return items


def instances(data: str) -> Usable[Instance]:
    """An instance of every instruction of `SOURCE:PATH`, whoever answered it. Raises UserError as `read`."""
    name, _, path = data.partition(":")
    items = read(name, path)
    return Usable(of_items(name, items), items.left_out)


def of_items(name: str, items: Iterable[Item]) -> list[Instance]:
    """The same of items of a source that were read: what a model is to be asked, criteria, points and right answers."""
    instances: dict[str, Instance] = {}
    kind = sets()[name].kind if name in sets() else ""
    for item in items:
        if item.instruction_id in instances or not item.case.criteria:
            continue
        case, history = item.case, item.case.history
        system = history[0].content if history and history[0].role == "system" else None
        turn = Turn(case.instruction, case.criteria, case.reference)
        language, category = "" if item.language == "UND" else item.language, item.facts.get(kind) or item.category
        about = (item.instruction_id, language, str(category), "", (turn,), system, case.context)
        instances[item.instruction_id] = Instance(*about, history[system is not None :])
    return list(instances.values())


def by_response(
    name: str, entries: Iterable[Entry], strict: bool = False, row: Columns = attrgetter("row")
) -> Usable[Item]:
    """Rows of rubric_eval, as `row` makes them of the file's; those without label may lack the response, too."""
    responses = Responses(answered=False)

    def add(record: Record) -> list[Item]:
        responses.add(replace(record, row=row(record)))
        return []

    sieve = Sieve(name, entries, add, strict=strict)
    return Usable([*sieve, *responses.items], sieve.left_out)


def _pairs(path: str) -> Rows:
    """The pairs of one dataset.json of LLMBar, or of every dataset.json below a folder; each with its subset and an id."""
    place = Path(path).expanduser()
    files = sorted(place.rglob("dataset.json")) if place.is_dir() else [place]
    if not files or not files[0].exists():
        raise UserError(f"llmbar: {place}: no such file, or no dataset.json below it; give one, or a folder of them")

    def read() -> Iterator[Entry]:
        for file in files:
            for entry in RowFile.at(file).entries():
                if isinstance(entry, Record):
                    subset = file.parent.name
                    about = {"subset": subset, "id": f"{subset.lower()}-{entry.number:03d}"}
                    entry = replace(entry, row={**entry.row, **about})
                yield entry

    return Rows(read, str(place))


def advancedif(form: SetForm, record: Record) -> list[Item]:
    """An instruction, with the response where one was generated. Licence CC-BY-NC-4.0: for research."""
    category = forms.one_of(record, "benchmark_name", tables(forms.SETS)["advancedif_categories"])
    messages = messages_of(form, record)
    if category == "system" and messages[0].role == "user":
        raise record.wrong(form.messages, f"must start with the system prompt in {record.row['benchmark_name']}")
    response = None
    if record.row.get("response") and record.decoded("response"):
        spoken = record.messages("response")
        if len(spoken) != 1 or spoken[0].role != "assistant":
            raise record.wrong("response", "must be a list of one assistant message")
        response = spoken[0].content
    return [item_of(form, record, messages=messages, category=category, response=response)]


def biggen(form: SetForm, record: Record) -> list[Item]:
    """Ratings become one yes/no criterion that asks for the highest level: the rubric's question and its level 5.

    Tasks of the capability `multilingual` are in a language that no field names.
    """
    rubric = record.part("score_rubric", None, record.decoded("score_rubric"))
    highest, capability = rubric.text("score5_description"), record.maybe("capability")
    criterion = Criterion(f"{rubric.text('criteria')} Answered yes by no less than this: {highest}", capability)
    language = "UND" if capability == "multilingual" else form.language
    return [item_of(form, record, [criterion], language=language)]


_Part = str | int
_CFBENCH = Annotated[list[tuple[Text, _Part, _Part, _Part]], Field(min_length=1), *Decoded.__metadata__]


def cfbench(form: SetForm, record: Record) -> list[Item]:
    """Criteria are [text, priority, type, sub-type]; the right answer is shown to judges, as the set's own judge is."""
    rows = record.value("criteria", _CFBENCH)
    criteria = [Criterion(text, "/".join(filter(str.strip, map(str, kinds))) or None) for text, _, *kinds in rows]
    return [item_of(form, record, criteria)]


def complexbench(form: SetForm, record: Record) -> list[Item]:
    """The questions that a question depends on (`dep`) become its condition, in words: they decide whether it binds.

    Raises UserError on a question that depends on one that does not exist.
    """
    questions = record.parts("scoring_questions")
    text_column = "question_en" if form.texts[0].endswith("_en") else "question"
    texts = [question.text(text_column) for question in questions]
    places = {question.id("point_id"): place for place, question in enumerate(questions)}
    criteria = []
    for text, question in zip(texts, questions, strict=True):
        needed = question.row.get("dep") or []
        if not isinstance(needed, list):
            raise question.wrong("dep", "must be a list of point ids")
        for point in needed:
            if str(point) not in places or places[str(point)] == places[question.id("point_id")]:
                raise question.wrong("dep", f"names {point!r}, which is no other question of this instruction")
        kind = joined(question.words("constraint_dimensions") + question.words("composition_types"))
        condition = " / ".join(texts[places[str(point)]] for point in needed) or None
        criteria.append(Criterion(text, kind, condition))
    # All demands joined by And alone are RubricEval's "constrained", any branch or chain makes it "compositional".
    category = "compositional" if {*record.words("composition_types")} - {"And"} else "constrained"
    return [item_of(form, record, criteria, category=category)]


def healthbench(form: SetForm, record: Record) -> list[Item]:
    """Physicians' rubrics with negative points for faults; tags are kinds of criteria."""
    tags = record.words("example_tags")
    theme = next((tag.removeprefix(_THEME) for tag in tags if tag.startswith(_THEME)), None)
    ideal = record.row.get("ideal_completions_data")
    example = ideal and record.part("ideal_completions_data", None, ideal).maybe("ideal_completion")
    return [item_of(form, record, example=example, facts={"theme": theme})]


def healthbench_meta(record: Record) -> Mapping[str, Any]:
    """A line of the meta-evaluation (one criterion of a response, with the labels of several physicians) in the columns
    of rubric_eval: the label is that of more than half of them, and none where they are divided."""
    messages = messages_of(forms.sets()["healthbench"], record)
    rubric, response = record.text("rubric"), record.id("completion_id")
    return {
        "id": f"{response}-{digest(canonical(rubric))[:12]}",
        "instruction_id": f"healthbench-{record.id('prompt_id')}",
        "response_id": response,
        "instruction_category": category_shown(messages[:-1]) or "constrained",
        "source_benchmark": "HealthBench",
        "language": "UND",
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "response": record.text("completion"),
        "rubric": rubric,
        "label": majority(record.value("binary_labels", Labels)),
        "source_label": record.maybe("category") or "",
    }


def ifbench(form: SetForm, record: Record) -> Iterator[Item]:
    """The chosen and the rejected response with a label for every constraint: those listed as unsatisfied are not met.

    Raises UserError on an unsatisfied constraint that is none of the row's.
    """
    columns = ("llm_constraints_used", "code_constraints_used")
    constraints = [part for column in columns if record.decoded(column) for part in record.parts(column)]
    criteria = [Criterion(part.text("constraint"), part.maybe("constraint_type")) for part in constraints]
    if not criteria:
        raise record.wrong("llm_constraints_used", "is empty, and so is 'code_constraints_used'")
    for which in ("chosen", "rejected"):
        answer = record.part(which, None, record.decoded(which))
        faults = answer.decoded("unsatisfied_constraints") or []
        unmet = {str(fault.get("constraint", "") if isinstance(fault, dict) else fault) for fault in faults}
        if unknown := unmet - {criterion.text for criterion in criteria}:
            raise answer.wrong("unsatisfied_constraints", f"names {min(unknown)!r}, which is no constraint of the row")
        labels: list[Label] = ["no" if criterion.text in unmet else "yes" for criterion in criteria]
        name, facts = f"{name_of(form, record)}-{which}", {"preferred": which == "chosen"}
        yield item_of(
            form, record, criteria, facts=facts, labels=labels, response=answer.text("content"), response_id=name
        )


def if_rewardbench(form: SetForm, record: Record) -> Iterator[Item]:
    """An item for each response, with people's label for every constraint of the checklist."""
    parts = record.parts("constraint_type")
    kinds = {part.text("item").strip(): part.words("constraint_categories") for part in parts}
    criteria = [Criterion(text, joined(kinds.get(text.strip(), ()))) for text in record.texts("checklist")]
    model = record.maybe("response_generation_model") or ""
    for response in record.parts("responses"):
        labels = response.value("labels", Labels)
        if len(labels) != len(criteria):
            raise response.wrong("labels", f"must have one label for each of the {len(criteria)} constraints")
        name, text = f"{name_of(form, record)}-{response.id('response_id')}", response.text("response")
        yield item_of(form, record, criteria, labels=labels, response=text, model=model, response_id=name)


def infobench(form: SetForm, record: Record) -> list[Item]:
    """Decomposed questions; the fact `subset` tells Easy_set and Hard_set apart (RubricEval uses Hard_set)."""
    criteria = forms.criteria_of(form.criteria, record)
    labels = record.decoded("question_label") or [[]] * len(criteria)
    lists = isinstance(labels, list) and all(isinstance(names, list) for names in labels)
    if not lists or len(labels) != len(criteria):
        raise record.wrong("question_label", "must be a list of lists, one per question")
    typed = [replace(criterion, kind=joined(kinds)) for criterion, kinds in zip(criteria, labels, strict=True)]
    return [item_of(form, record, typed, facts={"subset": record.maybe("subset")})]


def profbench(form: SetForm, record: Record) -> list[Item]:
    """A labelled item for each report that the task ships, or one without a response. Weights are words."""
    rubrics, criteria = record.parts("rubrics"), forms.criteria_of(form.criteria, record)
    items, name = [], name_of(form, record)
    for model in (field.removesuffix(_RESPONSE) for field in record.row if field.endswith(_RESPONSE)):
        if (report := record.maybe(f"{model}{_RESPONSE}")) is not None:
            labels = [rubric.label(f"{model}{_LABEL}") for rubric in rubrics]
            about: dict[str, Any] = {"labels": labels, "response_id": f"{name}-{model}", "model": model}
            items.append(item_of(form, record, criteria, response=report, **about))
    return items or [item_of(form, record, criteria)]


def rar(form: SetForm, record: Record) -> list[Item]:
    """Each description begins with its category (`Essential Criteria: ...`), which becomes the kind.

    Pitfalls have negative weights. Some say what a bad answer does, others what a good one avoids, and a program cannot
    tell which: they are faults here, as their weights say, and `rar_without_pitfalls` leaves them out. Rows have no id,
    so that it is made of the question.
    """
    criteria = []
    for criterion in forms.criteria_of(form.criteria, record):
        if category := _CATEGORY.match(criterion.text):
            criterion = replace(criterion, text=criterion.text[category.end() :], kind=category[1])
        if form.holds != "points" or criterion.weight > 0:
            criteria.append(criterion)
    if not criteria:
        raise record.wrong(form.criteria.column, "holds nothing but pitfalls")
    name = f"{form.prefix}-{digest(canonical(record.text('question')))[:12]}"
    return [item_of(form, record, criteria, name=name)]


def rubrichub(form: SetForm, record: Record) -> list[Item]:
    """The documented row has `question`, `id` and `rubrics`; the published files `prompt` (messages) and `Rubrics`."""
    row = record.row
    columns = {
        "id": form.id if row.get(form.id) is not None else "",
        "messages": "" if isinstance(row.get("question"), str) else "prompt",
        "criteria": {"column": "rubrics" if row.get("rubrics") is not None else "Rubrics", "weighted": True},
    }
    return [item_of(SetForm(**dict(form) | columns), record)]


Turns = Iterable[tuple[str, str, Sequence[Criterion]]]


def _by_turn(form: SetForm, record: Record, name: str, system: Sequence[Message], turns: Turns) -> Iterator[Item]:
    """An item for each turn (user, answer, criteria) of a conversation, after the set's own answers to those
    before it; the answer to the turn itself is its example."""
    history = [*system]
    for number, (user, answer, criteria) in enumerate(turns, 1):
        history.append(Message("user", user))
        yield item_of(form, record, criteria, name=f"{name}-{number}", messages=history, example=answer)
        history.append(Message("assistant", answer))


def structflowbench(form: SetForm, record: Record) -> Iterator[Item]:
    """One item per turn. Turns count by place: one real conversation starts its names over at c1 half-way."""
    turns = []
    for turn in record.parts("whole_conv"):
        user, answer = turn.text("user prompt"), turn.text("assistant answer")
        criteria = [Criterion(part.text("content"), part.text("type")) for part in turn.parts("constraints")]
        turns.append((user, answer, criteria))
    return _by_turn(form, record, f"{form.prefix}-{record.number:03d}", (), turns)


def sysbench(form: SetForm, record: Record) -> Iterator[Item]:
    """One item per turn of a dialogue.

    The documentation does not fix every container: `prompt_infos` may be a list in the order of the turns or an object
    by user message, and `criteria` a list or an object of texts or of objects with `criteria_content`.
    """
    messages = [message for message in record.messages("messages") if message.role != "system"]
    if [message.role for message in messages] != ["user", "assistant"] * (len(messages) // 2):
        raise record.wrong("messages", "must be user and assistant in turn, the reference answer last")
    users, answers = [[message.content for message in messages[first::2]] for first in (0, 1)]
    infos, name = record.decoded("prompt_infos"), record.id("system_id")
    if isinstance(infos, dict):
        infos = [infos.get(user) for user in users]
    if not isinstance(infos, list) or len(infos) != len(users):
        raise record.wrong("prompt_infos", f"must have one entry for each of the {len(users)} user messages")
    turns = []
    for number, (user, answer) in enumerate(zip(users, answers, strict=True)):
        info = record.part("prompt_infos", number, infos[number])
        held = info.decoded("criteria")
        values = list(held.values()) if isinstance(held, dict) else held
        if not isinstance(values, list) or not values:
            raise info.wrong("criteria", "must be a list or an object that is not empty")
        objects = [value if isinstance(value, dict) else {"criteria_content": value} for value in values]
        parts = [info.part("criteria", place, value) for place, value in enumerate(objects)]
        criteria = [Criterion(part.text("criteria_content"), part.maybe("criteria_type")) for part in parts]
        turns.append((user, answer, criteria))
    system = [Message("system", record.text("system_prompt"))]
    return _by_turn(form, record, f"{form.prefix}-{name}", system, turns)


def wildbench(form: SetForm, record: Record) -> list[Item]:
    """Real users' conversations, in the language that the last message names; UND where it names none of one form."""
    named = record.parts(form.messages)[-1].row.get("language")
    language = tables(forms.SETS)["languages"].get(named.casefold(), "") if isinstance(named, str) else ""
    return [item_of(form, record, language=language)]


# All other sets are told by their columns alone.
_PARSERS: dict[str, Callable[[SetForm, Record], Iterable[Item]]] = {
    "advancedif": advancedif, "biggen": biggen, "cfbench": cfbench, "complexbench": complexbench,
    "complexbench_en": complexbench, "healthbench": healthbench, "if_rewardbench": if_rewardbench, "ifbench": ifbench,
    "infobench": infobench, "profbench": profbench, "rar": rar, "rar_without_pitfalls": rar, "rubrichub": rubrichub,
    "structflowbench": structflowbench, "sysbench": sysbench, "wildbench": wildbench,
}  # fmt: skip
_BY_RESPONSE: dict[str, Columns] = {"healthbench_meta": healthbench_meta, "rubric_eval": attrgetter("row")}
