"""An object's template, measured on the frames: the least-squares fit of its appearance at every fraction of a pixel.

Each pixel near the object shows its appearance at one offset from its position; over many frames all offsets are seen.
Appearance and positions are fitted in turn, as astronomers fit the image of a star (Anderson and King, 2000). So is the
size of an object that is seen in perspective, as a linear function of its position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from withinpx.discovery.background import LEVEL, ByteImages, FloatImages, to_float
from withinpx.inference.overlap import Boxes, free_pixels
from withinpx.inference.template import (
    FLAT,
    KERNEL_PX,
    MOST_GROWTH,
    NODES,
    Size,
    Template,
    between_nodes,
    bilinear,
    sizes_at,
    smoothed,
)

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
LARGEST_RESIZE = 0.1  # in one step
GROWTH_ROUNDS = 3  # of fitting appearance and sizes in turn
OUTLIER = 4.0  # times the median distance from the linear size: such a view was not fitted
FLATTEST = 0.05  # of the largest spread of positions: along a direction with less, growth is unknown and taken as 0

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

    def view(self, frame: ByteImages, background: FloatImages, position: Array, others: Boxes, size: float) -> "_View":
        """The pixels around a position, one px more than a template needs, so that it may move."""
        reach = np.ceil(self.half * size).astype(int)
        corner = np.floor(position / self.pool).astype(int) - reach - 1
        places = [
            np.arange((first - KERNEL_PX) * self.pool, (first + 2 * half + 3 + KERNEL_PX) * self.pool)
            for first, half in zip(corner, reach, strict=True)
        ]
        columns, rows = (
            values.clip(0, size - 1) for values, size in zip(places, (frame.shape[1], frame.shape[0]), strict=True)
        )
        shown, still = (
            smoothed_image(to_float(image[np.ix_(rows, columns)]), self.pool, smooth=self.smooth)
            for image in (frame, background)
        )
        inside = np.outer(rows == places[1], columns == places[0])
        inside &= free_pixels(int(places[0][0]), int(places[1][0]), inside.shape, others)
        known = smoothed_image(inside.astype(np.float32)[..., None], self.pool)[..., 0] > 1 - 1e-6
        return _View(shown - still, still, known, corner.astype(np.float64), position / self.pool, size)


@dataclass(frozen=True, eq=False)
class _View:
    """What one frame shows around an object, in px of its template."""

    difference: Array  # (h, w, c): from the background
    background: Array  # (h, w, c)
    known: NDArray[np.bool_]  # (h, w): which pixels are of the frame
    corner: Array  # (2,): x and y of the first pixel
    position: Array  # (2,): of the object
    size: float  # of the object, over its usual one


@dataclass(frozen=True, eq=False)
class Appearance:
    """How an object looks at every fraction of a pixel: in smoothed frames, and as it is recorded."""

    smooth: Template
    recorded: Template


def measure_appearance(
    frames: ByteImages, backgrounds: FloatImages, positions: Array, box: Array, others: Sequence[Boxes] = ()
) -> Appearance:
    """Of an object of this width and height at positions (f, 2); what ``others`` hold of each frame is left out.

    The positions are fitted to it, around the given ones: their mean stays the same.
    """
    chosen = np.unique(np.linspace(0, len(frames) - 1, min(len(frames), MOST_FRAMES)).round().astype(int))
    album = _Album(
        frames[chosen],
        [backgrounds[index if len(backgrounds) > 1 else 0] for index in chosen],
        positions[chosen],
        [others[index] for index in chosen] if len(others) else [np.zeros((0, 4), int)] * len(chosen),
        _Window.around(box),
    )
    fitted = album.fit(FLAT)
    size = album.perspective(fitted)
    if size != FLAT:
        grown = album.fit(size)
        fitted = min(fitted, grown, key=lambda one: one.residual)
    sharp = replace(album, window=replace(album.window, smooth=False))
    recorded = sharp.views(fitted.positions * album.window.pool, fitted.template.size)
    return Appearance(fitted.template, _fit(recorded, sharp.window, fitted.template))


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A template, and the views that it was fitted to."""

    template: Template
    views: list["_View"]

    @property
    def positions(self) -> Array:
        """Px of the template."""
        return np.array([view.position for view in self.views])

    @property
    def residual(self) -> float:
        """Mean square per pixel."""
        squares = [
            np.square((view.difference - _rendered(self.template, view, view.position, view.size))[view.known])
            for view in self.views
        ]
        return float(np.concatenate(squares).mean())


@dataclass(frozen=True, eq=False)
class _Album:
    """The frames that an appearance is measured on."""

    frames: ByteImages
    backgrounds: list[FloatImages]
    positions: Array  # (f, 2), px of the frames
    others: list[Boxes]
    window: _Window

    def views(self, positions: Array, size: Size) -> list["_View"]:
        """Around these positions, of an object whose size depends on where it is."""
        sizes = sizes_at(size, self.positions)
        return [
            self.window.view(*seen)
            for seen in zip(self.frames, self.backgrounds, positions, self.others, sizes, strict=True)
        ]

    def fit(self, size: Size) -> _Fitted:
        """Appearance and positions, in turn."""
        window, views = self.window, self.views(self.positions, size)
        template = _fit(views, window, smoothness=SMOOTHER)
        for _ in range(ROUNDS):
            moved = np.array([_locate(template, view)[:2] for view in views])
            moved += np.mean([view.position for view in views], axis=0) - moved.mean(axis=0)
            views = [replace(view, position=position) for view, position in zip(views, moved, strict=True)]
            template = _fit(views, window, template, SMOOTHER)
        return _Fitted(replace(_fit(views, window, template), size=size), views)

    def perspective(self, fitted: _Fitted) -> Size:
        """The object's size as a function of its position; FLAT if no edge moves by half the distance of two nodes."""
        size, views, template = FLAT, fitted.views, _fit(fitted.views, self.window, smoothness=SMOOTHER)
        for _ in range(GROWTH_ROUNDS):
            found = np.array([_locate(template, view, resize=True)[2] for view in views])
            size = _linear_size(found, self.positions)
            sizes = sizes_at(size, self.positions)
            low, high = np.quantile(sizes, (0.05, 0.95))
            if (high - low) * self.window.half.max() < 0.5 / NODES:
                return FLAT
            views = self.views(fitted.positions * self.window.pool, size)
            template = _fit(views, self.window, smoothness=SMOOTHER)
        return size


def _linear_size(sizes: Array, positions: Array) -> Size:
    """The linear function of the position that these sizes (f,) follow, over its median."""
    middle = np.median(positions, axis=0)
    reach = max(float(np.abs(positions - middle).max()), 1.0)
    terms = np.column_stack([np.ones(len(sizes)), (positions - middle) / reach])
    kept = np.ones(len(sizes), bool)
    for _ in range(GROWTH_ROUNDS):
        found = np.linalg.lstsq(terms[kept], sizes[kept], rcond=FLATTEST)[0]
        off = np.abs(sizes - terms @ found)
        kept = off <= OUTLIER * np.median(off) + 1e-9
    found = found / np.median(terms @ found)
    growth = found[1:] / reach
    return float(found[0] - growth @ middle), float(growth[0]), float(growth[1])


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
    size = FLAT if earlier is None else earlier.size
    return Template(covered, colour.astype(np.float64), window.pool, size)


def _places(view: _View, position: Array, size: float, half: NDArray[np.intp]) -> tuple[Array, Array]:
    """The rows and columns of a view, counted in nodes of a template at a position."""
    rows, columns = (
        ((np.arange(length) + 0.5 + view.corner[axis] - position[axis]) / size + half[axis] + 1) * NODES
        for axis, length in ((1, view.difference.shape[0]), (0, view.difference.shape[1]))
    )
    return rows, columns


def _interpolation(view: _View, half: NDArray[np.intp]) -> sparse.csr_matrix:
    """Weights (pixels, nodes) of a view's pixels."""
    along = []
    all_places = _places(view, view.position, view.size, half)
    for places, nodes in zip(all_places, 2 * (half[::-1] + 1) * NODES + 1, strict=True):
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


def _locate(template: Template, view: _View, *, resize: bool = False) -> Array:
    """The position (x, y) and the size with which the template explains a view best, near the known ones."""
    steps = np.diag([1 / NODES, 1 / NODES, 1 / NODES / max(template.half)])[: 3 if resize else 2]
    largest = np.array([LARGEST_STEP_PX, LARGEST_STEP_PX, LARGEST_RESIZE])
    found = np.array([*view.position, view.size])
    for _ in range(STEPS):
        error = (view.difference - _rendered(template, view, found[:2], found[2]))[view.known]
        slopes = []
        for by in steps:
            after, before = (_rendered(template, view, at[:2], at[2]) for at in (found + by, found - by))
            slopes.append((after - before)[view.known].ravel() / (2 * by.sum()))
        move = np.linalg.lstsq(np.stack(slopes, axis=1), error.ravel(), rcond=None)[0]
        found[: len(steps)] += move.clip(-largest[: len(steps)], largest[: len(steps)])
        found[2] = found[2].clip(1 / MOST_GROWTH, MOST_GROWTH)
    return found


def _rendered(template: Template, view: _View, position: Array, size: float) -> Array:
    """What the template adds to the background of a view."""
    places = _places(view, position, size, np.array(template.half))
    layers = bilinear(template.layers, *places)
    return np.asarray(layers[..., 1:] - layers[..., :1] * view.background)
