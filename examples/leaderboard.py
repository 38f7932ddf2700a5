"""A leaderboard of one's own runs: each model on the built-in sample, in a folder of its own. Repeated, it goes on."""

import truebench_hf

MODELS = ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"]

reports = {
    name: truebench_hf.run(data="mini", limit=12, model=f"openai:{name}", judge="openai:gpt-4.1", out=f"runs/{name}")
    for name in MODELS
}
for name, report in sorted(reports.items(), key=lambda item: -(item[1].scores["overall"].value or 0)):
    overall = report.scores["overall"]
    print(f"{name:20} {100 * (overall.value or 0):6.2f} %  of {overall.n} instances, {overall.unscored} not judged")

# With ranks, intervals, categories and every verdict to look at:  truebench space --runs runs
