"""What the server will not do, as an answer to whoever asked: a status and a sentence."""

from http import HTTPStatus


class Refusal(Exception):  # noqa: N818  (nothing is wrong with the program)
    """Becomes ``{"error": sentence}`` with its status."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


def no_such_run() -> Refusal:
    """For ids that nobody has, or no longer."""
    return Refusal(HTTPStatus.NOT_FOUND, "There is no such run: it may have been deleted.")
