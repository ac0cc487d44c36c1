"""The paper's synthetic data (app. C.1): one white square on black, at every position, three quadrants to train."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from withinpx.errors import InputError

IMAGE_SIZE = 80  # s_img, px
MOST_BYTES = 8 * 2**30  # of all pictures of a data set together: they are kept in memory


@dataclass(frozen=True)
class Pictures:
    """Pictures and where their object is."""

    images: NDArray[np.float32]  # (pictures, 1, height, width), from 0 to 1
    positions: NDArray[np.float64]  # (pictures, 2): the square's centre (x, y), px

    def __len__(self) -> int:
        return len(self.images)


@dataclass(frozen=True)
class Squares:
    """The data set for one object size and one pair of receptive fields.

    The centres run over {pad + s/2, pad + s/2 + 1, ..., image - pad - s/2} on both axes. The quadrant at the bottom
    right is the test set: the network never saw an object there.
    """

    object_size: int  # s_o, px
    padding: int  # s_pad, px; at least the larger receptive field minus 1, or the border is felt
    image_size: int = IMAGE_SIZE

    def __post_init__(self) -> None:
        if self.object_size < 1:
            raise InputError(f"The object size is {self.object_size} px: give at least 1.")
        if self.places < 2:
            raise InputError(
                f"A {self.object_size} px square with {self.padding} px of padding has no two places in a picture of "
                f"{self.image_size} px: use larger pictures or smaller receptive fields."
            )
        size = 4 * (self.places * self.image_size) ** 2
        if size > MOST_BYTES:
            raise InputError(
                f"A {self.object_size} px square has {self.places**2:,} places in a picture of {self.image_size} px; a "
                f"picture for each takes {size / 2**30:,.0f} GiB, and {MOST_BYTES // 2**30} GiB is the most: use "
                "smaller pictures."
            )

    @classmethod
    def for_network(cls, object_size: int, encoder_rf: int, decoder_rf: int, image_size: int = IMAGE_SIZE) -> "Squares":
        """With the smallest padding the paper allows: max(s_psi, s_phi) - 1."""
        return cls(object_size, max(encoder_rf, decoder_rf) - 1, image_size)

    @property
    def places(self) -> int:
        """How many positions the square takes along each axis."""
        return self.image_size - 2 * self.padding - self.object_size + 1

    @cache  # noqa: B019  (a few megabytes, asked for by every seed)
    def train(self) -> Pictures:
        """Three quadrants."""
        return self._pictures(~self._in_test_quadrant())

    @cache  # noqa: B019
    def test(self) -> Pictures:
        """The fourth."""
        return self._pictures(self._in_test_quadrant())

    def _corners(self) -> NDArray[np.int64]:
        along = np.arange(self.places) + self.padding
        x, y = np.meshgrid(along, along)
        return np.stack([x.ravel(), y.ravel()], axis=1)

    def _in_test_quadrant(self) -> NDArray[np.bool_]:
        middle = self.padding + (self.places + 1) // 2
        x, y = self._corners().T
        return np.asarray((x >= middle) & (y >= middle), np.bool_)

    def _pictures(self, chosen: NDArray[np.bool_]) -> Pictures:
        corners = self._corners()[chosen]
        images = np.zeros((len(corners), 1, self.image_size, self.image_size), np.float32)
        for image, (x, y) in zip(images, corners, strict=True):
            image[0, y : y + self.object_size, x : x + self.object_size] = 1
        return Pictures(images, (corners + self.object_size / 2).astype(np.float64))
