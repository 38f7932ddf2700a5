"""One run as a job on Hugging Face's machines, published before the machine and its disk go.

With `hf jobs uv run` as docs/hub.md shows. HF_TOKEN pays for the judge, who is asked through the router of Hugging Face, by
the provider that the spec pins; without `--repo-id` nothing is published.
"""

import argparse

import truebench_hf

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="v0.6.1")
parser.add_argument("--model", required=True)
parser.add_argument("--judge", default="openai:openai/gpt-oss-120b:cerebras")
parser.add_argument("--judge-base-url", default="https://router.huggingface.co/v1")
parser.add_argument("--repo-id", help="results data set: ORG/NAME")
parser.add_argument("--private", action="store_true", help="only ORG may see the results; needed for data of your own")
options = parser.parse_args()

report = truebench_hf.run(
    data=options.data,
    model=options.model,
    judge=options.judge,
    judge_base_url=options.judge_base_url,
    judge_arg=["api_key_env=HF_TOKEN"],
    out="run",
)
print(report.to_pandas())
if options.repo_id:
    for pushed in truebench_hf.publish_results("run", options.repo_id, private=options.private):
        print(pushed.url)
