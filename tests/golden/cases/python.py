"""The front door in Python: `judge`, `Judge`, `run`, `tick`, `load` and `metric`, with functions for models."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.support.runs import row
from truebench_hf.models.scripted import verdicts

Messages = list[dict[str, str]]
CRITERIA = ["names a colour", {"text": "is in French", "weight": 2}, {"text": "is rude", "weight": -1}]


def decide(messages: Messages) -> str:
    """A judge that finds nothing rude, French only where there is some, and does not answer on whales."""
    asked = messages[-1]["content"]
    if "whale" in asked:
        return "I would rather not say."
    return verdicts(asked, {"rude": "FAIL"} if "Bleu" in asked else {"French": "FAIL", "rude": "FAIL"})


def answer(messages: Messages) -> str:
    """A model that says how long the conversation is."""
    return f"Answer {len(messages)}."


def french(messages: Messages) -> str:
    """A model that always says the same."""
    return "Bleu."


def write_json(name: str, value: Any) -> None:
    """Leave what a call gave in a file of the folder `python`."""
    Path("python").mkdir(exist_ok=True)
    Path("python", f"{name}.json").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def attempts(calls: Sequence[Callable[[], Any]]) -> list[str]:
    """What the caller is told of calls that cannot be."""
    from truebench_hf import UserError

    told = []
    for call in calls:
        try:
            told.append(f"no error: {call()}")
        except (UserError, TypeError) as error:
            told.append(f"{type(error).__name__}: {error}")
    return told


def _judge() -> str:
    from truebench_hf import Criterion, Judge, judge, run

    talk = [
        {"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Name a colour."},
    ]  # fmt: skip
    single: dict[str, Any] = {
        "met": judge("Name a colour.", "Bleu.", CRITERIA, decide),
        "missed": judge("Name a colour.", "Blue.", CRITERIA, decide),
        "conversation": judge(
            talk, "Bleu.", Criterion("names a colour"), decide, context="A box of paint.", reference="Bleu"
        ),
        "undecided": judge("Name a whale.", "Blue whale.", ["names a whale"], decide),
        "by rules": judge("Say hi.", "Hi there, all.", ["has at most 3 words", "has at most 2 words"], None),
        "failed and open": judge("Say hi.", "Hi there.", ["is kind", "has at most 1 word"], None),
        "no response": judge("Name a colour.", None, "names a colour", decide),
    }
    with Judge("scripted:judge.json", level="rubric", votes=3, temperature=0.5) as kept:
        single["votes"] = kept("Name a colour.", "Blau.", ["names a colour", "is German"])
        many = kept("Name a colour.", ["Blau.", "Rot."], [["is German"], ["is red", "is German"]])
    write_json("judge", {name: judgment.to_dict() for name, judgment in single.items()})
    write_json("many", [judgment.to_dict() for judgment in many])
    refused = attempts([
        lambda: judge("", "Blue.", [], decide),
        lambda: judge("Name a colour.", "Blue.", ["is short"], "scriptd:judge.json"),
        lambda: judge("Name a colour.", ["Blue.", "Red."], [["is short"], "is kind"], decide),
        lambda: judge("Name a colour.", ["Blue.", "Red."], [["is short"]], decide),
        lambda: run(data=[row(1, [("Hi?", ["greets"])])], model=answer, responses=["Hi."], judge=decide),
        lambda: judge("Name a colour.", "Blue.", ["is short"], decide, level="chapter"),
        lambda: judge([{"role": "assistant", "content": "Hi."}], "Blue.", ["is short"], decide),
        lambda: bool(single["met"]),
    ])  # fmt: skip
    return "\n".join(["python: judge", *map(str, single.values()), *refused]) + "\n"


def _run() -> str:
    import truebench_hf

    data = [
        row(1, [("Name a colour.", ["names a colour"])]),
        row(2, [("Say hi.", ["greets"]), ("Once more.", ["greets again", "is in French"])], language="DE"),
        row(3, [("Name a whale.", ["is big"])], language="DE"),
    ]
    report = truebench_hf.run(data=data, model=answer, judge=decide, allow_unscored=True)
    write_json("report", report.to_dict())
    write_json("verdicts", [[[v.label for v in turn] for turn in item.verdicts] for item in report.judged])
    Path("python", "report.csv").write_text(report.to_pandas().to_csv(index=False), encoding="utf-8")
    given = truebench_hf.run(data=data, responses=["Bleu.", ["Hi.", "Salut, Bleu."], None], model_name="mine", judge=decide,
                             allow_unscored=True)  # fmt: skip
    write_json("given", given.to_dict())
    return f"python: run\n{report.to_pandas().to_string()}\n"


def _load() -> str:
    import truebench_hf

    mini = truebench_hf.load("truebench_mini", split="test[:2]")
    own = truebench_hf.load("truebench", split="test", source="data.jsonl")
    write_json("load", {"truebench_mini": list(mini), "own": list(own)})
    return f"python: load\n{mini.column_names}\n{len(own)} rows\n"


def _tick() -> str:
    import truebench_hf

    data = [{"id": n, "prompt": f"Say {n}.", "criteria": ["Is it French?", "Is it kind?"]} for n in range(2)]
    report = truebench_hf.tick(data=data, model=[french, answer], judge=decide)
    write_json("tick", report.to_dict())
    return f"python: tick\n{report.to_pandas().to_string()}\n"


# A row that is decided, one that is not, and one that speaks against: predictions, then references.
MODULES: dict[str, tuple[list[Any], list[Any] | None]] = {
    "checklist_drfr": ([["yes", "yes", "no"], [None, 1], [False]], None),
    "flexeval": (
        [{"asks": "yes", "new": "no", "hotel": "unknown", "price": "yes"}, {"asks": "yes", "new": None, "hotel": "no", "price": "unknown"}],
        [{"asks": None, "new": "asks", "hotel": None, "price": "hotel"}] * 2,
    ),
    "grounding_score": ([["yes", "yes"], ["no", "yes"], ["yes", None]], [["yes", "yes"], ["yes", "no"], ["no", "no"]]),
    "preference_agreement": (["win", "tie", "loss", "win"], ["win", "win", "win", None]),
    "rubric_agreement": (["PASS", None, "FAIL", "PASS", 0], ["yes", "yes", "no", "no", "no"]),
    "truebench_score": ([["yes", "yes"], [None], ["no"]], [["is French", "is kind"], ["is short"], ["is polite"]]),
}  # fmt: skip


def _modules() -> str:
    import evaluate

    import truebench_hf

    with TemporaryDirectory() as cache:
        loaded = {name: evaluate.load(truebench_hf.metric(name), cache_dir=cache) for name in MODULES}
        found = {}
        for name, (predictions, references) in MODULES.items():
            given = {"predictions": predictions} | ({} if references is None else {"references": references})
            found[name] = [loaded[name].compute(**given), loaded[name].compute(**given, details=True)]
        refused = attempts([
            lambda: loaded["checklist_drfr"].compute(predictions=[["perhaps"]]),
            lambda: loaded["truebench_score"].compute(predictions=[["yes"]], references=[["is short"]], detail=True),
            lambda: truebench_hf.metric("truebench_scor"),
        ])  # fmt: skip
    write_json("modules", found)
    return "\n".join(["python: metric", *refused]) + "\n"


def _write() -> None:
    rows("data", [row(n, [(f"Say {n}.", ["is short"])]) for n in range(2)])
    scripts({"judge": [{"contains": "is German", "verdicts": {}}, {"contains": "is red", "verdicts": {"red": "FAIL"}}]})


CASES = (Case("python", _write, (_judge, _run, _tick, _load, _modules)),)
