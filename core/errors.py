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


class AlreadyDone(Exception):
    """The run asked for is finished and unchanged. Commands print the message and exit with status 0."""
