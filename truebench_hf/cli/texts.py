"""What `--help` tells below the options of a command: what no option by itself can say. A paragraph is a line there."""

from __future__ import annotations

from truebench_hf.models.spec import SPECS

_ROWS = (
    "Rows of one's own have prompt, messages or turns, and criteria (or rubric, rubrics, checklist): texts, or objects "
    "with text and weight; id, language, category, task, system, context and reference are optional. More in README.md."
)

_SPECS = "A SPEC says where text comes from: " + "; ".join(f"{spec} ({what})" for spec, what in SPECS.items()) + "."

ARGUMENTS = {
    "smollm2, hf: and reward:": ("revision", "dtype", "device", "batch_size", "chat_template_kwargs"),
    "vllm:": (
        "revision", "dtype", "quantization", "max_model_len", "gpu_memory_utilization", "kv_cache_gib",
        "tensor_parallel_size", "enforce_eager", "prefix_caching", "chat_template_kwargs",
    ),
    "hf-classifier:": (
        "revision", "dtype", "device", "batch_size", "supported_label", "window", "overlap", "joined",
    ),
    "openai:": (
        "base_url", "api_key_env", "timeout", "connect_timeout", "attempts", "deadline", "chat_template_kwargs",
        "extra_body", "reasoning_effort", "omit", "decisions",
    ),
    "scripted:": ("record",),
}  # fmt: skip

_ARGUMENTS = (
    "What k=v may set: "
    + "; ".join(f"{spec} {', '.join(names)}" for spec, names in ARGUMENTS.items())
    + ". Objects are "
    """written as JSON: chat_template_kwargs={"enable_thinking": false}. omit=temperature,top_p leaves out what a """
    "server refuses. A call may take half an hour, with all its tries an hour (timeout and deadline, in seconds)."
)

_KEYS = (
    "Keys come from OPENAI_API_KEY, or the variable that api_key_env names. A base URL may hold a login and a query "
    "(https://user:password@host/v1?token=..., percent-encoded where needed): the login goes as Basic authorization, and "
    "no key beside it. Neither keys nor logins are written down, and a folder goes on after they were changed."
)

_GOING_ON = (
    "However it ended, the same command goes on where it was, and no finished call is made twice. What lies in the "
    "folder, and what ties it to its options: examples/run_folder.md."
)

_CHECKLISTS = (
    "Instructions are rows with prompt or messages (the last message is the instruction); rows with several turns to be "
    "answered are left out and counted. A checklist comes from --checklists, else from the criteria of the row, else from "
    "the --generator, which sees no response. checklists.jsonl is yours to edit: give it back by --checklists, or as --data of "
    "`truebench run`. One that was edited is never written over: a command that does not use it stops."
)

_EDITING = "checklists.jsonl can be edited, and given back by --checklists; one that was edited is never written over."

_QUESTIONS = "--judge-level: rubric (one question a call, with reasons) or decision (probabilities)."

_MODELS = f"{_SPECS}\n\n{_ARGUMENTS}\n\n{_KEYS}"

_PANEL = (
    "With a panel (--judge A --judge B --judge C --panel majority), or several --votes of one judge, every verdict keeps "
    "its votes and the share that agrees; flip rate and mean share stand in the report."
)

_SAMPLES = (
    "With --samples N scores are means over the samples of each instance, and n counts instances; any of k (pass@k) and all "
    "of k (pass^k) stand beside them. An undecided sample is left out of the mean; it leaves any and all of k unscored "
    "unless the others settle them."
)

_EXIT = (
    "Exit codes: 0 done; 2 something for you to put right, said in one line; 3 instances left unscored; 130, 143 or 129 "
    "stopped by Ctrl-C, SIGTERM or SIGHUP."
)

TEXTS = {
    "export": "every-eval-ever (0.3) writes OUT/data/KIND/DEVELOPER/MODEL: a JSON with one result per score (judges, prompt, "
    "interval), and a JSONL with a record per response and per criterion; what is undecided has no record there, which says "
    "yes or no, and is counted. inspect writes a .eval log with conversations, verdicts and reasons for `inspect view` (needs "
    "inspect-ai). verifiers writes a rubric file per prompt and tasks.jsonl with rewards. csv and parquet write scores and "
    "verdicts. Of studies that do not score responses one by one (metaeval, say) there are scores alone. Local paths, "
    "addresses and keys are taken out.",
    "run": f"{_ROWS}\n\n{_MODELS}\n\n{_SAMPLES}\n\n{_PANEL}\n\n{_EXIT}\n\n{_GOING_ON}",
    "generate": f"{_ROWS}\n\n{_MODELS}\n\nExit code 3: answers failed; the same command asks for them again.\n\n{_GOING_ON}",
    "judge": f"{_MODELS}\n\n{_PANEL}\n\n{_EXIT}\n\n{_GOING_ON}",
    "validate": "Before any response is judged, a model looks at every instance with its criteria: a criterion that is wrong "
    "(E1), one that goes too far (E2), a condition that none covers (E3), and, without making FAIL, several conditions in one "
    "criterion. It proposes a change for each; worklist.csv opens in a spreadsheet. An answer whose verdict does not follow "
    "from what it lists is asked again, then undecided. --stage prompt asks whether instructions belong to the productivity "
    "domain, match their task, and are clear; it needs no criteria. Whether checklists and those who answer them can be "
    "trusted is another question: `truebench checklist validate`.\n\n"
    "--ablation measures the validator: of the data (v0.6.1, or a file of it) 150 rows are taken as they are, and 50 each "
    "get a number, language or keyword altered (E1), a demand on the form added (E2), a criterion removed (E3), by --seed. "
    "They are asked about under all 8 sets of aspects: 2,400 calls.\n\n"
    f"{_ROWS}\n\n{_MODELS}\n\nExit code 3: instances are undecided.\n\n{_GOING_ON}",
    "rules": "Phrases of twelve languages tell what criteria say of lengths, languages and formats; a --model reads the others, and every "
    "number, text and language of a rule that it names must stand in the criterion. data.jsonl holds the rows with a field "
    "rule where there is one: check and edit them, and give them to any command as --data. One rule (or a list) decides its "
    "criterion with --rules decide; {\"beside\": [...]} is only measured for judges, and {\"beside\": []} says that no program "
    "is to look at it. Nothing is written over data.jsonl once it was edited: take another --out. --show prints the "
    "kinds of rules.",
    "refine-criteria": "One command, repeated with what people filled in. First: responses are made (--model) or taken over "
    "(--responses) and judged, and OUT/sheets asks people, who see no criteria, whether each passes. With --human: where people and "
    "judge differ OUT/worklist.csv (and worklist.html, a form of it) asks why. A bad response passes by a criterion that is unclear, or for "
    "want of one that is missing; a good one fails by one that is too strict. Fill in kind, criterion (its number) and new text (the "
    "word remove takes the criterion away), or new prompt; keep leaves all as it is. With --revisions: only changed instances are judged again, "
    "the validator looks at them, and what is open makes the next work list; accept takes the validator's proposal. A row may be "
    "copied, for a second change. What is revised or split keeps its condition and points; what is added has one point. Other "
    "--responses make it another study: gather those of all models first. A revised prompt is answered anew by --model, on new sheets; --responses to it no longer count.\n\n"
    "criteria_history.jsonl has every version of every criterion, data.jsonl the data as it stands: `truebench run --data "
    "OUT/data.jsonl`. Kappa of judge and people stands before and after every round, on the responses that the criteria were "
    "refined on.\n\n"
    f"{_ROWS}\n\n{_MODELS}\n\nExit code 3: responses were not judged, or instances not validated.\n\n{_GOING_ON}",
    "metaeval": "Five paradigms are compared: a checklist or a rubric a call, each with or without reasoning, and "
    "decision. Measured are balanced accuracy and more, by category, type, dimension and language, with intervals "
    "clustered by instruction, the paper's tables beside. Overall, the mean of the four categories, stands only where "
    "all four are there. Judges and paradigms may be added to a folder, while a panel stays as it was.\n\n"
    "--attacks: injections (fake verdicts, closing tags, role tokens, encoded text and more, in six languages) are appended to "
    "responses, and the unmet rubrics that a judge had said no to are judged again: how many turn to yes, by technique, "
    "beside neutral texts of equal length. --prompt shows what another prompt changes about it.\n\n"
    f"{_MODELS}\n\n{_GOING_ON}",
    "calibrate": "Temperature, Platt or isotonic calibration and a threshold are fitted, cross-fitted by instruction. "
    "With a --cascade-judge every threshold and band is priced, and each judge alone, in tokens per response (in calls "
    "where a judge reports none). The band that pays is named, or that none does, with a figure from instructions that "
    "had no say in the choice. `run --judge-level cascade --calibration` takes that band for the cascade judge it was "
    f"priced with, and no other.\n\n{_MODELS}\n\n{_GOING_ON}",
    "distil": "A run's verdicts are paid for: a small model can learn them. RUNS are finished folders of run, judge, tick and "
    "checklist score, whose judge may have been asked in any way; each of its verdicts becomes the question that a decision "
    "judge is asked about the same response, to the token, with yes or no as the answer. Verdicts that are None teach "
    "nothing, nor do those that rules gave: with --rules decide (as in `run`) no judge is asked about them. Instructions that share an id or any "
    "user's message stay on one side. LoRA (peft, trl) trains the base, and OUT holds the merged weights with their "
    "tokenizer, which load without either: --judge hf:OUT --judge-level decision --calibration OUT, or first in a cascade.\n\n"
    "What is measured here is agreement with the teacher on held-out instructions. How often both are right: "
    "`truebench metaeval --data rubric_mini --judge hf:OUT --judge TEACHER --paradigms decision`; a teacher without "
    "probabilities in a folder of its own, both by `truebench leaderboard FOLDERS --kind metaeval`. What a cascade of them "
    "costs, and the band for it: `truebench calibrate --data rubric_mini --judge hf:OUT --cascade-judge TEACHER`.\n\n"
    "It wants thousands of verdicts and a base of a billion parameters or more on a GPU; SmolLM2-135M shows the workflow. See "
    "whether the terms of the teacher allow training on what it writes. To publish the judge, upload config, weights and "
    "tokenizer, never the whole folder: its ledger holds your data.\n\n"
    "A training that was stopped begins anew, with the same seed; once done it is never repeated, and the folder is tied to "
    f"it.\n\n{_MODELS}\n\n{_GOING_ON}",
    "arbitrate": "The funnel: a coarse pass over whole checklists (what all judges agree on is dropped as too easy), a "
    "fine pass rubric by rubric (agreement: easy), then meta-judges who read the reasons (agreement: hard). Held against "
    "--reference, ties and what else is undecided count as wrong; the accuracy of decided rubrics stands beside. "
    f"`truebench arbitrate-sheets` takes a sample to people.\n\n{_MODELS}\n\n{_GOING_ON}",
    "pairwise": "A pair is a row with an instruction (prompt, instruction, question, input or messages), two responses "
    "(response_a and response_b, output_1 and output_2, chosen and rejected ...), and which is preferred: label (A, B, tie, "
    "1, 2, A>B ...) or ratings from 1 (A much better) to 5 (B much better), whose mean is a win of A below 2.5 and of B above "
    "3.5, a tie between. Files of LLMBar and JudgeBench are read as they are, with JudgeBench's recorded judgments.\n\n"
    "preference compares the two in both orders (--orders single: in one), and what hangs on the order is a tie. direct rates each from 1 to 5, "
    "check-then-score does so with the checklist in the prompt, tick answers the checklist question by question and takes the "
    "higher pass rate; equal scores are a tie. Checklists come from --checklists, the data, --generator, or the judge itself (of several the first, for all).\n\n"
    f"{_EDITING} {_QUESTIONS}\n\n"
    "A file for --recorded has rows with id, judge, protocol and prediction, or as_given and swapped (what was said with "
    "response A shown first, and with B first); they name responses as the data does. pairs.jsonl of another study is one.\n\n"
    f"{_MODELS}\n\n{_GOING_ON}",
    "compare-criteria": "Types: mt-bench (1 to 10, no criteria), flask (the skills of the category, 1 to 5; the score is the mean "
    "over skills, the judge's own final score stands beside), biggen (1 to 5 on the criteria, one final score), checklist (as "
    "`truebench run` judges). None sees a reference answer. A response of several turns is rated as a whole.\n\n"
    "`truebench compare-criteria-sheets OUT` writes sheets for raters, who see no criteria; --humans reads them back. The majority "
    "counts; a tie, or an answer that a rater left out, leaves a response open. Kappa of ratings: the threshold is chosen on one half of the "
    "instances and measured on the other, in both directions. Then saturation, spread between models, and cost.\n\n"
    "Models, types and sheets may be added to a folder. Other --responses make it another study.\n\n"
    f"{_MODELS}\n\nExit code 3: responses were left open.\n\n{_GOING_ON}",
    "compare-criteria-sheets": "A CSV and a form for the browser for each rater, pass or fail. The sheets hold prompt and responses: "
    "no criteria, no reference, no model, and the responses to one prompt together. The paper has three raters.",
    "checklist categories": "A question may belong to several categories. The model is held against what all annotators "
    f"of a question named, if the data has annotators. Pass rates need answers: of people, or recorded ones of judges.\n\n{_MODELS}\n\n"
    f"Exit code 3: questions have no readable categories.\n\n{_GOING_ON}",
    "checklist sheets": "A CSV and a form for the browser each. Neither tells which model wrote a response; which of two is "
    "A goes by lot. check-then-score asks every question of a checklist, then a score, then whether the checklist made "
    "scoring easier, harder, or neither.",
    "checklist read-sheets": "Every kind of sheet is known by its questions, and several may be read at once. Written "
    "checklists are rows' alternatives: mark the best one of a row `chosen` by hand. Without sheets the agreement of what "
    "the data holds is shown.",
    "checklist validate": "(What is wrong with criteria one by one: `truebench validate`.) Each generator writes --runs checklists for an instruction; they and those of other people are "
    "held against the chosen one: words, length, and the pass rates they lead to. Judges answer directly and with "
    "reasoning, --votes times, what people answered. Rows that hold all this need no model; rows.jsonl are such. "
    f"{_QUESTIONS}\n\n"
    f"{_MODELS}\n\nExit code 3: checklists were not written.\n\n{_GOING_ON}",
    "contrast": "What meets a rubric is rewritten to break it, and the other way round. A pair is kept when the judge "
    f"confirms both texts, and that no other rubric changed.\n\n{_MODELS}\n\n{_GOING_ON}",
    "best-of": "All scoring functions select among the same answers, and keep all that share the top score. Beside them "
    "stand the greedy answer, a random pick and the best possible. With --outside drfr or rating the criteria of the data "
    "are for the outside judge alone. Conversations of several turns are left out, and counted. A reward model's options "
    f"go by --reward-arg.\n\n{_EDITING} {_QUESTIONS}\n\n"
    f"{_MODELS}\n\n{_EXIT}\n\n{_GOING_ON}",
    "refine": "One checklist per instruction, written without a look at any response, serves all iterations: the model "
    "answers each question on its present version, then rewrites it. It ends where all are YES. --critique free is the "
    "baseline, a critique in prose. With --outside drfr or rating the criteria of the data are for the outside judge alone, "
    "and the model's checklist is always a written one. Conversations of several turns are left out, and counted.\n\n"
    f"{_EDITING} {_QUESTIONS}\n\n"
    f"{_MODELS}\n\n{_EXIT}\n\n{_GOING_ON}",
    "taxonomy": "Labelled rows that had no type are written back with theirs. Without a model the types that the data "
    f"knows are charted.\n\n{_MODELS}\n\n{_GOING_ON}",
    "flex build": "Segmentation, criteria, verification (and mending until complete), granularity, dependencies, logic. What "
    "a program can check it checks: segments are excerpts to the letter and do not overlap; numbers, names and scripts "
    "stand in the segments that a dimension cites; nothing is asked twice; branches rest on dimensions that are there, in "
    "no circle. What fails is told to the builder and asked again.\n\n"
    "procedure.yaml can be edited; flex simulate and flex score read it. stages.jsonl keeps what every stage gave.\n\n"
    f"Exit code 3: an instruction stopped before the end, told with stage and reason.\n\n{_MODELS}\n\n{_GOING_ON}",
    "flex profiles": "Users are graded for cooperativeness, 1 to 5; conversations of one grade make one kind of user. "
    f"profiles.json can be edited, and goes to flex simulate by --profiles.\n\n{_MODELS}\n\n{_GOING_ON}",
    "flex simulate": "Five kinds of users, from uncooperative to helpful, are fitted to the instruction by its text alone: what "
    "plays them never sees the dimensions, and everything it is told is kept in users.json and searched for them. A "
    "conversation begins with the instruction's opening line, else with the user; it ends when the user takes leave, when "
    "the assistant closes, or after --turns rounds. With --turns 1 the instruction itself is the one message. Other models "
    f"in the same folder get the same users and draws, so that their scores are compared pair by pair.\n\n{_MODELS}\n\n"
    f"{_GOING_ON}",
    "flex score": "For each dimension and conversation the judge states three facts with the message that shows them: "
    "whether it applies, was attempted, is correct. They make the verdict: what does not apply is unknown; a base action "
    "that was skipped is unknown (not attempted), never no; a branch that was left out although its condition held is no. "
    "Two branches that exclude each other and were both found are asked again, then reported as a conflict.\n\n"
    "--conversations takes people's logs: rows with messages, whose roles may be user, human or customer, and assistant, "
    f"ai, gpt, bot or agent.\n\n{_MODELS}\n\n{_GOING_ON}",
    "flex decompose": "Instructions are matched by id, else by text; those of one side alone are listed. Every human question "
    "gets the nearest of our dimensions for a partner, and beside that each at most one: sentence cosine and ROUGE-L of "
    "partners, with --bertscore BERTScore, numbers of dimensions, and the instructions on which both sides differ most. A "
    "--judge compares both lists on six criteria and overall, with either list first; what hangs on the order is a tie.\n\n"
    "flex build takes the same SOURCE:PATH (of infobench the hard set is compared).\n\n"
    f"Exit code 3: on some instructions the judge is undecided.\n\n{_MODELS}\n\n{_GOING_ON}",
    "tick": f"{_CHECKLISTS}\n\nPer model: mean pass rate (the share of a response's questions answered YES) and DRFR (of "
    "all questions), with intervals; for every two models wins, ties and losses by pass rate on each instruction. A "
    "question without an answer is open, with its reason: its response has no pass rate, and is counted. Models may be "
    f"added to a folder. {_QUESTIONS}\n\n{_SAMPLES}\n\n{_MODELS}\n\n{_EXIT}"
    f"\n\n{_GOING_ON}",
    "checklist generate": "For --data or a single --instruction: an analysis first, then YES/NO questions, where YES is "
    "good, of what is stated and of what goes without saying. Mostly two to eight: fewer and more are counted, never cut. "
    "Exit code 3: instructions are left without a checklist, with reasons; the same command goes on, --checklists FILE "
    f"--model OTHER asks another model for what FILE lacks.\n\n{_MODELS}\n\n{_GOING_ON}",
    "checklist score": f"{_CHECKLISTS}\n\nResponses stand in the rows of the data (response, output, completion or answer, "
    "and model; rows that differ in nothing else are one instruction), or in files by --responses. checklists_mini has "
    "both checklists and responses. Per response the share of questions answered YES, over all their mean and DRFR; "
    f"--votes k with --judge-temperature is maj@k. {_QUESTIONS}\n\n{_MODELS}\n\n{_EXIT}\n\n{_GOING_ON}",
    "facts run": "Rows of one's own have a request (or question, query, user_input, prompt) and a document (or context), or "
    "passages (contexts, retrieved_contexts, documents: texts, or objects with id and text); id, system, language, domain, "
    "task, context_tokens, split, baseline and reference are optional. Answers that retrieval has logged may hold all of it "
    "in their rows.\n\n"
    "An answer is grounded when everything it claims rests on system instruction, document and request together. It is "
    "ineligible when every judge finds major issues in following the request, beside a baseline answer; then it counts as "
    "inaccurate. What a judge leaves open is counted, never inaccurate, and disqualifies nothing. A prompt that does not "
    "fit the window of a model or judge is told with the numbers; nothing is cut. Judges may be added to a folder.\n\n"
    f"{_SAMPLES}\n\n{_MODELS}\n\n"
    "Exit codes: 0 done; 1 the final score (mean over judges) is below --fail-under; 2 something for you to put right, "
    "said in one line; 3 answers left undecided, unless --allow-unscored; 130, 143 or 129 stopped by Ctrl-C, SIGTERM or "
    f"SIGHUP.\n\n{_GOING_ON}",
    "facts select-template": "A labelled row has the columns of `facts run` data, response (or answer), and accurate, eligible or "
    "both: yes or no, blank where nobody said. Eligibility is asked about where there is a baseline answer. sentences (a list "
    "of text and grounded) or ungrounded_sentences label parts of the answer.\n\n"
    "For each judge the template with the highest macro F1 is chosen, undecided answers counting as wrong. How well the "
    "chosen ones agree on answers that had no say in it stands beside, and a winner that the labels do not tell from the "
    "runner-up is marked. templates.json holds the choice, and for hf-classifier: judges a calibrator and a threshold: "
    "`truebench facts run --template OUT/templates.json` asks the judges so.\n\n"
    f"{_MODELS}\n\n{_GOING_ON}",
    "facts classify": "A model sorts every prompt into the domains (finance, technology, retail, medical, legal, other) and tasks "
    "(question answering, summary, rewriting, other) that the paper names. classified.jsonl holds the rows for `facts run "
    "--data`, whose tables then mark what was classified. What the data knows itself is kept, and the model is held against "
    f"it.\n\n{_MODELS}\n\nExit code 3: prompts are unsorted.\n\n{_GOING_ON}",
    "facts rank": "Runs are joined where judges, templates, prompts and baseline are the same, and the documents of a split; what "
    "differs is said in one line. A model's splits may lie in several folders. The fused rank is Condorcet's: of two models "
    "the one that is ahead in more of the rankings (one per judge and split) stands above; ties go by the mean score, and "
    "models that beat each other in a ring are ordered by Schulze's method and named.\n\n"
    "Self-preference: points a judge gives its own model beyond the mean of the other judges, less the same for all other "
    "models.",
    "score": "--protocol official prints the official tables by the official pass rule. Where that rule gives another "
    "number than ours, every report states both. Rows of several models or judges are reported apart.\n\n"
    "Scores of others in Every Eval Ever (a JSON file, a folder with data/, or a folder in that) are shown as they "
    "tell them; with --out FOLDER boards show them, too (`truebench leaderboard --runs FOLDER --kind KIND`, the Space), marked as theirs and never ranked "
    "with what was measured here.\n\n"
    "Exit code 3: instances are unscored, unless --allow-unscored.",
    "compare": "Runs of `run` and `judge`, `facts run`, `tick` and `checklist score` are compared instance by instance, where "
    "both ask the same. Other data, another judge or another way of judging are said first: then the difference is not one "
    "of the models alone. report.html of --out shows the instances that flipped with both answers side by side (of more than "
    "a thousand the greatest differences in either direction); flips.csv holds all of them, compare.json the figures. A "
    "folder is read again for what it shows, and no text is held meanwhile.",
    "leaderboard": "Only runs with the same data, judge, level and protocol are ranked together. A rank spans from 1 + the "
    "models surely better to N - the models surely worse, compared instance by instance. Published results have no instances: "
    "they are ranked among themselves by the intervals of their totals, marked as approximate. Languages are shown again at "
    "the mix of categories that all of them have. --out gets report.html, leaderboard.csv and leaderboard.json.",
    "correlate": "A table (CSV, JSON, JSONL, Parquet) has a column of models and one or more of numbers. Of TRUEBench's run "
    "folders the hard score and both soft ones are taken; `published` stands for the paper's Table 5. A model is the same "
    "where its name is, without its provider (openai:, hf:, ORG/); the others are listed, nothing is guessed. --out gets "
    "report.html with scatter plots, correlate.json and models.csv.",
    "rescue": "A command that finds its ledger damaged names this one. Every answer that is whole goes into a new ledger; the "
    "damaged file stays beside it. A run.json that is lost or torn is made again from its copy in the ledger. Then repeat the "
    "command of the run: it asks for what was lost, and for nothing else. Stopped, it is gone on with by the next call.",
    "label sample": "The sample is stratified by verdict, undecided ones included, and of whole instances, of which one "
    "no settles the rest. It is kept in the run's sample.json, with how the labels will be weighed (probabilities or "
    "votes of the judge sharpen the estimate, PPI++). A larger --n holds the smaller sample; --unlabelled asks only for "
    "what is not settled, half-answered instances included.",
    "label read": "The report then gives the share of instances that truly pass, with its interval, how many labels of a "
    "simple random sample that is worth, and the labels alone. Where more than 5 % of what people began is open (half "
    "answered, or tied between annotators) bounds stand in place of a figure; an adjudicator settles ties (--decisions). "
    "Annotators may be read one after the other; a blank replaces no answer.\n\n"
    "Labels of another run (--labels) correct this one only if model and judge are the same (Rogan-Gladen, with a "
    "guard); of another model they show the judge's error rates and correct nothing. `truebench score RUN` prints the "
    "same.",
    "publish results": "A results data set takes runs with all their judgments, and of every other finished study that "
    "measures something the figures, without rows. The scores of each model stand there as results/MODEL/REVISION/TASK.json, "
    "with who ran it beside the revision; each once, unless --replace puts this run in the place of another. A model's page takes a run over the whole of a known release (v0.6.1), "
    "which gives a score for every task of its eval.yaml, or over one `--language` or `--category` of it, which gives that "
    "task's; never mini or a sample.\n\n"
    "Folders, addresses and keys are taken out of what is published. `truebench_hf.publish_results(...)` does the same in "
    "Python, as `build_data`, `push_data`, `check_results`, `publish_space` and `publish_metric` do for their commands.",
    "publish check": "All in results/ is made again from the runs and compared, scores of runs with judgments are computed "
    "again, and a run over a whole release needs a score for every language and category. Each fault is a line on stderr; "
    "with any the exit code is 1, so that it may stand in the CI of the data set: `truebench publish check . --before "
    "ORG/RESULTS` on a pull request.",
}  # fmt: skip
