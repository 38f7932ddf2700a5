"""What runs cost, and budgets, as commands tell of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import Done, command_here, write_jsonl
from truebench_hf.engine.money import PaidTokens, Price, Prices, listed_price
from truebench_hf.errors import UserError

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400},
         "completion_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
PRICE = ("--price", "openai:m=2,10,0.5")  # a call of USAGE: 600 * 2 + 400 * 0.5 + 100 * 10 millionths = $0.0024


class Bench:
    """Ten prompts, a server whose calls all take USAGE, and runs of them without a judge."""

    def __init__(self, folder: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
        self.server, self.capsys, self.out = server, capsys, folder / "out"
        rows = [{"id": str(n), "prompt": f"Name {n}.", "criteria": ["names it"]} for n in range(10)]
        self.data = write_jsonl(folder / "data.jsonl", rows)
        server.add_scripts([{"contains": "Name", "message": {}, "usage": USAGE}])

    def run(self, *more: str, code: int = 0) -> Done:
        flags = ["--data", self.data, "--model", "openai:m", "--model-base-url", self.server.url, "--judge", "none"]
        sizes = ["--max-tokens", "100", "--out", str(self.out), "--allow-unscored"]
        done = command_here(self.capsys, "run", *flags, *sizes, *more)
        assert done.returncode == code, done.stderr or done.stdout
        return done

    def asked(self) -> int:
        return int(self.server.stats()["total"])


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.chdir(tmp_path)
    with OpenAIServer() as server:
        yield Bench(tmp_path, server, capsys)


def told(text: str) -> str:
    return " ".join(text.split())


def test_a_run_tells_what_it_cost_with_cached_input_apart(bench: Bench) -> None:
    done = told(bench.run(*PRICE).stdout)
    assert "Cost: $0.0240 ($2.40 per 1,000 items)" in done
    assert "openai:m 2 in, 0.5 cached, 10 out (--price, " in done
    info = json.loads((bench.out / "run.json").read_text())
    assert info["cost"] == 0.024
    page = (bench.out / "report.html").read_text()
    for figure in ("What the calls cost", "10,000", "4,000", "0.0240"):
        assert figure in page, figure


def test_nothing_is_told_without_a_price(bench: Bench) -> None:
    assert "$" not in bench.run().stdout + (bench.out / "run.json").read_text()


def test_an_estimate_tells_money(bench: Bench) -> None:
    assert "Estimated cost: $0.01" in told(bench.run("--estimate", *PRICE).stdout)
    assert bench.asked() == 0


def test_a_file_of_prices(bench: Bench) -> None:
    Path("prices.toml").write_text("date = 2026-11-01\n[m]\ninput = 2\noutput = 10\ncached = 0.5\n")
    assert "openai:m 2 in, 0.5 cached, 10 out (prices.toml, 2026-11-01)" in told(bench.run().stdout)
    Path("prices.toml").write_text("[m]\ninput = 2\n")
    assert "prices.toml, m: write" in bench.run(code=2).stderr


def test_a_budget_stops_before_it_is_exceeded_and_a_higher_one_goes_on(bench: Bench) -> None:
    """A call costs $0.0024 and could cost some $0.0014; one of the last stops while it is not sure to fit."""
    stopped = bench.run(*PRICE, "--budget", "0.012", "--model-concurrency", "4", code=3)
    assert "--budget 0.012: $0.01" in stopped.stderr
    assert stopped.stderr.count("\n") == 1
    before = bench.asked()
    assert 4 <= before < 10
    again = bench.run(*PRICE, "--budget", "0.012", code=3)
    assert again.stderr == stopped.stderr, "what an earlier session spent counts"
    assert bench.asked() == before, "and nothing is asked beyond it"
    assert "Cost: $0.0240" in told(bench.run(*PRICE, "--budget", "1").stdout)
    assert bench.asked() == 10, "finished calls are not asked again"


def test_what_was_billed_without_an_answer_counts(bench: Bench) -> None:
    """A failure in a good status, an answer that broke off, and one that a filter stopped: each with its usage."""
    choices = [{"message": {"content": "half"}, "finish_reason": reason} for reason in ("error", "content_filter")]
    bodies = [{"error": {"message": "no"}}, *({"choices": [choice]} for choice in choices)]
    bench.server.add_faults([{"body": {**body, "usage": USAGE}} for body in bodies])
    done = told(bench.run(*PRICE, "--model-concurrency", "1", code=0).stdout)
    assert bench.asked() == 12, "nine are answered, the filtered one is not asked for again"
    assert "Cost: $0.0288" in done
    info = json.loads((bench.out / "run.json").read_text())
    assert info["usage"]["total"]["model"]["calls"] == 9, "answers are counted apart"
    stopped = bench.run(*PRICE, "--budget", "0.029", code=3)
    assert "--budget 0.029: $0.0288 are spent" in stopped.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--budget", "1"), "nobody tells the price of openai:m; add --price openai:m=IN,OUT"),
        (("--budget", "0"), "must be above 0"),
        (("--price", "openai:m=2"), "write it as MODEL=IN,OUT"),
        (("--price", "openai:m=2,-1"), "prices are numbers from 0 on"),
        (("--price", "openai:m=2,nan"), "prices are numbers from 0 on"),
    ],
)  # fmt: skip
def test_what_is_no_price_or_budget(bench: Bench, flags: tuple[str, ...], message: str) -> None:
    assert message in bench.run(*flags, code=2).stderr
    assert bench.asked() == 0


@pytest.mark.parametrize(
    ("row", "name", "expected"),
    [
        ({"id": "a/m", "pricing": {"prompt": "0.000002", "completion": "0.00001", "input_cache_read": "0.0000005"}}, "a/m", (2, 10, 0.5)),
        ({"id": "a/m", "pricing": {"input": 2, "output": 10}}, "a/m", (2, 10, 2)),
        ({"id": "a/m", "providers": [{"provider": "t", "pricing": {"input": 3, "output": 9}}]}, "a/m:t", (3, 9, 3)),
        ({"id": "a/m", "providers": [{"provider": "t", "pricing": {"input": 3, "output": 9}}]}, "a/m", None),
        ({"id": "a/m", "pricing": {"prompt": "-1", "completion": "-1"}}, "a/m", None),
        ({"id": "a/m", "pricing": {"prompt": "free"}}, "a/m", None),
        ({"id": "another", "pricing": {"input": 2, "output": 10}}, "a/m", None),
        ({"id": "a/m"}, "a/m", None),
        ("no row", "a/m", None),
    ],
)  # fmt: skip
def test_prices_that_servers_list(row: Any, name: str, expected: tuple[float, float, float] | None) -> None:
    price = listed_price({"object": "list", "data": [row]}, name, "2026-11-20")
    assert price == (expected and Price(*map(pytest.approx, expected), "2026-11-20", "listed by the server"))


def test_a_price_without_one_for_cached_input_is_that_of_all_input() -> None:
    price = Prices(["m=2,10"]).of("openai:m")
    assert price
    assert price.of(PaidTokens(1_000_000, 100_000, 500_000)) == 3
    with pytest.raises(UserError, match="--price"):
        Prices(["2,10"])
