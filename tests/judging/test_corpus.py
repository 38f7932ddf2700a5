"""The reader over a corpus that was written without looking at it: never a wrong label, seldom asked again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.judging.corpus import CASES
from tests.judging.corpus.cases import Case, Truth
from tests.judging.corpus.mutations import mutants
from truebench_hf.judging.reader import Reading, read_verdicts
from truebench_hf.types import Label

LABELS: dict[str, dict[str, Label]] = {
    "PASS/FAIL": {"PASS": "yes", "FAIL": "no"},
    "YES/NO": {"YES": "yes", "NO": "no"},
}


def read(case: Case) -> Reading[Label]:
    return read_verdicts(case.text, case.count, LABELS[case.words], cut=case.cut)


def told(case: Case, found: Mapping[int, Label]) -> str:
    """One line on a case that was not read as it should be."""
    signs = {"yes": "y", "no": "n", None: "?"}
    truth = "".join(signs[label] for label in case.truth)
    got = "".join(signs[found.get(i)] for i in range(case.count))
    return f"{case.kind:8} truth {truth} read {got}: {case.reason} | {case.text[:160]!a}"


def wrong(found: Mapping[int, Label], truth: tuple[Truth, ...]) -> bool:
    """Whether a label was read that is not the truth; no label is never wrong."""
    return any(i >= len(truth) or label != truth[i] for i, label in found.items())


def test_the_corpus_is_what_it_says() -> None:
    numbers = {kind: sum(case.kind == kind for case in CASES) for kind in ("form", "ordinary", "hostile")}
    assert numbers["form"] >= 220, numbers
    assert numbers["ordinary"] >= 200, numbers
    assert numbers["hostile"] >= 200, numbers
    assert len({(case.text, case.truth, case.words, case.cut) for case in CASES}) == len(CASES), "a case stands twice"
    assert all(None not in case.truth for case in CASES if case.kind != "hostile")


def test_no_label_is_wrong() -> None:
    readings = [(case, read(case).labels) for case in CASES]
    failures = [told(case, found) for case, found in readings if wrong(found, case.truth)]
    print(*failures, sep="\n")
    assert not failures, f"{len(failures)} of {len(CASES)} were read wrongly"


@pytest.mark.parametrize(("kind", "share"), [("form", 0.03), ("ordinary", 0.02)])
def test_what_a_careful_reader_understands_is_read_at_once(kind: str, share: float) -> None:
    cases = [case for case in CASES if case.kind == kind]
    readings = [(case, read(case)) for case in cases]
    asked_again = [told(case, r.labels) for case, r in readings if r.problems or len(r.labels) < case.count]
    print(*asked_again, sep="\n")
    assert len(asked_again) <= share * len(cases), f"{len(asked_again)} of {len(cases)} are asked again"


def test_long_answers_are_read_in_a_moment() -> None:
    for case in CASES:
        if len(case.text) > 20_000:
            start = time.process_time()
            read(case)
            assert time.process_time() - start < 2, case.reason


@pytest.mark.slow
def test_no_mutation_makes_a_label_wrong() -> None:
    failures, names, slow = [], Counter[str](), []
    for name, case, (text, cut, truth) in mutants(20_000, seed=10):
        start = time.process_time()
        found = read_verdicts(text, case.count, LABELS[case.words], cut=cut).labels
        if time.process_time() - start > 1:
            slow.append(text)
        if wrong(found, truth):
            names[name] += 1
            failures.append(f"{name}: may be {truth} read {dict(found)}, {case.reason} | {text[-300:]!a}")
    print(*failures[:60], names, sep="\n")
    assert not failures, f"{len(failures)} labels are wrong: {dict(names)}"
    assert not slow, f"{len(slow)} took more than a second"
