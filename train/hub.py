"""Whether a model on the Hub can be had, asked once and without waiting: before data is read, not after."""

from collections.abc import Sequence

from httpx2 import HTTPError  # what huggingface_hub speaks HTTP with
from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, is_offline_mode, try_to_load_from_cache
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from core.errors import ModelError

CONFIG = "config.json"
SECONDS = 10.0
_FOLDER = "name a model folder, or a Hub id as owner/name"
_LOGIN = "log in with `hf auth login` or set HF_TOKEN"


def check_hub_model(name: str, revision: str | None = None, files: Sequence[str] = (CONFIG,)) -> None:
    """Raises ModelError where a Hub id is none, is gated or private to this login, has none of ``files``, or cannot be
    reached and is not in the cache.
    """
    try:
        if any(isinstance(try_to_load_from_cache(name, file, revision=revision), str) for file in files):
            return
        if is_offline_mode():
            raise ModelError(
                f"model {name} is no folder, and not in the Hub's cache while HF_HUB_OFFLINE is set; {_FOLDER}"
            )
        _ask(name, revision, files)
    except GatedRepoError:
        where = f"{constants.ENDPOINT}/{name}"
        raise ModelError(f"model {name} is gated; ask for access at {where}, then {_LOGIN}") from None
    except RevisionNotFoundError:
        raise ModelError(f"model {name} has no revision {revision}; name a branch, tag or commit of it") from None
    except RepositoryNotFoundError:
        raise ModelError(f"the Hub has no model {name} for this login; correct the name, or {_LOGIN}") from None
    except EntryNotFoundError:
        raise ModelError(
            f"model {name} on the Hub has no {' and no '.join(files)}; name a whole model for transformers"
        ) from None
    except HFValidationError:
        raise ModelError(f"model {name} is neither a folder nor a Hub id; {_FOLDER}") from None
    except HfHubHTTPError as error:
        status = error.response.status_code
        raise ModelError(f"the Hub refused model {name} ({status}); {_LOGIN}, or try again later") from None
    except (HTTPError, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ModelError(f"model {name} is no folder, and the Hub cannot be reached ({reason}); {_FOLDER}") from None


def _ask(name: str, revision: str | None, files: Sequence[str]) -> None:
    file, *others = files
    try:
        get_hf_file_metadata(hf_hub_url(name, file, revision=revision), timeout=SECONDS)
    except EntryNotFoundError:
        if not others:
            raise
        _ask(name, revision, others)
