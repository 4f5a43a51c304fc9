"""The file that a conversion writes and the manifest beside it (FILE.manifest.json), with the policy for a file that exists."""

from pathlib import Path
from typing import Any

from core.errors import AlreadyDone, ConfigError, RunFolderError
from core.jsonl import write_json
from core.run import describe, difference, fingerprint, read_manifest_file, shown_path
from data_prep.options import SourceConfig


class OutputFile:
    """The output of one conversion, and the file of items held out where there is one.

    Raises RunFolderError where a file is in the way (``if_exists`` fail), was not written by this command (overwrite) or
    by another config or from other data (resume); AlreadyDone where it is finished and unchanged; ConfigError where it is
    the input.
    """

    def __init__(self, config: SourceConfig, command: str, inputs: list[Path]) -> None:
        self.path = config.output
        self._outputs = [path for path in (config.output, config.holdout_output) if path is not None]
        if any(output.resolve() == path.resolve() for output in self._outputs for path in inputs):
            raise ConfigError(f"output {self.path} is the input; name another file")
        self._manifest = describe(command, config.model_dump(mode="json"), inputs, config.seed)
        taken = next((output for output in self._outputs if output.exists()), None)
        if taken is not None:
            self._settle(taken, config)

    def finish(self, counts: dict[str, Any]) -> None:
        """Write the manifest, with counts and fingerprints of what was written."""
        write_json({**self._manifest, "outputs": self._written(), "counts": counts}, self._manifest_path())

    def _settle(self, taken: Path, config: SourceConfig) -> None:
        if config.if_exists == "fail":
            raise RunFolderError(f"output {taken} exists; name another, or pass --if_exists overwrite or resume")
        old = read_manifest_file(self._manifest_path())
        if old is None or old["command"] != self._manifest["command"]:
            raise RunFolderError(
                f"output {taken} exists and this command did not write it; name another file or delete it"
            )
        if config.if_exists == "resume":
            other = difference(old, self._manifest)
            if other is not None or old.get("outputs") != self._written():
                fault = f"was written with other {other}" if other else "changed since it was written"
                raise RunFolderError(
                    f"output {self.path} {fault}, so there is nothing to resume; "
                    "name another file or pass --if_exists overwrite"
                )
            raise AlreadyDone(f"{self.path}: finished before, nothing left to do")

    def _written(self) -> dict[str, str]:
        return {shown_path(path): fingerprint(path) for path in self._outputs if path.exists()}

    def _manifest_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.manifest.json")
