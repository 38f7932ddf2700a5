from truebench_hf.report.figures import *  # noqa: F403
from truebench_hf.report.figures import Figure as Section  # noqa: F401
