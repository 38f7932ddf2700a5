"""The command `truebench`, as a process of its own: signals are taken care of before anything else is loaded."""

from __future__ import annotations

from collections.abc import Callable

from truebench_hf.cli.signals import Signals


def main(run: Callable[[], None] | None = None) -> None:
    """Run the command, by default `truebench`.

    A signal that ends it is one line on stderr, and 128 and its number the exit code.
    """
    with Signals() as signals:
        command = run or _truebench()
        signals.interrupt()
        try:
            command()
        finally:
            if signals.number is not None:  # whatever has come of it
                signals.end()


def _truebench() -> Callable[[], None]:
    from truebench_hf.cli.app import run

    return run


if __name__ == "__main__":
    main()
