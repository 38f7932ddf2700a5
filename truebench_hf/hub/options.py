"""What goes to the Hub, and how: the options of every command that pushes something there."""

from __future__ import annotations

from typing import ClassVar

from truebench_hf.options import Options, option


class HubOptions(Options):
    """How something goes to the Hub."""

    PANEL: ClassVar[str] = "Hub"
    private: bool = option(False, help="Create it as, and insist on, a private repository.")
    create_pr: bool = option(False, help="As a pull request.")
    dry_run: bool = option(False, help="List files and sizes; push nothing.")


class PushOptions(HubOptions):
    """Which data set is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    folder: str = option(help="Folder that `truebench data build` wrote.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    rights: bool = option(
        False, flag="--i-have-the-rights", help="State that you may publish a set of restricted licence."
    )


class ResultsOptions(HubOptions):
    """Which run is published, and where."""

    PANEL: ClassVar[str] = "Options"
    run: str = option(help="Folder of a finished run or study; with --check a results data set.", argument=True)
    repo_id: str | None = option(None, help="Results data set that gets the run: ORG/RESULTS.")
    model_repo: str | None = option(None, help="Model whose page gets the score: ORG/MODEL.")
    dataset: str | None = option(
        None, help="With --model-repo: the benchmark's data set on the Hub, ORG/NAME or ORG/NAME@REVISION."
    )
    force: bool = option(False, help="Also a run of a scripted model, or of another than --model-repo names.")
    replace: bool = option(False, help="In place of the run there that measured the same.")
    public: bool = option(False, help="Data of no known benchmark: everybody may read its prompts and answers.")


class PublishSpaceOptions(HubOptions):
    """Which Space is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    folder: str | None = option(None, help="Folder of the Space; by default the one of this checkout.")


class MetricOptions(HubOptions):
    """Which metric is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    name: str = option(help="Name of the metric, e.g. truebench_score.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
