"""Names that come from elsewhere."""

from http import HTTPStatus

from withinpx.studio.refusal import Refusal

LONGEST_NAME = 120  # bytes


def check_name(name: str) -> None:
    """A plain name of a file: it must not lead anywhere."""
    leads = any(part in name for part in ("/", "\\", ":", "\0")) or name.startswith(".")
    if not name or leads or not name.isprintable() or len(name.encode()) > LONGEST_NAME or name != name.strip():
        raise Refusal(
            HTTPStatus.BAD_REQUEST,
            f"That is no name for a clip: give a plain file name, without folders, of at most {LONGEST_NAME} letters.",
        )
