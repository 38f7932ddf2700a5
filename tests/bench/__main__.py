"""All benchmarks, one after the other: `make bench`, or `make bench DATA=FILE` with TRUEBench's release as a file."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.bench import first_page, growth, local_judging, saturation, whole_runs

data = Path(sys.argv[1]) if sys.argv[1:] else None
whole_runs.main(data)
saturation.main(data)
growth.main()
local_judging.main()
first_page.main()
