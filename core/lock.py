"""One writer a folder, over processes and nodes: a lock that the system takes back when its process ends, however it ends."""

import errno
import os
from pathlib import Path

from core.errors import DataError, RunFolderError
from core.jsonl import make_folder
from core.progress import warn

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)


class FolderLock:
    """Makes the folder if need be and holds it until ``release``; the lock file in it is gone then.

    Raises RunFolderError where another process holds the folder, and DataError where it cannot be made or written to. A
    file system without locks is warned of.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        while True:
            make_folder(folder)
            try:
                self._handle = open(self._path, "a")  # noqa: SIM115 (holds the lock as long as it is open)
            except FileNotFoundError:  # the folder went in between: its holder was refused
                continue
            except OSError as error:
                raise DataError(
                    f"output folder {folder} cannot be written ({error.strerror}); name another place"
                ) from None
            self._lock(folder)
            if self._is_seen():
                return
            self._handle.close()

    def release(self) -> None:
        """Give the folder back. Doing so twice is harmless."""
        if not self._handle.closed:
            self._path.unlink(missing_ok=True)
            if fcntl is not None:
                fcntl.flock(self._handle, fcntl.LOCK_UN)  # closing alone would leave it to a forked child
            self._handle.close()

    def _is_seen(self) -> bool:
        """False for a lock file that its last holder removed before this process had the lock: others see a new one."""
        try:
            return os.path.samestat(os.fstat(self._handle.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def _lock(self, folder: Path) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._handle.close()
            raise RunFolderError(
                f"output {folder} is being written by another process; let it end, or name another folder"
            ) from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            warn(f"the file system of {folder} has no locks; see to it that no second run writes there")
