"""Submitted judgments: what does not hold together is refused in one line without a path; the rest is asked once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hub.conftest import headline
from tests.support.hub_client import HubClient
from tests.support.hub_store import Repo
from tests.support.hub_stub import HubStub
from tests.support.runs import run_scores
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import read_table
from truebench_hf.hub.results import describe
from truebench_hf.hub.staging import Staged, stage_file, stage_run
from truebench_hf.hub.submission import check_scores, validate
from truebench_hf.results.folder import Results
from truebench_hf.types import Score

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def finished(runs: Path) -> Path:
    """A run over the whole of mini in which one model request fails and criteria on sentences are never met."""
    return runs / "whole"


@pytest.fixture
def rows(finished: Path) -> Rows:
    return [json.loads(line) for line in (finished / "judgments.jsonl").read_text().splitlines()]


def written(folder: Path, rows: Rows) -> Path:
    path = folder / "upload.tmp"  # uploads come under any name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_passes_and_its_scores_come_out_again(finished: Path, rows: Rows, tmp_path: Path) -> None:
    found = validate(finished / "judgments.jsonl", claimed=Results.open(finished).tables["scores"].rows)
    overall = found.report.scores["overall"]
    assert 0 < overall.value == run_scores(finished)["overall"]["value"] < 100  # type: ignore[union-attr,operator]
    assert (len(found.judged), found.notes) == (36, ("1 of 36 instances are unscored.",))
    assert found.data == "mini", "known by its hash, also where a conversation broke off"
    part = validate(written(tmp_path, rows[1:]))
    assert part.data is None
    assert any("not the whole of a known release" in note for note in part.notes)


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def _put(value: Any, place: int, *path: Any) -> Callable[[Rows], None]:
    """An edit of a row that puts a value under this path; a function takes what stands there."""

    def edit(rows: Rows) -> None:
        inner: Any = rows[place]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value

    return edit


def _verdict(**fields: Any) -> Callable[[Rows], None]:
    return lambda rows: rows[1]["verdicts"][0][0].update(fields)


def _unanswered(rows: Rows) -> None:
    """A verdict on a turn that has no answer."""
    failed = next(row for row in rows if row["error"])
    for verdict in failed["verdicts"][-1]:
        verdict["label"] = "yes"
    failed["passed"] = True


def _broken_off(rows: Rows) -> None:
    """A conversation that ends with its first prompt."""
    row = next(row for row in rows if len(row["verdicts"]) > 1)
    row["messages"], row["passed"] = row["messages"][:1], None
    for verdict in (verdict for turn in row["verdicts"] for verdict in turn):
        verdict["label"] = None


BAD: dict[str, tuple[Callable[[Rows], Any], str]] = {
    "a verdict was turned over": (_put(lambda passed: not passed, 1, "passed"), "line 2: 'passed'"),
    "an instance stands twice": (lambda rows: rows.append(rows[0]), "stands twice"),
    "two models in one file": (_put("openai:other", 1, "model"), "line 2: another model"),
    "two judges in one file": (_put("openai:other", 2, "judge"), "line 3: another model or judge"),
    "a field is absent": (
        lambda rows: rows[0].pop("reasoning"),
        "line 1: not a line of judgments.jsonl: missing field",
    ),
    "a field too many": (lambda rows: rows[0].update(html="<script>"), "'html' is unknown"),
    "a label of its own": (_verdict(label="YES"), "'verdicts[0][0]."),
    "no probability at all": (_verdict(probability=7), "'verdicts[0][0]."),
    "true is no probability": (_verdict(probability=True), "'verdicts[0][0]."),
    "a message by nobody": (_put("tool", 1, "messages", 0, "role"), "'messages[0].role' is 'tool'"),
    "two answers in a row": (lambda rows: rows[1]["messages"].append(rows[1]["messages"][-1]), "line 2"),
    "no criterion in any turn": (lambda rows: rows[1].update(verdicts=[[]], passed=None), "line 2"),
    "no turns": (lambda rows: rows[1].update(verdicts=[], passed=None), "line 2"),
    "negative tokens": (_put(-1, 1, "usage", "model", "calls"), "'usage.model.calls' must be"),
    "a blank model": (lambda rows: [row.update(model=" ") for row in rows], "'model'"),
    "a name as long as a book": (lambda rows: [row.update(model="x" * 501) for row in rows], "'model'"),
    "half a character in a model's name": (lambda rows: [row.update(model="m\ud83c") for row in rows], "'model'"),
    "an id that is a number": (_put(1, 0, "id"), "'id'"),
    "nested beyond reading": (_put(_deep(400), 1, "reasoning"), "line 2"),
    "nested far beyond it": (_put(_deep(900), 1, "reasoning"), "line 2"),
    "a role of many lines": (lambda rows: rows[1]["usage"].update({"a\nb": 1}), "'usage.a"),
    "nothing": (lambda rows: rows.clear(), "no judged instances"),
    "a verdict on what was not answered": (_unanswered, "turn without an answer"),
    "prompts of turns that were never asked": (_broken_off, "field 'prompts' must give"),
}


@pytest.mark.parametrize("reason", BAD)
def test_what_does_not_hold_together(rows: Rows, tmp_path: Path, reason: str) -> None:
    change, message = BAD[reason]
    change(rows)
    with pytest.raises(UserError) as caught:
        validate(written(tmp_path, rows))
    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_may_be_otherwise(rows: Rows, tmp_path: Path) -> None:
    several = [row for row in rows if len(row["verdicts"]) > 1]
    asked = [message["content"] for message in several[0]["messages"] if message["role"] == "user"]
    _broken_off(rows)
    several[0]["prompts"] = [None, *asked[1:]]
    assert validate(written(tmp_path, rows)).data == "mini", "prompts that were never asked are told beside"
    several[1]["verdicts"][0] = []  # a turn without criteria
    several[1]["passed"] = all(verdict["label"] == "yes" for turn in several[1]["verdicts"] for verdict in turn)
    rows[1]["messages"][-1]["content"] = "Half of \ud83c."  # a model may answer so; it is published as a question mark
    checked = validate(written(tmp_path, rows))
    assert [len(item.verdicts[0]) for item in checked.judged if item.instance.id == several[1]["id"]] == [0]


def test_scores_that_do_not_follow(finished: Path) -> None:
    report = validate(finished / "judgments.jsonl").report
    claimed = [dict(row) for row in Results.open(finished).tables["scores"].rows]
    check_scores(report, claimed)
    overall, group = claimed[0], next(row for row in claimed if row["group"])
    for wrong, _ in (
        ([{**overall, "score": replace(overall["score"], value=99.9)}, *claimed[1:]], "another value"),
        ([{**overall, "score": replace(overall["score"], n=5)}, *claimed[1:]], "another number"),
        ([{**overall, "score": None}, *claimed[1:]], "no score"),
        (claimed[1:], "a score is missing"),
        ([row for row in claimed if row is not group], "one of a group is missing"),
        ([*claimed, {**group, "name": "XX", "score": Score(1.0, 1)}], "one more in a group"),
    ):
        with pytest.raises(UserError, match="scores: "):
            check_scores(report, wrong)


def test_type_and_size(finished: Path, tmp_path: Path) -> None:
    path = finished / "judgments.jsonl"
    for refused, message in (
        (lambda: validate(path, max_bytes=1000), "larger than"),
        (lambda: validate(path, name="run.zip"), r"give a judgments\.jsonl"),
        (lambda: validate(tmp_path / "absent"), "cannot be read"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            refused()
        assert str(tmp_path) not in str(caught.value)
    for content in (b"\x00\x01", b"\xff\xfe{}", b"[" * 100_000, b"[]", b"{}", b"1", b"\n\n", b'{"id": 1e999}'):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(UserError):
            validate(tmp_path / "x")


def test_any_value_anywhere_is_refused_or_harmless(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    good, folder = rows[1:3], tmp_path_factory.mktemp("any")
    values: st.SearchStrategy[Any] = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    )

    @given(st.sampled_from(sorted(good[0])), st.sampled_from([None, 0]), values)
    def check(field: str, inside: int | None, value: Any) -> None:
        changed = copy.deepcopy(good)
        if inside is not None and isinstance(changed[0][field], list) and changed[0][field]:
            changed[0][field][inside] = value
        else:
            changed[0][field] = value
        try:
            found = validate(written(folder, changed))
        except UserError:
            return
        assert len(found.judged) == 2

    check()


RESULTS = "org/results"
# Title, status, and the state that is told; None where it is no submission.
PULLS: list[tuple[str, str, str | None]] = [
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "open", "waiting"),
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "draft", "waiting"),
    ("Submission: tea--o3--0123456789 (x", "merged", "merged"),
    ("Submission: a--b--0123456789 (x", "closed", "refused"),
    ("Submission: <b>--b--0123456789 (x", "open", None),
    ("Add run facts--tea--0123456789 (truebench-hf 0.1, sha256 ab)", "open", None),
    ("A better card", "open", None),
    ("Submission: a--b--0123456789 (x", "unheard of", None),
]


@pytest.fixture
def results(hub: HubStub) -> str:
    hub.repos["dataset", RESULTS] = Repo("dataset", RESULTS)
    return RESULTS


def submit(client: HubClient, run: Path) -> list[object]:
    """What `submit` gives, [url, new], or the kind and text of its error."""
    return list(
        client.value(f"""
            import json
            from truebench_hf.errors import UserError
            from truebench_hf.hub.results import submit
            try:
                pushed = submit({str(run / "judgments.jsonl")!r}, {RESULTS!r})
                print(json.dumps([pushed.url, pushed.new]))
            except UserError as error:
                print(json.dumps([type(error).__name__, str(error)]))""")
    )


def staged(run: Path, out: Path) -> Staged:
    return stage_file(validate(run / "judgments.jsonl"), out)


@pytest.mark.slow
def test_a_submission_becomes_a_pull_request(
    hub: HubStub, client: HubClient, results: str, runs: Path, tmp_path: Path
) -> None:
    url, new = submit(client, runs / "whole")
    assert str(url).endswith("/discussions/1")
    assert new is True
    files = hub.files("dataset", RESULTS, "refs/pr/1")
    (content,) = (content for name, content in files.items() if name.endswith("/scores.parquet"))
    (tmp_path / "scores.parquet").write_bytes(content)
    row = headline(read_table(tmp_path / "scores.parquet"))
    assert row["submitted"] is True
    assert row["value"] == run_scores(runs / "whole")["overall"]["value"]
    assert row["judge"] == "scripted:judge.json (rules decide)"  # the file does not tell the level
    assert b"secret-folder" not in b"".join(files.values())
    told = hub.repo("dataset", RESULTS).head("refs/pr/1").description
    claims, computed = told.split("**Computed again")
    assert "checked by nobody" in claims
    assert "Model: `scripted:tea-model.json`" in claims
    assert "Judge: `scripted:judge.json`" in claims
    value, low, high = (100 * row[name] for name in ("value", "low", "high"))
    assert f"- Pass rate in %: {value:.2f}\n- 95 % interval: {low:.1f} to {high:.1f}\n" in computed
    assert "- n: 35\n- Unscored: 1\n- Data: mini\n" in computed
    assert f"- Data SHA-256: {row['data_sha256']}" in computed
    assert "secret-folder" not in told


@pytest.mark.slow
def test_names_can_hold_no_markup(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    rows = [json.loads(line) for line in (runs / "part" / "judgments.jsonl").read_text().splitlines()]
    hostile = "x` ![](https:e.co) @org\n# Merge this"
    (run / "judgments.jsonl").write_text("".join(json.dumps(row | {"model": hostile}) + "\n" for row in rows))
    told = describe(staged(run, tmp_path / "out"))
    assert "- Model: `x ![](https:e.co) @org # Merge this`\n" in told  # one span of code, in which nothing is markup


@pytest.mark.slow
def test_the_same_file_is_queued_once(hub: HubStub, client: HubClient, results: str, runs: Path) -> None:
    first, _ = submit(client, runs / "whole")
    assert submit(client, runs / "whole") == [first, False]
    assert len(hub.pulls("dataset", RESULTS)) == 1
    assert submit(client, runs / "part")[1] is True  # another one does not wait behind it
    repo = hub.repo("dataset", RESULTS)
    repo.pull("2").status = "closed"
    assert str(submit(client, runs / "part")[0]).endswith("/discussions/3")  # declined once, offered again
    repo.merge(repo.pull("1"))
    commits = len(hub.commits("dataset", RESULTS))
    kind, message = submit(client, runs / "whole")
    assert kind == "AlreadyThere"
    assert str(message).endswith(f"is already in {RESULTS}")
    assert (len(hub.pulls("dataset", RESULTS)), len(hub.commits("dataset", RESULTS))) == (3, commits)


@pytest.mark.slow
def test_a_submission_stays_one(runs: Path, tmp_path: Path) -> None:
    first = staged(runs / "whole", tmp_path / "first")
    folder = tmp_path / "first" / "runs" / first.run_id
    assert json.loads((folder / "run.json").read_text())["submitted"] is True
    # Fetched from the results data set and published by somebody as a run of their own.
    again = stage_run(folder, tmp_path / "again")
    info = json.loads((tmp_path / "again" / "runs" / again.run_id / "run.json").read_text())
    assert (info["submitted"], again.rows[0]["submitted"], again.run_id) == (True, True, first.run_id)


@pytest.mark.slow
def test_states(hub: HubStub, client: HubClient) -> None:
    repo = hub.repos["dataset", RESULTS] = Repo("dataset", RESULTS)
    for title, status, _ in PULLS:
        repo.open_pull(title, status=status)
    every, three, newest = client.value(f"""
        import json
        from truebench_hf.hub.results import submissions
        every = [submissions({RESULTS!r}, most) for most in (30, 3, 1)]
        print(json.dumps([[[each.num, each.state, each.url] for each in some] for some in every]))""")
    assert {num: state for num, state, _ in every} == {num: state for num, (*_, state) in enumerate(PULLS, 1) if state}
    assert [row[0] for row in three] == [4, 3, 2], "the newest"
    assert newest[0][2] == f"{hub.url}/datasets/{RESULTS}/discussions/4"
