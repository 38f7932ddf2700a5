"""`python -m tests.golden --renew [CASE...]`: play the cases and put what they give in place of what was expected."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    if "--renew" not in sys.argv:
        sys.exit(__doc__)
    names = [word for word in sys.argv[1:] if word != "--renew"]
    os.environ["GOLDEN"] = "renew"
    here = [str(Path(__file__).parent / name) for name in ("test_golden.py", "test_surfaces.py")]
    chosen = ["-k", " or ".join(f"[{name}]" for name in names)] if names else []
    sys.exit(pytest.main([*here, "-m", "slow or not slow", *chosen]))
