"""TICK and STICK (paper 004): checklists of yes/no questions made for one instruction, and what they are good for.

`checklists_mini.jsonl` holds 28 instructions written for this project, in the form that `data/checklist_rows.py` reads: each with two
responses, a chosen checklist whose questions are yes when all is well, the answers to it and a preference. Half of them
also have other checklists, three annotators, their scores with and without a checklist, and a constructed judge.
"""
