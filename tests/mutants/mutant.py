"""A mutant: one change of the source that weakens what the package proves or measures."""

from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("src") / "withinpx"


@dataclass(frozen=True)
class Mutant:
    """A text of one file, and what replaces it. One of the tests must fail then."""

    name: str  # what is weakened, in plain words
    file: str  # under src/withinpx
    old: str  # occurs once in the file
    new: str
    tests: tuple[str, ...]  # files under tests, all fast

    def apply(self, root: Path) -> None:
        """Change the file in a copy of the project."""
        path = root / SOURCE / self.file
        path.write_text(self.of(path.read_text(encoding="utf-8")), encoding="utf-8")

    def of(self, source: str) -> str:
        """The changed source of its file."""
        count = source.count(self.old)
        if count != 1:
            raise ValueError(
                f"mutant '{self.name}': its text occurs {count} times in {self.file}, not once: {self.old!r}"
            )
        return source.replace(self.old, self.new)
