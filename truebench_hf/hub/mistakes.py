"""What can go wrong with the Hub and is the user's to mend, as UserErrors that show no token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.text import redaction
from truebench_hf.text.redaction import learn


@contextmanager
def hub_errors(repo_id: str, *, reads: bool = False) -> Iterator[None]:
    """Turn the client's errors on authorisation, network and absent repositories into a UserError without the token.

    It says that nothing was pushed, unless the block only `reads`.
    """
    from huggingface_hub import get_token
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    learn(get_token())
    try:
        yield
    except HfHubHTTPError as error:
        raise UserError(_http_message(repo_id, error, reads)) from None
    except OfflineModeIsEnabled:
        raise UserError(f"{repo_id}: HF_HUB_OFFLINE is set; unset it to reach the Hub") from None
    except ValueError as error:  # all that the client makes of the validator's answer
        first, _, told = str(error).partition("\n")
        if "metadata in README.md" not in first:
            raise
        raise UserError(
            f"{repo_id}: the Hub refuses the header of the card: {_one_line(told).removeprefix('- ') or 'no reason given'}; "
            "mend README.md between its two lines of ---, then push again: nothing was pushed"
        ) from None
    except Exception as error:
        if not _is_network(error):
            raise
        undone = "" if reads else "nothing was pushed, "
        raise UserError(f"{repo_id}: the Hub cannot be reached ({_one_line(error)}); {undone}try again") from None


def check_name(repo_id: str, option: str = "--repo-id") -> None:
    """Raise UserError, with the name of the option, unless this can be the name of a repository on the Hub."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", repo_id, re.ASCII) is None:
        raise UserError(f"{option} {repo_id}: write it as ORGANISATION/NAME, of letters, digits, - _ and .")
    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise UserError(f"{option} {repo_id}: {_one_line(error)}") from None


def name_and_revision(text: str, option: str) -> tuple[str, str]:
    """The two parts of `ORG/NAME[@REVISION]`. Raises UserError, with the name of the option, on anything else."""
    name, at, revision = text.partition("@")
    check_name(name, option)
    if at and not re.fullmatch(r"[\w./-]+", revision, re.ASCII):
        raise UserError(f"{option} {text}: write it as ORG/NAME or ORG/NAME@REVISION")
    return name, revision


def _http_message(repo_id: str, error: Any, reads: bool) -> str:
    from huggingface_hub.errors import GatedRepoError, RevisionNotFoundError

    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return f"{repo_id}: is gated; ask for access on its page, then run `hf auth login` or set HF_TOKEN"
    if isinstance(error, RevisionNotFoundError):
        remedy = "" if reads else "; leave out --create-pr to have the branch made, or push to main"
        return f"{repo_id}: has no such branch or revision{remedy}"
    if status == 401:
        return f"{repo_id}: the Hub does not accept your token, or there is none; run `hf auth login` or set HF_TOKEN"
    if status == 403:
        right = "read" if reads else "write"
        return (
            f"{repo_id}: your token may not {right} there; use one with {right} permission for {repo_id.split('/')[0]}"
        )
    if status == 404:
        return f"{repo_id}: the Hub has no such repository, or your token may not see it"
    undone = "; try again" if reads else "; nothing was pushed"
    return f"{repo_id}: the Hub refused with {status}: {_one_line(error.server_message or error)}{undone}"


def _is_network(error: Exception) -> bool:
    import httpx2  # the Hub client's own transport
    from huggingface_hub.errors import LocalEntryNotFoundError

    # The xet transport reports its network failures as RuntimeError, and a download that failed is a file not found.
    network = httpx2.HTTPError | ConnectionError | TimeoutError | RuntimeError | LocalEntryNotFoundError
    return isinstance(error, network)


def _one_line(error: object) -> str:
    return redaction.error(" ".join(str(error).split()))[:300]
