"""Pure functions on verdicts: rates, intervals, agreement, ranks."""
