"""When a turn and an instance pass, and the shares made of it: also of several samples, of votes and of FlexEval."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.worked import check, worked
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.metrics.pass_rate import (
    UNGATED,
    base_actions,
    checklist_share,
    circle,
    conjunction,
    drfr,
    flexeval,
    instance_passes,
    joint_mean,
    mean_share,
    official_passes,
    outcome,
    pass_rate,
    turn_share,
    weighted_share,
)
from truebench_hf.metrics.votes import (
    Selected,
    Transitions,
    all_of,
    any_of,
    best,
    flip_score,
    flips,
    majority,
    majority_of,
    mean,
    select,
    share_score,
    sizes,
    top,
    transitions,
    turned_shares,
    vote_share,
)
from truebench_hf.report import sections
from truebench_hf.types import Label, Score

pytestmark = pytest.mark.filterwarnings("error")

Turns = list[list[Label | None]]
Y, N, U, X = "yes", "no", "unknown", None
T, F = True, False
T9 = 2.2621571628540993  # Student's t at 9 degrees of freedom, 97.5 %
NESTED = {"ask": None, "needed": "ask", "limit": "needed"}
SAMPLES = st.lists(st.sampled_from([True, False, None]), max_size=7)
# By instance: criteria 3/4, turns 1/2; 0/1 and 0/1; 4/4 and 1/1; one undecided, with one of its two decided criteria.
INSTANCES: list[Turns] = [[[Y, Y], [Y, N]], [[N]], [[Y, Y, Y, Y]], [[Y, X], [N]]]


def soft_criterion(instances: Sequence[Turns]) -> Score:
    return mean_share(list(map(checklist_share, map(chain.from_iterable, instances))))


def soft_turn(instances: Sequence[Turns]) -> Score:
    return mean_share(list(map(turn_share, instances)))


def of_weights(labels: list[Label | None], weights: list[float]) -> tuple[bool | None, float | None]:
    """Whether the instance passes, and its weighted share."""
    settled = [outcome(label, weight) for label, weight in zip(labels, weights, strict=True)]
    return instance_passes([settled]), weighted_share(labels, weights)


def both_rules(turns: Turns) -> tuple[bool | None, bool]:
    """Whether the instance passes by our rule and by the official one."""
    return instance_passes(turns), official_passes(turns)


def of_trace(labels: Sequence[str], structure: Mapping[str, str | None]) -> tuple[float | None, float | None]:
    """Coverage and Achievement of one trace."""
    scores = flexeval([dict(zip(structure, labels, strict=True))], [structure])
    return scores.coverage, scores.achievement


@worked(
    (conjunction, ([Y, Y],), True, "all hold"),
    (conjunction, ([Y, N],), False, "one fails"),
    (conjunction, ([X, N],), False, "a fail settles it, whatever is open"),
    (conjunction, ([Y, U],), None, "not applicable is not a pass"),
    (conjunction, ([],), True, "nothing asked, nothing failed"),
    (both_rules, ([[Y], [Y, Y]],), (True, True), "every turn passes"),
    (both_rules, ([[Y], [Y, N]],), (False, False), "the last turn fails"),
    (both_rules, ([[N], [X]],), (False, False), "failed before the open turn"),
    (both_rules, ([[Y, X]],), (None, True), "the official rule looks at the labels given"),
    (both_rules, ([[X, X]],), (None, False), "a turn without any label fails officially, and is unscored here"),
    (both_rules, ([[U]],), (None, True), "not applicable is no FAIL officially"),
    (both_rules, ([],), (None, False), "no turns at all"),
    (both_rules, ([[]],), (None, False), "no criteria at all: never a pass"),
    (both_rules, ([[], [Y]],), (True, False), "a turn without criteria asks nothing, but has no label"),
    (both_rules, ([[], [N]],), (False, False), "and settles nothing"),
    (of_weights, ([Y, N], [3, -2]), (True, 1.0), "what is wanted is met, the fault is not there"),
    (of_weights, ([Y, Y], [3, -2]), (False, 1 / 3), "the fault takes its points away"),
    (of_weights, ([Y, Y], [3, -5]), (False, 0.0), "never below 0"),
    (of_weights, ([N, N], [3, -2]), (False, 0.0), "no fault earns nothing"),
    (of_weights, ([Y, N, Y], [5, 3, 2]), (False, 0.7), "7 of 10 points"),
    (of_weights, ([Y, X], [3, -2]), (None, None), "a fault that may be there leaves both open"),
    (of_weights, ([N, X], [3, -2]), (False, 0.0), "with or without the fault nothing is left"),
    (of_weights, ([X, Y, N], [1, -9, 2]), (False, 0.0), "one point cannot make up for nine"),
    (of_weights, ([N], [-1]), (True, None), "faults alone: no points to be had"),
    (of_weights, ([], []), (None, None), "no criteria"),
    (pass_rate, ([T, T, F, X],), Score(2 / 3, 3, 1, (0.2076596, 0.9385081)), "the unscored are left out and counted"),
    (pass_rate, ([],), Score(None, 0), "blank, not 0"),
    (mean_share, ([2 / 3, 0.25, X],), Score(11 / 24, 2, 1), "weighted scores: a mean over instances"),
    (soft_criterion, (INSTANCES,), Score(1.75 / 3, 3, 1), "three instances tell too little of others"),
    (soft_turn, (INSTANCES,), Score(0.5, 3, 1), "shares of turns"),
    (soft_turn, ([[[], [Y], [N]], [[], [Y]]],), Score(0.75, 2), "a turn without criteria is none of the turns"),
    (soft_turn, ([[[N, X], [Y]]],), Score(0.5, 1), "a turn that failed is settled though a label is open"),
    (soft_turn, ([[[Y, X], [Y]]],), Score(None, 0, 1), "one that may fail is not"),
    (soft_criterion, ([[[]]],), Score(None, 0, 1), "no criteria"),
    (soft_criterion, ([],), Score(None, 0), "no instances"),
    (soft_criterion, ([[[Y]]] * 10,), Score(1.0, 10, 0, (10 / (10 + T9**2), 1.0)), "ten alike: no share is certain"),
    (soft_turn, ([[[N]]] * 10,), Score(0.0, 10, 0, (0.0, 1 - 10 / (10 + T9**2))), "at the other end"),
    (drfr, ([[Y], [Y, N, N]],), Score(0.5, 4), "2 of 4; the mean of the pass rates would be 2/3"),
    (drfr, ([[Y, X], [N, U]],), Score(0.5, 2, 2), "undecided criteria are in neither sum"),
    (drfr, ([],), Score(None, 0), "no checklists"),
    (drfr, ([[], [Y]],), Score(1.0, 1), "an empty checklist asks nothing"),
    (drfr, ([[X]],), Score(None, 0, 1), "nothing decided is no score of 0"),
    (drfr, ([[Y, Y], [N]] * 6,), Score(12 / 18, 18, 0, clustered_share([2, 0] * 6, [2, 1] * 6)), "clusters: checklists"),
    (drfr, ([[Y]] * 9 + [[X]],), Score(1.0, 9, 1), "nine tell too little, and one where nothing is decided adds nothing"),
    # The ends are as far off as half the root of the squared distances, 0.2 and 0.3 below, 0.2 and 0.2 above.
    (joint_mean, ([Score(0.5, 20, 1, (0.3, 0.7)), Score(0.7, 20, 2, (0.4, 0.9))],),
     Score(0.6, 40, 3, (0.6 - 0.13**0.5 / 2, 0.6 + 0.08**0.5 / 2)), "two independent scores"),
    (joint_mean, ([Score(0.5, 20, 0, (0.3, 0.7)), Score(0.7, 20)],), {"ci95": None}, "one without an interval"),
    (joint_mean, ([Score(None, 20), Score(0.7, 20, 0, (0.4, 0.9))],), {"ci95": None, "value": None}, "one is open"),
    (of_trace, ((Y, Y, N), NESTED), (2 / 2, 1 / 2), "a nested base is in B and in R"),
    (of_trace, ((U, Y, Y), NESTED), (1 / 2, 1 / 1), "the gate is the immediate parent alone"),
    (of_trace, ((N, Y, Y), NESTED), (2 / 2, 2 / 2), "a base answered no is covered and never enters Achievement"),
    (of_trace, ((Y, N), {"a": UNGATED, "b": UNGATED}), (None, 1 / 2), "without a base: nothing in Coverage"),
    (of_trace, ((N, U, U), NESTED), (1 / 2, None), "why a skipped base is unknown: a judge that says no covers it"),
    (circle, ({},), [], "no dimensions"),
    (circle, (NESTED,), [], "nested, not circular"),
    (circle, ({"a": "a"},), ["a"], "its own base"),
    (circle, ({"a": None, "b": "d", "c": "b", "d": "c"},), ["b", "d", "c"], "three in a ring"),
    (sorted, (base_actions(NESTED),), ["ask", "needed"], "bases"),
)  # fmt: skip
def test_passes_and_shares(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


ROWS = [Transitions(2, 1, 0, 3), Transitions(1, 0, 1, 0, 2)]


@worked(
    (majority, ([Y, Y, N],), Y, "two of three"),
    (majority, ([Y, N],), None, "a tie settles nothing"),
    (majority, ([Y, X, X],), Y, "silence is not a no"),
    (majority, ([Y, N, X],), None, "silence breaks no tie"),
    (majority, (["そう", "そう", "違う"],), "そう", "any label"),
    (vote_share, ([Y, Y, X], Y), 1.0, "only votes that were cast count"),
    (vote_share, ([N, Y, Y], N), 1 / 3, "a heavy judge outvoted two"),
    (vote_share, ([Y, N], X), None, "a tie has no verdict to agree with"),
    (vote_share, ([X], X), None, "nobody voted"),
    (vote_share, ([X], Y), None, "settled by somebody else, without any vote cast"),
    (share_score, ([((Y, N, Y, Y), Y), ((N,) * 4, N)],), Score(0.875, 2), "0.75 and 1"),
    (share_score, ([((Y, Y), Y), ((Y, N), X), ((), N)],), Score(1.0, 1, 1), "a tie apart"),
    (flip_score, ([],), None, "nothing"),
    (flip_score, ([(), ()],), None, "one answer each: there are no votes"),
    (flip_score, ([(Y, Y), (Y, N), ()],), Score(0.5, 2), "criteria without votes are skipped"),
    (flip_score, ([(X, X), (Y, X)],), Score(1.0, 1, 1), "a criterion nobody decided is counted apart"),
    (flip_score, ([(X, X)],), Score(None, 0, 1), "none can be compared"),
    (flip_score, ([(Y,), (Y, N)],), Score(1.0, 1, 1), "a single vote cannot flip, nor dilute the rate"),
    (flips, ([], [], []), Score(None, 0), "nothing"),
    (flips, ([Y, X, U], [X, N, Y], ["a"] * 3), Score(None, 0, 3), "nothing that both decide"),
    (flips, ([Y, N, N], [Y, N, N], ["ä", "ä", "日"]), Score(0.0, 3), "all alike"),
    (flips, ([Y, N, N], [N, N, X], ["a", "b", "b"]), Score(0.5, 2, 1), "one of the two both decide"),
    # Independently right with 0.9: the limit over many votes of 10,000.
    (majority_of, ([Y] * 9000 + [N] * 1000, Y, 5), (pytest.approx(0.99144, abs=1e-4), 0), "nine of ten by five"),
    (transitions, ([N, N, Y, Y, Y], [Y, N, N, Y, Y]), Transitions(1, 1, 1, 2), "each kind"),
    (transitions, ([N, X, Y], [X, Y, U]), Transitions(undecided=3), "undecided on either side turned nothing"),
    (transitions, ([], []), Transitions(), "no questions"),
    (turned_shares, (ROWS,), (Score(0.75, 4, 2), Score(0.25, 4, 2)), "of what could turn; two checklists, no interval"),
    (sum, (ROWS, Transitions()), Transitions(3, 1, 1, 3, 2), "transitions add up"),
    (turned_shares, ([Transitions(undecided=4)],), ({"value": None}, {"value": None}), "nothing decided"),
    (turned_shares, ([Transitions(still_yes=3)],), ({"value": None}, {"value": 0}), "without a no nothing to mend"),
    (mean, ([T, F, X, T],), 2 / 3, "the mean leaves out what is undecided"),
    (mean, ([0.5, X, 1.0],), 0.75, "shares as well"),
    (mean, ([X],), None, "nothing decided"),
    (mean, ([],), None, "nothing"),
    (pass_rate, (map(mean, [[X, X], [T, X], [F, T]]),), Score(0.75, 2, 1), "unscored instances are counted"),
    (pass_rate, ([all_of(s, 2) for s in ([X, T], [X, F], [T, T], [T])],), {"value": 0.5, "unscored": 2}, "open, single"),
    (pass_rate, (map(mean, [[T, F], [T, T], [F, F]] * 3),), {"n": 9, "ci95": None}, "nine tell no spread of shares"),
    (sizes, (9,), [2, 3, 4, 5, 6, 7, 8, 9], "the last one always"),
    (sizes, (16,), [2, 3, 4, 5, 6, 7, 8, 16], "powers of two beyond eight"),
    (sizes, (100,), [2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 100], "and the last one"),
    (select, ((0.4, X, 0.4), (0.0, 1.0, 1.0)), Selected((0, 2), 0.5, 0.5, 2 / 3), "an undecided score is never top"),
    (select, ((X, X, 0.0), (1.0, 1.0, 0.5)), Selected((2,), 0.5, 0.0, 2 / 3), "the decided one is top, however low"),
    (select, ((X, X), (1.0, 0.0)), Selected((), None, None, 0.5), "nothing decided selects nothing, and is no zero"),
    (select, ((1.0, 0.0), (1.0, X)), Selected((0,), 1.0, None, None), "the undecided answer might be as good"),
    (select, ((1.0, 1.0), (1.0, X)), Selected((0, 1), None, None, None), "an undecided answer among those selected"),
    (select, ((-3.0, -7.5), (0.0, 0.0)), Selected((0,), 0.0, 1.0, 1.0), "rewards may be negative; tied are all best"),
    (select, ((), ()), Selected((), None, None, None), "no answers"),
    (best, ([],), None, "no best of nothing"),
    (best, ([1.0, X],), None, "nor where something is open"),
    (best, ([1.0, 0.0],), 1.0, "the best"),
    (top, ([X],), (), "nothing decided has no top"),
)  # fmt: skip
def test_votes_and_samples(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


def test_percentages_round_as_officially() -> None:
    # 102 / 320 * 100 lies below 31.875, and 100 * 102 / 320 on it.
    assert sections.percent(pass_rate([True] * 102 + [False] * 218).value) == "31.87"


def test_soft_scores_of_twelve_have_an_interval_around_them() -> None:
    for score in (soft_criterion(INSTANCES * 4), soft_turn(INSTANCES * 4)):
        assert 0 <= score.ci95[0] < score.value < score.ci95[1] <= 1


@given(st.lists(st.tuples(st.sampled_from([Y, N, U, X]), st.sampled_from([-3.0, -1.0, 0.5, 1.0, 4.0])), max_size=6))
def test_a_decided_share_is_that_of_every_way_to_decide(criteria: list[tuple[Label | None, float]]) -> None:
    labels, weights = [label for label, _ in criteria], [weight for _, weight in criteria]
    ways = product(*([label] if label in (Y, N) else [Y, N] for label in labels))
    shares = {weighted_share(way, weights) for way in ways}
    assert weighted_share(labels, weights) == (shares.pop() if len(shares) == 1 else None)


@given(st.lists(st.lists(st.lists(st.sampled_from([Y, N, U, X]), max_size=4), max_size=3), max_size=12))
def test_the_rates_hang_together(instances: Sequence[Turns]) -> None:
    passed = [instance_passes(turns) for turns in instances]
    overall, strict = pass_rate(passed), pass_rate([value is True for value in passed])
    assert overall.n + overall.unscored == strict.n == len(instances)
    if overall.value is not None and strict.value is not None:
        assert strict.value <= overall.value + 1e-9, "counting the unscored as failed never helps"
    for turns, value in zip(instances, passed, strict=True):
        flat = list(chain.from_iterable(turns))
        assert (value is True) == (bool(flat) and all(item == Y for item in flat))
        assert not (value and all(turns)) or official_passes(turns)


@given(SAMPLES, st.integers(0, 8))
def test_any_and_all_of_k_are_shares_of_all_subsets(passed: list[bool | None], k: int) -> None:
    def brute(rule: Callable[[Any], bool]) -> float | None:
        """The share of subsets to which the rule applies, None where undecided samples could change it."""
        if not 1 <= k <= len(passed):
            return None
        ways = product(*([value] if value is not None else [True, False] for value in passed))
        shares = {mean([rule(chosen) for chosen in combinations(way, k)]) for way in ways}
        return shares.pop() if len(shares) == 1 else None

    assert any_of(passed, k) == pytest.approx(brute(any))
    assert all_of(passed, k) == pytest.approx(brute(all))


@given(st.lists(st.sampled_from([Y, N, X]), min_size=1, max_size=7), st.data())
def test_majority_of_a_subset_is_the_mean_over_all_subsets(votes: list[str | None], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(votes)))
    labels = [majority(chosen) for chosen in combinations(votes, k)]
    assert majority_of(votes, Y, k) == pytest.approx([labels.count(label) / len(labels) for label in (Y, None)])


def test_an_instance_is_one_unit_however_often_it_was_asked() -> None:
    few = [[True, False], [True, True], [False, False], [True, False]] * 5
    score = pass_rate(map(mean, few))
    assert score == pass_rate(map(mean, [samples * 8 for samples in few])), "sixteen samples say no more than two"
    assert (score.value, score.n, score.ci95) == (0.5, 20, mean_share([0.5, 1, 0, 0.5] * 5).ci95)
    alone = pass_rate(chain.from_iterable(few)).ci95
    assert score.ci95[1] - score.ci95[0] > alone[1] - alone[0], "as if samples were instances it would be narrower"
    for passed in ([], [None], [True], [True, False, None, True], [True] * 12 + [False] * 3):
        assert pass_rate(map(mean, [[value] for value in passed])) == pass_rate(passed), "one sample each"


def test_every_question_is_counted_once_for_every_pair_of_labels() -> None:
    for was, now in product((Y, N, U, X), repeat=2):
        kind = transitions([was], [now])
        assert kind.mended + kind.still_no + kind.broken + kind.still_yes + kind.undecided == 1, (was, now)
        assert kind.undecided == (was not in (Y, N) or now not in (Y, N)), (was, now)


def test_all_729_pairs_of_score_vectors_select_as_brute_force_does() -> None:
    """Every answer that nothing beats is as likely to be picked as the others."""
    vectors = list(product((0.0, 0.5, 1.0), repeat=3))
    for outside in vectors:
        unbeaten = [score == max(outside) for score in outside]
        for selection in vectors:
            picked = [place for place in range(3) if selection[place] == max(selection)]
            score, precision = (
                sum(Fraction(row[place]) for place in picked) / len(picked) for row in (outside, unbeaten)
            )
            chosen = select(selection, outside)
            wanted = (float(score), float(precision), sum(unbeaten) / 3)
            assert (chosen.score, chosen.precision, chosen.chance) == pytest.approx(wanted), selection
        assert max(select(selection, outside).score or 0.0 for selection in vectors) == best(outside)
        assert select((0.0, 0.0, 0.0), outside).score == pytest.approx(mean(outside)), "ties select all"


def transcribed(traces: list[dict[str, str | None]], structure: Mapping[str, str | None]) -> list[float | None]:
    """Equations 4 to 7; a branch without base action is not gated (the paper is silent)."""
    bases = [d for d in structure if structure[d] is None or d in structure.values()]
    labels = [trace[base] for trace in traces for base in bases]
    gated = [
        trace[d]
        for trace in traces
        for d, base in structure.items()
        if base is not None and (base == UNGATED or trace[base] in (Y, N))
    ]
    attempted, right = labels.count(Y) + labels.count(N), gated.count(Y)
    wholes = attempted + labels.count(U), right + gated.count(N)
    return [part / whole if whole else None for part, whole in zip((attempted, right), wholes, strict=True)]


def test_random_tables_give_what_the_equations_give() -> None:
    """Forests of up to nine dimensions: alone, nested up to any depth, some in groups without a base."""
    for seed in range(60):
        draw, structure = random.Random(seed), dict[str, str | None]()
        for n in range(draw.randint(1, 9)):
            structure[f"d{n}"] = draw.choice([None, UNGATED, *structure])
        traces = [{d: draw.choice([Y, N, U, X]) for d in structure} for _ in range(draw.randint(0, 8))]
        scores = flexeval(traces, [structure] * len(traces))
        assert [scores.coverage, scores.achievement] == pytest.approx(transcribed(traces, structure)), seed
        labels = [label for trace in traces for label in trace.values()]
        assert (scores.right, scores.decided) == (labels.count(Y), labels.count(Y) + labels.count(N)), seed
