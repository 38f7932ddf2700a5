"""What a call costs where nothing else limits: 6,000 calls of 20 ms, 512 at a time, by us and by others, in one run.

`make bench`, or `python -m tests.bench.saturation [DATA]`. The others send what our run has sent, and do nothing with the
answers. Processor time says what a call costs on this side, whatever the server's process takes beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.bench import processes

_DELAY, _MANY, _REPEATS = 0.02, 512, 3
CLIENTS = ("aiohttp alone", "openai SDK, aiohttp")


def main(data: Path | None = None) -> None:
    """Print one table: who, seconds on the clock and of the processor for the calls, and the latter over the SDK's."""
    with tempfile.TemporaryDirectory() as name, processes.server(_DELAY) as url:
        folder = Path(name)
        data = data or processes.release_like(folder / "data.jsonl")
        sent = recorded(url, data, folder, _DELAY)
        rounds = [
            {
                "truebench": _ours(url, data, folder / f"run-{number}"),
                **{who: alone(who, url, sent, _MANY) for who in CLIENTS},
            }
            for number in range(_REPEATS)
        ]
        calls = len(sent.read_text(encoding="utf-8").splitlines())
    print(f"\nsaturation: {calls:,} calls of {_DELAY:g} s, {_MANY} at a time; whole: with start and reports")
    print(f"{'':<28}{'whole s':>9}{'calls s':>9}{'CPU s':>8}{'CPU ms a call':>15}{'over the SDK':>14}")
    found = {who: {key: statistics.median(r[who][key] for r in rounds) for key in rounds[0][who]} for who in rounds[0]}
    for who, of in found.items():
        ratio = of["cpu"] / found[CLIENTS[1]]["cpu"]
        print(
            f"{who:<28}{of['whole']:>9.2f}{of['wall']:>9.2f}{of['cpu']:>8.2f}{1000 * of['cpu'] / calls:>15.3f}{ratio:>14.2f}"
        )


def alone(who: str, url: str, sent: Path, many: int) -> dict[str, float]:
    """What one of `CLIENTS` takes, in seconds, to send these bodies, so many at a time: `wall`, `cpu`, and `whole`."""
    return _child(sent.parent, "client", who, url, sent, str(many))


def recorded(url: str, data: Path, folder: Path, delay: float) -> Path:
    """The bodies that a run sends, one a line; from then on the server takes `delay` seconds a call."""
    _post(url, "/settings", {"record": 100_000, "delay": 0})
    processes.timed(*processes.run(url, data, folder / "recorded", _MANY // 2))
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        bodies = json.load(answer)["bodies"]
    _post(url, "/settings", {"record": 0, "delay": delay})
    path = folder / "sent.jsonl"
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return path


def _post(url: str, path: str, value: object) -> None:
    urllib.request.urlopen(url.removesuffix("/v1") + path, data=json.dumps(value).encode()).close()


def _ours(url: str, data: Path, out: Path) -> dict[str, float]:
    return _child(out.parent, "ours", *processes.run(url, data, out, _MANY // 2)[2:])


def _child(folder: Path, *arguments: str | Path) -> dict[str, float]:
    told = folder / "told.json"
    whole = processes.timed("-m", "tests.bench.saturation", "--tell", told, "--child", *arguments).wall
    return json.loads(told.read_text(encoding="utf-8")) | {"whole": whole}


def _run_ours(arguments: list[str]) -> dict[str, float]:
    """The command, and what its calls take: from the first item begun to the last one done."""
    from truebench_hf.cli.app import whole
    from truebench_hf.study import study

    took: dict[str, float] = {}
    run_async = study.run_async

    def measured(work: Any) -> Any:
        took.update(_clock())
        try:
            return run_async(work)
        finally:
            took.update({name: now - took[name] for name, now in _clock().items()})

    study.run_async = measured
    whole()(arguments, standalone_mode=False)
    return took


def _clock() -> dict[str, float]:
    return {"wall": time.perf_counter(), "cpu": time.process_time()}


async def _client(who: str, url: str, sent: Path, many: int) -> dict[str, float]:
    bodies = [json.loads(line) for line in sent.read_text(encoding="utf-8").splitlines()]
    ask, close = await _asker(who, url, many)
    slots = asyncio.Semaphore(many)

    async def one(body: dict[str, Any]) -> None:
        async with slots:
            await ask(body)

    begun = _clock()
    await asyncio.gather(*map(one, bodies))
    took = {name: now - begun[name] for name, now in _clock().items()}
    await close()
    return took


async def _asker(
    who: str, url: str, many: int
) -> tuple[Callable[[dict[str, Any]], Awaitable[Any]], Callable[[], Awaitable[None]]]:
    if who == CLIENTS[0]:
        import aiohttp

        session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

        async def ask(body: dict[str, Any]) -> Any:
            async with session.post(f"{url}/chat/completions", json=body) as answer:
                return (await answer.json())["choices"][0]["message"]["content"]

        return ask, session.close
    import httpx2
    from openai import AsyncOpenAI, DefaultAioHttpClient

    transport = DefaultAioHttpClient(limits=httpx2.Limits(max_connections=many, max_keepalive_connections=many))
    client = AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=transport)

    async def create(body: dict[str, Any]) -> Any:
        return (await client.chat.completions.create(**body)).choices[0].message.content

    return create, client.close


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, help="the release as a file")
    parser.add_argument("--tell", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        kind, *rest = given.child
        told = (
            _run_ours(rest) if kind == "ours" else asyncio.run(_client(rest[0], rest[1], Path(rest[2]), int(rest[3])))
        )
        given.tell.write_text(json.dumps(told), encoding="utf-8")
    else:
        main(given.data)
