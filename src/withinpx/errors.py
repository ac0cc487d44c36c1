"""The one exception that is meant for people: a sentence about what was wrong and what to do."""


class InputError(ValueError):
    """Something the user gave cannot be used. The message is one line; the command line exits with status 2."""


class StoppedError(InputError):
    """Somebody asked a training to stop; its checkpoint lets it go on."""


class BrokenTrainingError(InputError):
    """The loss became no number: another seed may do better."""
