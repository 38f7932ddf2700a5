"""Questions to a judge, how its answers are read, and what a program can decide without one."""
