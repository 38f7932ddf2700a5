"""Annotation sheets: out without labels, back in from CSV, adjudicated, agreement measured."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truebench_hf.errors import UserError
from truebench_hf.report.labels import (
    Question,
    SheetAnswer,
    adjudicate,
    agreement_table,
    annotator_kappas,
    form,
    joined,
    read,
    read_answers,
    read_rows,
    write,
    write_answers,
    write_rows,
)
from truebench_hf.report.sections import guard, unguard

ROWS = [
    Question(
        f"r{number}",
        "Does it name teas?",
        {"Instruction": f"Nenne {number} Teesorten.", "Response": f"=Sum(A1)\n茶 {number}, शाम, «чай» 🍵"},
        ("yes", "no", "cannot tell"),
        blind={"label": "SECRET-yes", "model": "SECRET-model"},
    )
    for number in range(8)
]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def answered(folder: Path, annotator: str, answers: dict[str, str], name: str = "") -> Path:
    """A filled-in CSV with only the columns that are needed."""
    path = folder / f"{name or annotator}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "annotator", "options", "answer", "note"])
        writer.writerows([item, annotator, "yes|no", answer, ""] for item, answer in answers.items())
    return path


def test_sheets_are_blind_and_in_an_own_order(tmp_path: Path) -> None:
    files = write(ROWS, tmp_path / "a", ["ann", "bob"], seed=3)
    assert [file.name for file in files] == ["ann.csv", "ann.html", "bob.csv", "bob.html"]
    for file in files:
        assert "SECRET" not in file.read_text(encoding="utf-8-sig")
    order = {name: [row["id"] for row in table(tmp_path / "a" / f"{name}.csv")] for name in ("ann", "bob")}
    assert order["ann"] != order["bob"] != [row.id for row in ROWS]
    assert sorted(order["ann"]) == sorted(order["bob"]) == [row.id for row in ROWS]
    first = table(tmp_path / "a" / "ann.csv")[0]
    assert first["Response"].startswith("'=Sum(A1)\n茶"), "no text is run as a formula"
    assert (first["answer"], first["note"], first["options"]) == ("", "", "yes|no|cannot tell")
    write(ROWS, tmp_path / "b", ["bob", "cyd", "ann"], seed=3)  # who else annotates changes nobody's order
    assert (tmp_path / "b" / "ann.csv").read_bytes() == (tmp_path / "a" / "ann.csv").read_bytes()
    assert (tmp_path / "b" / "ann.html").read_bytes() == (tmp_path / "a" / "ann.html").read_bytes()
    write(ROWS, tmp_path / "c", ["ann"], seed=4)
    assert [row["id"] for row in table(tmp_path / "c" / "ann.csv")] != order["ann"]


def test_rows_of_a_group_stay_together_and_in_order(tmp_path: Path) -> None:
    rows = [
        Question(f"{group}{number}", "Yes?", {}, group=group, settles=("no",))
        for number in range(3)
        for group in ("a", "b", "c", "d", "e", "f")
    ]
    write([*rows, Question("alone", "Yes?", {})], tmp_path, ["ann", "bob"], seed=1)
    orders = {name: [row["id"] for row in table(tmp_path / f"{name}.csv")] for name in ("ann", "bob")}
    for order in orders.values():
        assert len(order) == 19
        for group in "abcdef":
            first = order.index(f"{group}0")
            assert order[first : first + 3] == [f"{group}0", f"{group}1", f"{group}2"]
    assert orders["ann"] != orders["bob"]
    page = (tmp_path / "ann.html").read_text(encoding="utf-8")
    assert page.count("""data-group="a" data-settles='["no"]'""") == 3
    assert page.count("data-group=") == 18, "a question on its own settles nothing else"


def test_the_form_is_self_contained_and_escapes_texts() -> None:
    evil = "</div><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    page = form([Question("a", evil, {evil: evil}, ("yes", '"><script>'))], "ann")
    assert page.count("<script>") == 1  # our own
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in page.replace("src=x onerror", "")


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    write(ROWS, tmp_path, ["ann"])
    with pytest.raises(UserError, match="may hold answers"):
        write(ROWS, tmp_path, ["bob", "ann"])
    assert not (tmp_path / "bob.csv").exists()


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        ([replace(ROWS[2], id="")], ["ann"], "one line"),
        ([replace(ROWS[2], id="a\nb")], ["ann"], "one line"),  # a line break would break the spreadsheet
        ([replace(ROWS[2], id=" a")], ["ann"], "without blanks"),  # which a spreadsheet drops
        ([ROWS[1], replace(ROWS[2], id="r1")], ["ann"], "stands twice"),
        ([], ["ann"], "nothing to annotate"),
        *((ROWS, names, "annotator") for names in ([], ["ann", "Ann"], ["../ann"], ["a/b"], [""], [".ann"])),
    ],
)
def test_what_would_not_come_back_is_refused(
    tmp_path: Path, rows: list[Question], names: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        write(rows, tmp_path / "out", names)
    assert not list((tmp_path / "out").glob("*"))


def test_answers_come_back(tmp_path: Path) -> None:
    write(ROWS[:3], tmp_path, ["ann"])
    sheet = table(tmp_path / "ann.csv")
    for row in sheet:
        row["answer"] = {"r0": "yes", "r1": " NO ", "r2": ""}[row["id"]]  # as people type
        row["note"] = "=überlegt" if row["id"] == "r1" else ""
    filled = io.StringIO()
    writer = csv.DictWriter(filled, list(sheet[0]), delimiter=";")  # as spreadsheets write in much of Europe
    writer.writeheader()
    writer.writerows(sheet)
    (tmp_path / "ann.csv").write_text(filled.getvalue(), encoding="utf-8-sig", newline="")
    bob = [
        SheetAnswer(name, "bob", ROWS[0].options, text, "", "")
        for name, text in (("r0", "no"), ("r1", "no"), ("r2", None))
    ]
    write_answers(tmp_path / "bob.csv", bob)
    found = read([tmp_path / "ann.csv", tmp_path / "bob.csv"])
    assert found.labels == {
        "r0": {"ann": "yes", "bob": "no"}, "r1": {"ann": "no", "bob": "no"}, "r2": {"ann": None, "bob": None},
    }  # fmt: skip
    assert found.notes == {("r1", "ann"): "=überlegt"}
    assert found.of("bob") == {"r0": "no", "r1": "no"}
    assert read([tmp_path]).labels == found.labels  # a folder of them


def test_doubled_answers(tmp_path: Path) -> None:
    first = answered(tmp_path, "ann", {"a": "yes", "b": ""}, "first")
    again = answered(tmp_path, "ann", {"a": "yes", "b": "no"}, "again")
    for order in ([first, again], [again, first]):  # a blank never overrides an answer
        assert read(order).labels == {"a": {"ann": "yes"}, "b": {"ann": "no"}}
    other = answered(tmp_path, "ann", {"a": "no"}, "other")
    with pytest.raises(UserError, match=r"other\.csv, record 1.*'no'.*'yes' at .*first\.csv, record 1"):
        read([first, other])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", "id,answer\n1,yes\n", "record 1: not of an annotation sheet: column 'annotator' is missing"),
        ("x.csv", "", "holds no records"),
        ("x.csv", "id,annotator,options,answer\n", "holds no records"),
        ("x.csv", "id,annotator,options,answer,answer\n", "both called 'answer'"),
        ("x.csv", "id,annotator,options,answer\na,ann,yes|no,maybe\n", "record 1: answer 'maybe'"),
        ("x.csv", "id,annotator,options,answer\na,,yes|no,yes\n", "record 1: field 'annotator' is blank"),
        ("x.csv", "id,annotator,options,answer\na,ann,,yes\n", "record 1: field 'options'"),
        ("x.csv", "id,annotator,options,answer\na,ann\n", "record 1: has another number of fields"),
        ("x.csv", "id,annotator,options,answer\na,ann,yes|no,yes\na,bob,1|2|3,2\n", "other options than at"),
        ("x.csv", "id;annotator;options;answer\na;J\udcfcrgen;yes|no;yes\n", "CSV UTF-8"),  # as Excel writes it
        ("x.html", "", "give the .csv"),
        ("x.json", "[]", "give the .csv"),
    ],
)
def test_malformed_answers_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(UserError) as caught:
        read([tmp_path / name])
    assert message in str(caught.value)


def test_adjudication(tmp_path: Path) -> None:
    answers = {
        "ann": {"u": "yes", "m": "yes", "t": "yes", "s": "no", "n": ""},
        "bob": {"u": "yes", "m": "no", "t": "no", "s": "", "n": ""},
        "cyd": {"u": "yes", "m": "no"},  # was not asked about the others
    }
    found = read([answered(tmp_path, name, given) for name, given in answers.items()])
    result = adjudicate(found)
    assert result.labels == {"u": "yes", "m": "no", "t": None, "s": "no", "n": None}
    assert result.how == {"u": "unanimous", "m": "majority", "t": "tie", "s": "single", "n": "unanswered"}
    assert set(result.open) == {"t", "n"}
    decided = adjudicate(found, read([answered(tmp_path, "judge", {"t": "yes", "m": "yes"})]).of("judge"))
    assert (decided.labels["t"], decided.labels["m"]) == ("yes", "yes"), "the last word, over a majority too"
    assert (decided.how["m"], decided.open) == ("decided", ("n",))
    rows = {row["id"]: row for row in decided.rows}
    assert rows["t"]["label_source"] == "human"
    assert rows["t"]["annotations"] == [{"annotator": "ann", "label": "yes"}, {"annotator": "bob", "label": "no"}]
    for bad, message in (({"x": "yes"}, "no annotator"), ({"t": "maybe"}, "none of yes, no")):
        with pytest.raises(UserError, match=message):
            adjudicate(found, bad)


def test_labels_of_a_file_are_joined_by_newer_answers(tmp_path: Path) -> None:
    """A newer answer replaces an older one, a blank replaces none, and what annotators noted stays with its answer."""
    noted = tmp_path / "ann.csv"
    noted.write_text("id,annotator,options,answer,note\na,ann,yes|no,yes,unsure\nb,ann,yes|no,no,\n")
    first = joined([], read([noted]), ("yes", "no"))
    write_rows(tmp_path / "labels.jsonl", adjudicate(first, {"b": "yes"}).rows)
    before = read_rows(tmp_path / "labels.jsonl", ("yes", "no"))
    assert [(row["id"], row["label"], row["how"]) for row in before] == [
        ("a", "yes", "single"),
        ("b", "yes", "decided"),
    ]
    newer = read([answered(tmp_path, "ann", {"a": "no", "b": ""}), answered(tmp_path, "bob", {"b": "no"})])
    both = joined(before, newer, ("yes", "no"))
    assert both.labels == {"a": {"ann": "no"}, "b": {"ann": "no", "bob": "no"}}
    assert both.notes == {("a", "ann"): "unsure"}
    with pytest.raises(UserError, match="a: a sheet asks for yes or no, not for pass or fail"):
        joined([], newer, ("pass", "fail"))


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "label": "yes", "how": "single", "annotations": []}',
        '{"id": "a", "label": 1, "how": "single", "annotations": []}',
        '{"id": "a", "label": "pass", "how": "single", "annotations": []}',  # of another kind of question
        '{"id": "a", "label": "yes", "annotations": []}',
        '{"id": "a", "label": "yes", "how": "single", "annotations": {}}',
        '{"id": "a", "label": "yes", "how": "single", "annotations": [{"annotator": "ann"}]}',
        "[]",
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "labels.jsonl").write_text(f"{line}\n")
    with pytest.raises(UserError, match=r"labels\.jsonl, line 1: is no line of labels"):
        read_rows(tmp_path / "labels.jsonl", ("yes", "no"))


def test_agreement_by_hand(tmp_path: Path) -> None:
    ann = {"1": "yes", "2": "yes", "3": "no", "4": "no", "5": "yes"}
    bob = {"1": "yes", "2": "no", "3": "no", "4": "no", "5": ""}
    annotations = read([answered(tmp_path, "ann", ann), answered(tmp_path, "bob", bob)])
    (row,) = agreement_table(annotations).rows
    assert (row["raw"], row["missing"]) == (3 / 4, 1)
    # observed 3/4; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2; (3/4 - 1/2) / (1 - 1/2)
    kappa = annotator_kappas(annotations)["ann", "bob"]
    assert kappa.value == pytest.approx(0.5)
    assert (kappa.n, kappa.unscored) == (4, 1)
    # pooled shares 3/8 and 5/8: chance 17/32 -> (3/4 - 17/32) / (15/32)
    assert row["fleiss_kappa"] == pytest.approx(7 / 15)
    # disagreement 1/4 over expected 2 * 3 * 5 / (8 * 7)
    assert row["krippendorff_alpha"] == pytest.approx(1 - (1 / 4) / (30 / 56))


SHORT = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).filter(str.isprintable)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(SHORT, st.text(max_size=40), st.text(max_size=40), st.sampled_from([0, 1, 2]), st.text(max_size=20)),
        min_size=1, max_size=5, unique_by=lambda row: row[0],
    ),
    options=st.lists(SHORT.filter(lambda text: "|" not in text), min_size=2, max_size=2, unique=True),
)  # fmt: skip
def test_any_sheet_filled_in_comes_back(
    rows: list[tuple[str, str, str, int, str]], options: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sheet")
    given = [Question(item, "?", {"A": first, "B": second}, tuple(options)) for item, first, second, _, _ in rows]
    write(given, folder, ["ann"])
    sheet = table(folder / "ann.csv")
    wanted = {item: [None, *options][choice] for item, _, _, choice, _ in rows}
    for row in sheet:
        row["answer"] = guard(wanted[unguard(row["id"])] or "")
    with (folder / "ann.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)
    assert {item: labels["ann"] for item, labels in read([folder / "ann.csv"]).labels.items()} == wanted


@settings(max_examples=100, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(str.encode),
        st.text(alphabet="ab,;\t\n\r\"'|=", max_size=80).map(
            lambda text: f"id,annotator,options,answer\n{text}".encode()
        ),
    )
)
def test_whatever_a_file_holds_is_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("hostile") / "x.csv"
    path.write_bytes(content)
    try:
        answers = list(read_answers(path))
    except UserError:
        return
    for answer in answers:
        assert answer.answer is None or answer.answer in answer.options


TYPED = ("=1", "+a", "-", "@x", "\tx", "\rx", "'=1", "'", "''", "'-3.2", "''-3.2", "-1+1", "-1e", "a", "", "'a")


@pytest.mark.parametrize("text", TYPED)
def test_guard_round_trip(text: str) -> None:
    assert unguard(guard(text)) == text
    assert guard(text)[:1] not in tuple("=+-@\t\r")


@pytest.mark.parametrize("number", ["-3.2", "+1", "-1e-5", "-.5", "-40%", -3.2, None, 7])
def test_numbers_are_no_formulas(number: object) -> None:
    assert guard(number) == number
    assert not isinstance(number, str) or unguard(number) == number


WRITTEN = Question("w1", "Your checklist", {"Instruction": "Nenne Tees."}, ())


def test_an_answer_of_ones_own(tmp_path: Path) -> None:
    """A text over several lines, which a spreadsheet would run as a formula, comes back as it was written."""
    write([WRITTEN, ROWS[0]], tmp_path, ["ann"])
    form_of = (tmp_path / "ann.html").read_text(encoding="utf-8")
    assert form_of.count('<textarea class="own"') == 1
    rows, text = table(tmp_path / "ann.csv"), '=Sind es Tees?\n- "Drei", oder?'
    assert {row["id"]: row["options"] for row in rows} == {"w1": "", "r0": "yes|no|cannot tell"}
    with (tmp_path / "ann.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows([row | {"answer": guard(text) if row["id"] == "w1" else "yes"} for row in rows])
    given = read([tmp_path / "ann.csv"], written=True)
    assert given.labels == {"r0": {"ann": "yes"}, "w1": {"ann": text}}
    assert given.options == {"r0": ("yes", "no", "cannot tell"), "w1": ()}
    handed = tmp_path / "handed.csv"
    write_answers(handed, [SheetAnswer("w1", "ann", (), text, "", "")])
    assert read([handed], written=True).labels == {"w1": {"ann": text}}
    for file in (tmp_path / "ann.csv", handed):
        with pytest.raises(UserError, match="must name two or more answers"):
            read([file])  # where everything is a choice, a lost column is an error
