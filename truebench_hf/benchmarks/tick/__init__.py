"""TICK and STICK (paper 004): checklists of yes/no questions made for one instruction, and what they are good for.

`checklists_mini.jsonl` holds 24 instructions written for this project, each with two responses, one checklist, the
answers to it for both responses and a preference on the 1 to 5 scale (1 = response A much better, 3 = tie, 5 =
response B much better). Questions are in English whatever the language of the instruction, and yes is always good. The
rating follows from the pass rates: 3 when they are equal, 1 or 5 when they differ by a half or more, else 2 or 4.
"""
