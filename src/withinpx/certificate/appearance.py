"""An object's template, measured on the frames: the least-squares fit of its appearance at every fraction of a pixel.

Each pixel near the object shows its appearance at one offset from its position; over many frames all offsets are seen.
Appearance and positions are fitted in turn, as astronomers fit the image of a star (Anderson and King, 2000).
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from withinpx.discovery.background import LEVEL, ByteImages, FloatImages, to_float
from withinpx.inference.template import KERNEL_PX, NODES, Template, smoothed

MARGIN_PX = 4.0  # px of a template around the object's box
LARGEST_PX = 32.0  # side of an object in px of its template; larger ones are pooled
MOST_FRAMES = 80  # that a template is fitted to
ROUNDS = 3  # of fitting appearance and positions in turn
SMOOTHNESS = 0.02  # weight of second differences between nodes, over that of the pixels: for offsets that are not seen
SMALLNESS = 1e-4  # of the values themselves: where the background is even, only colour - opacity * B is seen
TOLERANCE, MOST_ITERATIONS = 1e-4, 100  # of conjugate gradients
STEPS = 3  # of Newton's method for each position
LARGEST_STEP_PX = 0.5

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Window:
    """How much of a frame is looked at around an object."""

    half: NDArray[np.intp]  # (2,): px of the template to either side
    pool: int
    smooth: bool = True

    @classmethod
    def around(cls, box: Array) -> "_Window":
        """For an object of this width and height, px of the frames."""
        pool = int(np.ceil(max(float(box.max()), 1.0) / LARGEST_PX))
        return cls(np.ceil(box / pool / 2 + MARGIN_PX).astype(int), pool)

    def view(self, frame: ByteImages, background: FloatImages, position: Array) -> "_View | None":
        """The pixels around a position, one px more than a template needs, so that it may move; None at the border."""
        corner = np.floor(position / self.pool).astype(int) - self.half - 1
        left, top = (corner - KERNEL_PX) * self.pool
        right, bottom = (corner + 2 * self.half + 3 + KERNEL_PX) * self.pool
        height, width = frame.shape[:2]
        if left < 0 or top < 0 or right > width or bottom > height:
            return None
        shown, still = (
            smoothed_image(to_float(image[top:bottom, left:right]), self.pool, smooth=self.smooth)
            for image in (frame, background)
        )
        return _View(shown - still, still, corner.astype(np.float64), position / self.pool)


@dataclass(frozen=True, eq=False)
class _View:
    """What one frame shows around an object, in px of its template."""

    difference: Array  # (h, w, c): from the background
    background: Array  # (h, w, c)
    corner: Array  # (2,): x and y of the first pixel
    position: Array  # (2,): of the object


@dataclass(frozen=True, eq=False)
class Appearance:
    """How an object looks at every fraction of a pixel: in smoothed frames, and as it is recorded."""

    smooth: Template
    recorded: Template


def measure_appearance(frames: ByteImages, backgrounds: FloatImages, positions: Array, box: Array) -> Appearance | None:
    """Of an object of this width and height at positions (f, 2); None if no frame shows all around it.

    The positions are fitted to it, around the given ones: their mean stays the same.
    """
    window = _Window.around(box)
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_FRAMES)).round().astype(int))

    def look(through: _Window, index: int) -> _View | None:
        return through.view(frames[index], backgrounds[index if len(backgrounds) > 1 else 0], positions[index])

    views = {index: view for index in chosen.tolist() if (view := look(window, index)) is not None}
    if not views:
        return None
    positions = positions.copy()
    template = _fit(list(views.values()), window)
    for _ in range(ROUNDS):
        moved = np.array([_locate(template, view) for view in views.values()])
        moved += np.mean([view.position for view in views.values()], axis=0) - moved.mean(axis=0)
        positions[list(views)] = moved * window.pool
        views = {i: replace(view, position=position) for (i, view), position in zip(views.items(), moved, strict=True)}
        template = _fit(list(views.values()), window, template)
    as_recorded = replace(window, smooth=False)
    sharp = [view for index in views if (view := look(as_recorded, index)) is not None]
    return Appearance(template, _fit(sharp, as_recorded, template))


def smoothed_image(image: NDArray[np.float32], pool: int, *, smooth: bool = True) -> Array:
    """(h, w, c), as frames are compared with templates; or only pooled, and of the same size."""
    planes = torch.from_numpy(image.astype(np.float64)).permute(2, 0, 1)
    return np.asarray(smoothed(planes[None], pool, smooth=smooth)[0].permute(1, 2, 0).numpy())


def _fit(views: list[_View], window: _Window, earlier: Template | None = None) -> Template:
    """Opacity and colours at the nodes that explain all views best."""
    columns, rows = (2 * (window.half + 1) * NODES + 1).tolist()
    nodes, colours = rows * columns, views[0].difference.shape[-1]
    weights = [map(sparse.csr_matrix, _interpolation(view, view.position, window.half)) for view in views]
    at_nodes = sparse.vstack([sparse.kron(*both, format="csr") for both in weights], format="csr")
    background, difference = (
        np.concatenate([getattr(view, name).reshape(-1, colours) for view in views])
        for name in ("background", "difference")
    )
    usual = background.mean(axis=0)
    background = background - usual  # the drawing is (colour - opacity * usual) - opacity * background

    def normal(weights: Array) -> sparse.csr_matrix:
        return at_nodes.T @ sparse.diags(weights) @ at_nodes

    prior = len(views) / NODES**2 * (SMOOTHNESS * _roughness(rows, columns) + SMALLNESS * sparse.eye(nodes))
    shared = normal(np.ones(len(background))) + prior
    opacity = normal((background**2).sum(axis=1)) + ((background**2).sum(axis=1).mean() + LEVEL**2) * prior
    coupling = [-normal(background[:, colour]) for colour in range(colours)]
    matrix = sparse.bmat(
        [
            *(
                [*(shared if own == other else None for other in range(colours)), coupling[own]]
                for own in range(colours)
            ),
            [*coupling, opacity],
        ],
        format="csr",
    )
    known = np.column_stack([at_nodes.T @ difference, -at_nodes.T @ (difference * background).sum(axis=1)])
    start = None
    if earlier is not None:
        added = earlier.colour - earlier.opacity[..., None] * usual
        start = np.concatenate([np.moveaxis(added, -1, 0).ravel(), earlier.opacity.ravel()])
    jacobi = sparse.diags(1 / matrix.diagonal())
    solved, _ = cg(matrix, known.T.ravel(), x0=start, rtol=TOLERANCE, maxiter=MOST_ITERATIONS, M=jacobi)
    *added, covered = solved.reshape(colours + 1, rows, columns)
    return Template(covered, np.stack(added, axis=-1) + covered[..., None] * usual, window.pool)


def _interpolation(view: _View, position: Array, half: NDArray[np.intp]) -> tuple[Array, Array]:
    """Weights of the nodes in a view's rows (h, nodes) and columns (w, nodes); none beyond the nodes."""
    along = []
    for axis, length in ((1, view.difference.shape[0]), (0, view.difference.shape[1])):
        nodes = 2 * (half[axis] + 1) * NODES + 1
        places = (np.arange(length) + 0.5 + view.corner[axis] - position[axis] + half[axis] + 1) * NODES
        first = np.floor(places).astype(int)
        (inside,) = np.nonzero((first >= 0) & (first < nodes - 1))
        weights = np.zeros((length, nodes))
        weights[inside, first[inside]] = 1 - (places - first)[inside]
        weights[inside, first[inside] + 1] = (places - first)[inside]
        along.append(weights)
    return along[0], along[1]


def _roughness(rows: int, columns: int) -> sparse.csr_matrix:
    """The sum of squared second differences along both axes, as a matrix."""
    bends = [sparse.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(count - 2, count)) for count in (rows, columns)]
    vertical, horizontal = sparse.kron(bends[0], sparse.eye(columns)), sparse.kron(sparse.eye(rows), bends[1])
    return vertical.T @ vertical + horizontal.T @ horizontal


def _locate(template: Template, view: _View) -> Array:
    """The position at which the template explains a view best, near the known one."""
    step, position = 1 / NODES, view.position
    for _ in range(STEPS):
        error = view.difference - _drawn(template, view, position)
        slopes = np.stack(
            [
                ((_drawn(template, view, position + by) - _drawn(template, view, position - by)) / (2 * step)).ravel()
                for by in (np.array([step, 0.0]), np.array([0.0, step]))
            ],
            axis=1,
        )
        move = np.linalg.lstsq(slopes, error.ravel(), rcond=None)[0]
        position = position + move.clip(-LARGEST_STEP_PX, LARGEST_STEP_PX)
    return position


def _drawn(template: Template, view: _View, position: Array) -> Array:
    """What the template adds to the background of a view."""
    rows, columns = _interpolation(view, position, np.array(template.half))
    colours = [rows @ template.colour[..., colour] @ columns.T for colour in range(template.colour.shape[-1])]
    opacity = rows @ template.opacity @ columns.T
    return np.asarray(np.stack(colours, axis=-1) - opacity[..., None] * view.background)
