"""Contrast pairs: minimal edits that turn one rubric over (RubricEval appendix D)."""
