"""What kinds of rubrics there are: sorted by a model into the 13 types, counted, and drawn (RubricEval section 3.5)."""
