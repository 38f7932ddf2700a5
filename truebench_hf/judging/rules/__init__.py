"""Rules: what programs measure of a response, and what follows of it for a criterion (schema: `truebench_hf.rules`).

    criterion ---- reading.criteria.found ----> rules, and whether they are all that it says
    response ----- measuring.answers.answer --> what of it may count as the answer
    a rule on it - measuring.measure.measure -> figures, and met, not met or open
    a case ------- deciding.ruled ------------> verdicts where nothing is open, figures for a judge elsewhere

`reading`: from the text of a criterion to rules. `criteria` goes through its sentences; `normalized` makes the text ready,
`clauses` tells of what a clause speaks, `amounts` what a number binds; `quantities`, `languages`, `formats` and `wording`
know the clauses of one kind each. `extraction` asks a model instead, and `extraction_check` holds its rules against the
text word for word. A rule that is stored with the criterion wins over all of it.

`measuring`: from a rule and a response to figures. `answers` tells what of a response may count as the answer (without
the `remarks` around it), `ranges` how many there are in every way to count, `outcomes` what all of them say. A module for
each kind of thing does the rest: `counting` (`words`, `characters`, `sentences`, `lines`), `languages` (`detection`),
`wording`, `data_formats`, `markdown`, `order`.

A rule decides only where every reading of the criterion, of the answer and of the count agrees; else it is evidence.
"""
