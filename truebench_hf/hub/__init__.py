"""Results, data sets, metrics and the Space on the Hub."""
