"""How far judges can be trusted, measured on labelled rubrics."""
