"""The paper's synthetic data (app. C.1): one white square on black at every position; three quadrants to train."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError

IMAGE_SIZE = 80  # s_img, px
MAX_BYTES = 8 * 2**30  # of all images of a dataset, which are kept in memory


@dataclass(frozen=True)
class LabelledImages:
    images: NDArray[np.float32]  # (images, 1, height, width), from 0 to 1
    positions: NDArray[np.float64]  # (images, 2): the square's centre (x, y), px

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Squares:
    """The dataset for one object size and one pair of receptive fields.

    The centres run over {pad + s/2, pad + s/2 + 1, ..., image - pad - s/2} on both axes. The bottom-right quadrant is
    the test set: no training image shows the square there.
    """

    object_size: int  # s_o, px
    padding: int  # s_pad, px; at least the larger receptive field minus 1, or the border affects the positions
    image_size: int = IMAGE_SIZE

    def __post_init__(self) -> None:
        if self.object_size < 1:
            raise InputError(f"The object size is {self.object_size} px: give at least 1.")
        if self.positions_per_axis < 2:
            raise InputError(
                f"A {self.object_size} px square with {self.padding} px of padding has no two positions in an image of "
                f"{self.image_size} px: use larger images or smaller receptive fields."
            )
        size = 4 * (self.positions_per_axis * self.image_size) ** 2
        if size > MAX_BYTES:
            raise InputError(
                f"A {self.object_size} px square has {self.positions_per_axis**2:,} positions in an image of "
                f"{self.image_size} px; an image of each takes {size / 2**30:,.0f} GiB in all, and "
                f"{MAX_BYTES // 2**30} GiB is the limit: use smaller images."
            )

    @classmethod
    def for_network(cls, object_size: int, encoder_rf: int, decoder_rf: int, image_size: int = IMAGE_SIZE) -> "Squares":
        """With the smallest padding the paper allows: max(s_psi, s_phi) - 1."""
        return cls(object_size, max(encoder_rf, decoder_rf) - 1, image_size)

    @property
    def positions_per_axis(self) -> int:
        return self.image_size - 2 * self.padding - self.object_size + 1

    @cache  # noqa: B019  (a few megabytes, shared by all seeds)
    def train(self) -> LabelledImages:
        return self._render(test=False)

    @cache  # noqa: B019
    def test(self) -> LabelledImages:
        return self._render(test=True)

    def _render(self, test: bool) -> LabelledImages:
        edges = np.arange(self.positions_per_axis) + self.padding
        corners = np.stack(np.meshgrid(edges, edges), axis=-1).reshape(-1, 2)
        middle = self.padding + (self.positions_per_axis + 1) // 2
        corners = corners[(corners >= middle).all(axis=1) == test]
        images = np.zeros((len(corners), 1, self.image_size, self.image_size), np.float32)
        for image, (x, y) in zip(images, corners, strict=True):
            image[0, y : y + self.object_size, x : x + self.object_size] = 1
        return LabelledImages(images, (corners + self.object_size / 2).astype(np.float64))
