"""Data sets, metrics and publishing as Python calls them: errors speak of arguments, as commands they speak of flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from truebench_hf.errors import UserError, in_python
from truebench_hf.hub import publish, push, results
from truebench_hf.hub.push import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions
from truebench_hf.options import Options, as_call, option, pairs

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed
    from truebench_hf.loaders.export import Built


class BuildOptions(Options):
    """Which data set is built, of what, and where."""

    PANEL: ClassVar[str] = "Options"
    name: str = option(help="Name of a data set, as in `truebench data list`.", argument=True)
    out: str = option(help="Folder to write: new, empty, or an earlier build.")
    source: str | None = option(None, help="Path, URL or Hub id the rows come from; none for what is built in.")
    split: str | None = option(None, help="facts_grounding: open (default) or blind.")
    column: tuple[str, ...] = option(
        (), help="truebench, rubric_eval, training: ours=theirs, for a column of another name."
    )
    strict: bool = option(False, help="Stop at the first row that cannot be used; else left out and counted.")


def build_folder(options: BuildOptions) -> Built:
    """Build a data set of `truebench data list` into a folder: `truebench data build` as a call.

    `load_dataset(out)` reads the folder and `push_data` takes it. Raises UserError as the command does.
    """
    from truebench_hf.loaders.export import export

    columns = pairs(options.column, "--column")
    out = Path(options.out)
    return export(options.name, out, source=options.source, split=options.split, columns=columns, strict=options.strict)


def metric_to_hub(options: MetricOptions) -> Pushed:
    """Push one of the `evaluate` modules, with this library, to a Space: `truebench publish metric` as a call.

    Raises UserError on a repository of another name than the metric's, which `evaluate.load` would not find, and as the
    command does.
    """
    from truebench_hf.evaluate_modules import metric

    name, repo_id = options.name, options.repo_id
    folder = Path(metric(name))
    if repo_id.rpartition("/")[2] != name:
        # evaluate looks for NAME.py in ORG/NAME.
        named = f"{repo_id.partition('/')[0]}/{name}"
        raise UserError(f"--repo-id {repo_id}: a metric loads by the name of its repository; call it {named}")
    if "." in repo_id:  # it imports what it loads by the name of the repository
        raise UserError(f"--repo-id {repo_id}: evaluate cannot load from an organisation with a dot; give another")
    return push.push_space(folder, repo_id, options, f"Update {name}", folder.parent / "app.py")


build_data = as_call("build_data", BuildOptions, build_folder, "name", "out")
push_data = as_call("push_data", PushOptions, push.push_data, "folder", "repo_id")
publish_results = as_call("publish_results", ResultsOptions, publish.publish_results, "run", "repo_id")
publish_space = as_call("publish_space", PublishSpaceOptions, push.publish_space, "repo_id", "folder")
publish_metric = as_call("publish_metric", MetricOptions, metric_to_hub, "name", "repo_id")
check_results = in_python(results.check_results)
