"""Where people look at a gate: tables, a JUnit file, a summary in Markdown, and the annotations of a job on GitHub."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from truebench_hf.comparing.gate import Gate, GateLine
from truebench_hf.engine.money import dollars
from truebench_hf.errors import write_error
from truebench_hf.report.table import Column, Kind, Table
from truebench_hf.text.terminal import shortened, warn
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Verdict

WORST = 5
_LEVELS = {"drifted": "error", "worse": "error", "unsure": "warning", "within": "notice"}
# What XML 1.0 cannot hold.
_NO_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)), "\ufffd")


@dataclass(frozen=True)
class GateCase:
    """An instance of the new run: of each criterion that it misses, or that is open, the first verdict of any sample."""

    name: str
    group: str
    prompt: str
    missed: tuple[Verdict, ...]
    left_open: tuple[Verdict, ...]

    @property
    def message(self) -> str:
        """The missed criteria with their reasons, a line each; without any those that are open."""
        verdicts = self.missed or self.left_open
        return "\n".join(f"{verdict.criterion.text}: {verdict.reason}".strip(": ") for verdict in verdicts)


def cases(gate: Gate, names: Iterable[str]) -> Iterator[GateCase]:
    """Yield these instances of the new run."""
    for name in names:
        samples = gate.new.answers[name]
        missed, left_open = dict[str, Verdict](), dict[str, Verdict]()
        for verdict in (verdict for answer in samples for verdict in answer.verdicts if verdict.label != "yes"):
            (missed if verdict.label == "no" else left_open).setdefault(verdict.criterion.text, verdict)
        yield GateCase(name, samples[0].group, samples[0].prompt, tuple(missed.values()), tuple(left_open.values()))


def worst(gate: Gate) -> list[GateCase]:
    """The instances that lost most against the old run, at most five; without one those of the lowest score."""
    scores = gate.new.run.instances["score"]
    if gate.pairs is not None:
        scores = (gate.pairs["new"] - gate.pairs["old"]).dropna()
        scores = scores[scores < 0]
    return list(cases(gate, scores[scores < 1].sort_values(kind="stable").index[:WORST]))


def tables(gate: Gate) -> list[Table]:
    """The lines as tables: scores in percent with their change in points; lengths and costs with theirs in percent."""
    counts, margin = gate.counts, gate.options.margin
    scores = [line for line in gate.lines if not line.amount]
    amounts = [line for line in gate.lines if line.amount]
    if not scores:
        return []
    note = (
        f"{counts['paired']} pairs, {counts['open']} of them undecided; rows changed {counts['changed']}, "
        f"new {counts['new']}, gone {counts['gone']}."
    )
    if len(gate.lines) > 1:
        note += " All have to be within the margin; blame holds 5 % over all of them (Holm)."
    gated = [Table("gate", _columns("%", "points"), _rows(scores), f"Margin {margin:g} points", note)]
    if amounts:
        note = "Means per answer: length in characters, cost in dollars."
        gated.append(Table("amounts", _columns("", "%"), _rows(amounts), "Length and cost", note))
    return gated


def _columns(of: str, unit: str) -> tuple[Column, ...]:
    """The columns of a table of lines: `of` is the unit of the means, `unit` that of their change."""
    kind: Kind = "number" if of else "text"
    return (
        Column("name", "", about="what is compared"), Column("n", "n", "count"),
        Column("old", f"old {of}".strip(), kind), Column("new", f"new {of}".strip(), kind),
        Column("change", f"change, {unit}", "number", unit="points"),
        Column("low", "at least", "number", unit="points", about="lower one-sided 95 % bound"),
        Column("high", "at most", "number", unit="points", about="upper one-sided 95 % bound"),
        Column("verdict", "verdict"),
    )  # fmt: skip


def _rows(lines: Sequence[GateLine]) -> list[dict[str, Any]]:
    rows = []
    for line in lines:
        bounds = line.loss.bounds(0.05)
        # A higher score is a gain, a greater length a loss: the change is what is new less what was.
        change = line.loss.value if line.amount else 0.0 - line.loss.value
        low, high = (bounds if line.amount else (-bounds[1], -bounds[0])) if bounds else (None, None)
        means: list[Any] = [line.old, line.new]
        if line.amount:
            means = [dollars(mean) if line.name == "cost" else f"{mean:,.0f}" for mean in means if mean is not None]
        rows.append(
            {"name": line.named, "n": line.loss.n, "change": change, "low": low, "high": high, "verdict": line.verdict}
            | dict(zip(("old", "new"), means, strict=False))
        )
    return rows


def junit(gate: Gate) -> str:
    """The new run as a JUnit file: a case per instance, with the missed criteria and reasons as its message.

    An instance that is not decided is skipped, with the reason: it is no failure.
    """
    run = gate.new.run
    suite = ElementTree.Element("testsuite", name=f"truebench {Path(run.where).name}")
    for case in cases(gate, run.instances.index):
        element = ElementTree.SubElement(suite, "testcase", classname=_xml(case.group), name=_xml(case.name))
        if case.missed:
            first = f"{len(case.missed)} missed: {case.missed[0].criterion.text}"
            ElementTree.SubElement(element, "failure", message=_xml(first)).text = _xml(case.message)
        elif case.left_open or run.scores[case.name] is None:
            ElementTree.SubElement(element, "skipped", message=_xml(f"not judged: {case.message}"))
    counts = {name: len(suite.findall(f"testcase/{name}")) for name in ("failure", "skipped")}
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(counts["failure"]))
    suite.set("skipped", str(counts["skipped"]))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def summary(gate: Gate) -> str:
    """The gate in Markdown: the verdict in a sentence, the tables, the five worst instances, and where the page is."""
    verdict = gate.verdict if gate.pairs is not None or gate.options.must or gate.anchors else "no earlier run"
    parts = [f"## truebench: {verdict}\n\n{gate.sentence}\n"]
    parts += [f"\n{gate.anchors.sentence}\n"] if gate.anchors and not gate.anchors.drifted else []
    parts += [f"\n**{table.title}**\n\n{table.to_markdown()}\n{table.note}\n" for table in tables(gate)]
    if lost := worst(gate):
        parts.append("\n**Worst instances**\n\n")
        parts += [f"- {_code(case.name)} {_code(case.prompt)}{_reasons(case)}\n" for case in lost]
    if (page := Path(gate.new.run.where) / "report.html").is_file():
        parts.append(f"\nAll of it: `{page.as_posix()}`\n")
    return "".join(parts)


def workflow_commands(gate: Gate) -> Iterator[str]:
    """The lines by which a job on GitHub marks the verdict and, where it is no good, the worst instances."""
    yield f"::{_LEVELS[gate.verdict]} title=truebench: {gate.verdict}::{_escaped(gate.sentence)}"
    if gate.anchors and gate.anchors.first:  # which the next job would ask anew
        yield f"::warning title=truebench: anchors::{_escaped(gate.anchors.sentence)}"
    for case in worst(gate) if gate.verdict in ("worse", "unsure") else ():
        yield f"::warning title=truebench: {_escaped(case.name).replace(',', '%2C').replace(':', '%3A')}::{_escaped(case.message)}"


def write(gate: Gate) -> None:
    """Write the files that are asked for, and the summary of the job where GitHub has a place for one.

    Raises UserError where a file cannot be written.
    """
    for option, file, text in (("junit", gate.options.junit, junit), ("summary", gate.options.summary, summary)):
        if file is None:
            continue
        try:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            write_whole(Path(file), [text(gate)])
        except OSError as error:
            raise write_error(f"--{option} {file}", error.strerror or error) from error
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file_of_job:
                file_of_job.write(summary(gate) + "\n")
        except OSError as error:  # nobody asked for it, and the verdict stands without
            warn(f"GITHUB_STEP_SUMMARY {place}: {error.strerror or error}; the page of the job has no summary")


def _reasons(case: GateCase) -> str:
    """The first missed criterion of a case, with the reason."""
    verdicts = case.missed or case.left_open
    if not verdicts:
        return ""
    more = f" (and {len(verdicts) - 1} more)" if len(verdicts) > 1 else ""
    reason = f": {_code(shortened(verdicts[0].reason, 160))}" if verdicts[0].reason else ""
    return f"  \n  {_code(shortened(verdicts[0].criterion.text, 120))}{reason}{more}"


def _code(text: str) -> str:
    """A stranger's text as code in Markdown, so that it can hold no link, image or mention."""
    return f"`{' '.join(_xml(text).replace('`', chr(39)).split())}`"


def _escaped(text: str) -> str:
    """A text in a workflow command, which ends with its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _xml(text: str) -> str:
    return text.translate(_NO_XML)
