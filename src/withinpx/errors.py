"""Exceptions whose message is one sentence for the user: what is wrong and what to do."""


class InputError(ValueError):
    """Bad input. The command line prints the message and exits with status 2."""


class StoppedError(InputError):
    """Training was stopped on request; it can be resumed from its checkpoint."""


class BrokenTrainingError(InputError):
    """The loss became NaN or infinite; another seed may work."""
