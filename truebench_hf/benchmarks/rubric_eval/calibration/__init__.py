"""Calibrating a decision judge on labelled rubrics, and the cascade behind it."""
