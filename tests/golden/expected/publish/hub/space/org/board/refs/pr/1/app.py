"""The Space. All of it is in the library: see `truebench_hf.space`."""

from __future__ import annotations

from contextlib import suppress

from truebench_hf.space.app import serve
from truebench_hf.space.options import from_environment

if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        serve(from_environment())
