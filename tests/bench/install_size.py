"""Megabytes of what is installed: the base, and what each extra adds. `python -m tests.bench.install_size`.

By the requirements of what is installed here, so that nothing is fetched; an extra of which something is missing says so.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement


def closure(name: str, extras: frozenset[str] = frozenset()) -> tuple[set[str], set[str]]:
    """The distributions that one needs with some extras, itself too: (those that are here, those that are not)."""
    here, missing, waiting = set[str](), set[str](), [(name, extras)]
    seen = set[tuple[str, frozenset[str]]]()
    while waiting:
        one = name, extras = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        here.add(name.lower().replace("_", "-"))
        for line in found.requires or ():
            needed = Requirement(line)
            if any(needed.marker is None or needed.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append((needed.name, frozenset(needed.extras)))
    return here, missing


def size(name: str) -> float:
    """Megabytes of a distribution's files, as `pip` listed them."""
    found = distribution(name)
    paths = (Path(str(found.locate_file(file))) for file in found.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    base, _ = closure("truebench-hf")
    print(f"base: {sum(map(size, base)):.0f} MB in {len(base)} distributions")
    for name in sorted(base, key=size, reverse=True)[:12]:
        print(f"  {name}: {size(name):.0f}")
    for extra in sorted(distribution("truebench-hf").metadata.get_all("Provides-Extra") or ()):
        whole, missing = closure("truebench-hf", frozenset({extra}))
        lacking = f" (not here: {', '.join(sorted(missing))})" if missing else ""
        print(f"{extra}: {sum(map(size, whole - base)):.0f} MB more{lacking}")


if __name__ == "__main__":
    main()
