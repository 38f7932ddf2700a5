"""FACTS Grounding (paper 002): long-form answers that must rest on one document alone.

`mini.jsonl` holds 12 documents written for this project, each with a grounded answer, an ungrounded answer (a minimal
edit of the grounded one; the sentences that lost their support are listed with the reason) and an evasive answer
(grounded, but ineligible because it does not answer). `context_tokens` is the number of whitespace-separated words of
the document times 4/3, rounded: no tokenizer is needed, and for languages whose words are long, such as Korean or
German, it is an underestimate. `full_prompt` joins system instruction, document and request under three headings.
"""
