"""The engine for footage, whose encoder sees only the pixels that changed."""

from jaxtyping import Bool, Float
from torch import Tensor

from withinpx.model.autoencoder import Autoencoder
from withinpx.training.engine import DenseEngine, Engine, SparseEngine
from withinpx.training.scene import Scene

TOLERANCE = 0.1  # of full contrast: a pixel less than this off counts as reconstructed
MOST_PIXELS = 65_536  # of a frame; many small windows do not fill a GPU, which is faster with small frames as a whole


def clip_engine(
    model: Autoencoder,
    images: Float[Tensor, "f c h w"],
    changed: Bool[Tensor, "f h w"],
    backgrounds: Float[Tensor, "p c h w"],
    present: Bool[Tensor, "f n"],
    *,
    weights: Float[Tensor, "f 1 h w"] | None = None,
) -> Engine:
    """Sparse, but dense for small frames on a GPU.

    ``present`` is which objects each frame shows, ``weights`` those of the changed pixels' errors.
    """
    engine: Engine
    if images.is_cuda and images[0, 0].numel() <= MOST_PIXELS:
        engine = DenseEngine.of_foreground(
            model, images, changed, backgrounds, tolerance=TOLERANCE, present=present, weights=weights
        )
    else:
        scene = Scene.of_foreground(images, changed, backgrounds, model, weights)
        engine = SparseEngine(model, scene, TOLERANCE, present)
    engine.shows_change = True
    return engine
