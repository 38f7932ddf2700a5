"""FlexBench and FlexEval (paper 001): one instruction becomes a benchmark of dimensions and simulated conversations.

`samples/` holds three files written for this project. `instructions.jsonl`: three branching procedures of the kind and
length of the paper's Table 5, and six short single-turn instructions. `dimensions.jsonl`: what must be checked. The
dimensions of one instruction with the same `precondition_group` form a group: the one without `precondition` is the
base action, the others are its branches (section 4.1). `conversations.jsonl`: simulated conversations with a verdict
for every dimension of the instruction; `target_dimensions` are those that apply, which is all without precondition and
those whose precondition is met (section 3.1, equation 2). A verdict is `unknown` when the dimension does not apply or
the step is never reached, so a skipped base action lowers Coverage; `no` means carried out wrongly, or left out by the
assistant although a precondition was met.
"""
