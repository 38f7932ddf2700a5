"""Rows of instructions to people, who write checklists, prefer, score and answer; their answers enter the rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truebench_hf.benchmarks.tick import data as source
from truebench_hf.benchmarks.tick.annotation import answers
from truebench_hf.benchmarks.tick.annotation.agreement import sections
from truebench_hf.benchmarks.tick.annotation.questions import asked, asked_about, possible
from truebench_hf.data.checklist_rows import Entry
from truebench_hf.errors import UserError
from truebench_hf.report.labels import Annotations
from truebench_hf.study.labelling import SHEETS, Draw, LabelInOptions, Labelling, LabelOutOptions, Taken


class RowLabels(Labelling):
    """Rows of the `checklists` form, or what becomes such rows."""

    heeds = ("ask", "author", "out")
    written = True

    def folder(self, options: LabelOutOptions | LabelInOptions) -> Path:
        """FILE-sheets, beside the file; of rows that stand elsewhere in the current folder."""
        file = Path(self.place) if Path(self.place).name else Path(self.place).resolve()  # the current folder
        return file.with_name(f"{file.stem}-{SHEETS}") if file.exists() else Path(f"{file.name}-{SHEETS}")

    def _entries(self) -> list[Entry]:
        """The rows. Raises UserError where there are none: any other folder ends here, too."""
        try:
            return source.load(self.place)
        except UserError as error:
            if not Path(self.place).is_dir():
                raise
            raise UserError(f"{self.place}: is no folder of a finished run or study, and no rows: {error}") from error

    def labels_file(self, options: LabelInOptions) -> None:
        return None

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        """None without `--out`: then what the rows hold is shown."""
        return super().unnamed_sheets(options) if options.out else []

    def draw(self, options: LabelOutOptions) -> Draw:
        """The questions of a protocol about `n` instructions, which keep the shares of languages and categories."""
        entries = self._entries()
        protocol = options.ask or possible(entries, options.author)
        chosen = source.selection(asked_about(entries, protocol, options.author)).sampled(options.n, options.seed)
        questions = [q for entry in chosen for q in asked(entry, protocol, options.author, options.seed)]
        return Draw(questions, [f"{protocol}: {len(questions)} questions about {len(chosen)} instructions"])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """The rows with all answers, written to `out`; without sheets what the rows hold. `value` are the entries."""
        if decisions:
            raise UserError("--decisions: rows keep the answers of every annotator; hand the sheet in as the others")
        if bool(new.labels) != (options.out is not None):
            raise UserError(
                "give filled-in sheets and --out, a JSONL for the rows with them (their own file adds them there); or "
                "neither: then what the rows hold is shown"
            )
        entries, notes, files = self._entries(), list[str](), list[Path]()
        if options.out is not None:
            out = Path(options.out)
            if out.exists() and not (Path(self.place).exists() and out.samefile(self.place)):
                raise UserError(f"--out {out}: is there already; name another file, or {self.place} to add to it")
            returned = answers.joined(entries, new)
            answers.write(out, returned.rows)
            entries, files = answers.read_rows(returned.rows), [out]
            counts = ", ".join(f"{count} {what}" for what, count in returned.counts.items()) or "nothing"
            notes = [f"New: {counts}.", *returned.notes]
        return Taken(entries, None, sections(entries), notes=notes, files=files)
