"""From the text of a criterion to the rules that it states."""
