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
from withinpx.inference.template import KERNEL_PX, NODES, Template, between_nodes, bilinear, smoothed

MARGIN_PX = 4.0  # px of a template around the object's box
LARGEST_PX = 32.0  # side of an object in px of its template; larger ones are pooled
MOST_FRAMES = 80  # that a template is fitted to
ROUNDS = 2  # of fitting appearance and positions in turn
SMOOTHNESS = 0.02  # weight of second differences between nodes, over that of the pixels: for offsets that are not seen
SMOOTHER = 1.0  # the same while positions are fitted: else each frame holds its own nodes, and itself, in place
SMALLNESS = 1e-4  # of the values themselves: where the background is even, only colour - opacity * B is seen
TOLERANCE, MOST_ITERATIONS = 1e-4, 100  # of conjugate gradients
STEPS = 3  # of Newton's method for each position
LARGEST_STEP_PX = 0.5

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Window:
    """How much of a frame is seen around an object."""

    half: NDArray[np.intp]  # (2,): px of the template to either side
    pool: int
    smooth: bool = True

    @classmethod
    def around(cls, box: Array) -> "_Window":
        """For an object of this width and height, px of the frames."""
        pool = int(np.ceil(max(float(box.max()), 1.0) / LARGEST_PX))
        return cls(np.ceil(box / pool / 2 + MARGIN_PX).astype(int), pool)

    def view(self, frame: ByteImages, background: FloatImages, position: Array) -> "_View":
        """The pixels around a position, one px more than a template needs, so that it may move."""
        corner = np.floor(position / self.pool).astype(int) - self.half - 1
        places = [
            np.arange((first - KERNEL_PX) * self.pool, (first + 2 * half + 3 + KERNEL_PX) * self.pool)
            for first, half in zip(corner, self.half, strict=True)
        ]
        columns, rows = (
            values.clip(0, size - 1) for values, size in zip(places, (frame.shape[1], frame.shape[0]), strict=True)
        )
        shown, still = (
            smoothed_image(to_float(image[np.ix_(rows, columns)]), self.pool, smooth=self.smooth)
            for image in (frame, background)
        )
        inside = np.outer(rows == places[1], columns == places[0]).astype(np.float32)[..., None]
        known = smoothed_image(inside, self.pool)[..., 0] > 1 - 1e-6
        return _View(shown - still, still, known, corner.astype(np.float64), position / self.pool)


@dataclass(frozen=True, eq=False)
class _View:
    """What one frame shows around an object, in px of its template."""

    difference: Array  # (h, w, c): from the background
    background: Array  # (h, w, c)
    known: NDArray[np.bool_]  # (h, w): which pixels are of the frame
    corner: Array  # (2,): x and y of the first pixel
    position: Array  # (2,): of the object


@dataclass(frozen=True, eq=False)
class Appearance:
    """How an object looks at every fraction of a pixel: in smoothed frames, and as it is recorded."""

    smooth: Template
    recorded: Template


def measure_appearance(frames: ByteImages, backgrounds: FloatImages, positions: Array, box: Array) -> Appearance:
    """Of an object of this width and height at positions (f, 2).

    The positions are fitted to it, around the given ones: their mean stays the same.
    """
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_FRAMES)).round().astype(int))

    def look(through: _Window, positions: Array) -> list[_View]:
        return [
            through.view(frames[index], backgrounds[index if len(backgrounds) > 1 else 0], position)
            for index, position in zip(chosen, positions, strict=True)
        ]

    window = _Window.around(box)
    views = look(window, positions[chosen])
    template = _fit(views, window, smoothness=SMOOTHER)
    for _ in range(ROUNDS):
        moved = np.array([_locate(template, view) for view in views])
        moved += np.mean([view.position for view in views], axis=0) - moved.mean(axis=0)
        views = [replace(view, position=position) for view, position in zip(views, moved, strict=True)]
        template = _fit(views, window, template, SMOOTHER)
    template = _fit(views, window, template)
    as_recorded = replace(window, smooth=False)
    sharp = look(as_recorded, np.array([view.position * window.pool for view in views]))
    return Appearance(template, _fit(sharp, as_recorded, template))


def smoothed_image(image: NDArray[np.float32], pool: int, *, smooth: bool = True) -> Array:
    """(h, w, c), as frames are compared with templates; or only pooled, and of the same size."""
    planes = torch.from_numpy(image.astype(np.float64)).permute(2, 0, 1)
    return np.asarray(smoothed(planes[None], pool, smooth=smooth)[0].permute(1, 2, 0).numpy())


def _fit(
    views: list[_View], window: _Window, earlier: Template | None = None, smoothness: float = SMOOTHNESS
) -> Template:
    """Opacity and colours at the nodes that explain all views best."""
    columns, rows = (2 * (window.half + 1) * NODES + 1).tolist()
    nodes, colours = rows * columns, views[0].difference.shape[-1]
    at_nodes = sparse.vstack([_interpolation(view, window.half)[view.known.ravel()] for view in views], format="csr")
    background, difference = (
        np.concatenate([getattr(view, name)[view.known] for view in views]) for name in ("background", "difference")
    )
    usual = background.mean(axis=0)
    background = background - usual  # the rendering is (colour - opacity * usual) - opacity * background

    def normal(weights: Array) -> sparse.csr_matrix:
        return at_nodes.T @ sparse.diags(weights) @ at_nodes

    prior = len(views) / NODES**2 * (smoothness * _roughness(rows, columns) + SMALLNESS * sparse.eye(nodes))
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
    *added, covered = (
        solved.reshape(colours + 1, rows, columns).astype(np.float32).astype(np.float64)
    )  # as it is stored
    colour = (np.stack(added, axis=-1) + covered[..., None] * usual).astype(np.float32)
    return Template(covered, colour.astype(np.float64), window.pool)


def _places(view: _View, position: Array, half: NDArray[np.intp]) -> tuple[Array, Array]:
    """The rows and columns of a view, counted in nodes of a template at a position."""
    rows, columns = (
        (np.arange(length) + 0.5 + view.corner[axis] - position[axis] + half[axis] + 1) * NODES
        for axis, length in ((1, view.difference.shape[0]), (0, view.difference.shape[1]))
    )
    return rows, columns


def _interpolation(view: _View, half: NDArray[np.intp]) -> sparse.csr_matrix:
    """Weights (pixels, nodes) of a view's pixels."""
    along = []
    for places, nodes in zip(_places(view, view.position, half), 2 * (half[::-1] + 1) * NODES + 1, strict=True):
        first, weights = between_nodes(places, nodes)
        indices = np.stack([first, first + 1], axis=1).ravel()
        steps = np.arange(0, 2 * len(places) + 1, 2)
        along.append(sparse.csr_matrix((np.stack(weights, axis=1).ravel(), indices, steps), (len(places), nodes)))
    return sparse.kron(along[0], along[1], format="csr")


def _roughness(rows: int, columns: int) -> sparse.csr_matrix:
    """The sum of squared second differences along both axes, as a matrix."""
    bends = [sparse.diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(count - 2, count)) for count in (rows, columns)]
    vertical, horizontal = sparse.kron(bends[0], sparse.eye(columns)), sparse.kron(sparse.eye(rows), bends[1])
    return vertical.T @ vertical + horizontal.T @ horizontal


def _locate(template: Template, view: _View) -> Array:
    """The position at which the template explains a view best, near the known one."""
    step, position = 1 / NODES, view.position
    for _ in range(STEPS):
        error = (view.difference - _rendered(template, view, position))[view.known]
        slopes = np.stack(
            [
                (_rendered(template, view, position + by) - _rendered(template, view, position - by))[
                    view.known
                ].ravel()
                for by in (np.array([step, 0.0]), np.array([0.0, step]))
            ],
            axis=1,
        )
        move = np.linalg.lstsq(slopes / (2 * step), error.ravel(), rcond=None)[0]
        position = position + move.clip(-LARGEST_STEP_PX, LARGEST_STEP_PX)
    return position


def _rendered(template: Template, view: _View, position: Array) -> Array:
    """What the template adds to the background of a view."""
    places = _places(view, position, np.array(template.half))
    opacity = bilinear(template.opacity[..., None], *places)
    return np.asarray(bilinear(template.colour, *places) - opacity * view.background)
