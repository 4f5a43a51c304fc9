"""The project's own exceptions. Each message is one line that says what is wrong, where, and how to mend it."""


class UserError(Exception):
    """The user's input was wrong. Commands print the message alone and exit with status 2."""


class ConfigError(UserError):
    """A field of a config or a flag is unknown, missing or out of range."""


class DataError(UserError):
    """A data file is missing, broken, or holds rows that must not be used."""


class ModelError(UserError):
    """A model, tokenizer or adapter folder cannot be used as asked."""


class RunFolderError(UserError):
    """An output folder exists, or holds a run that is not the one asked for."""


class ServerError(UserError):
    """A model server refuses or is gone, so that asking on is useless. What was answered is in the store."""


class StoreError(ServerError):
    """The store of answers cannot be written: the disk is full, or another run writes there. What it holds is whole."""


class AnswersMissing(UserError):
    """Requests wait in batch files; the command has to be run again when they are answered."""


class HubError(UserError):
    """A repository on the Hub cannot be read or written as asked. What was sent before counts; running again goes on."""


class AlreadyDone(Exception):
    """The run asked for is finished and unchanged. Commands print the message and exit with status 0."""


class Interrupted(Exception):
    """The run was told to stop (SIGTERM), kept its work and can go on. Commands print the message and exit with status 143."""
