"""Rules: what programs measure of a response, and what follows of it for a criterion (schema: `truebench_hf.data.rules`).

    criterion ---- deciding.rules_of -> rules, and whether they are all that it says: the field `rule`, else `known.jsonl`
                                        (the SHA-256 of its text: its rule, read by people), else its words (`matching`)
    response ----- counting.answer ---> what of it may count as the answer
    a rule on it - measuring.measure -> figures, and met, not met or open (`counting`, `languages`)
    a case ------- deciding.ruled ----> verdicts where nothing is open, figures for a judge elsewhere

`extraction` asks a model for the rules of a criterion and holds them against its words. Words are data: `words.yaml` of
answers; of criteria `phrases/*.yaml`, and `phrases/rules.yaml` what they state together.
"""
