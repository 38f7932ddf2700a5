"""`truebench data rules`: which criteria of some data a program can decide or measure, as rows that people check."""
