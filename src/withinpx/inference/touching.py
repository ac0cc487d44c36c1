"""Objects of a region that touch, each searched for by itself: where it can be, and where its template fits the frame.

``theory/touching.py`` says where each can be. The pixels that the others may cover are left out, and the rest excludes
positions as everywhere (inference/feasible.py). What is then known of one leaves more pixels for the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from withinpx.discovery.background import BackgroundModel, ByteImages, difference
from withinpx.discovery.regions import Cells, Region
from withinpx.inference.feasible import SHOWN, Search, Where, search_boxes
from withinpx.inference.observation import Feasible, Observations, Pixels
from withinpx.theory.touching import SHARED, Mask, Silhouette, covered, fewest_places, inside

ROUNDS = 4  # of searches, each with what the one before left to the others
STRONG = 0.9  # quantile of an object's changed pixels that is as strong as the object
PIXEL = np.ones((3, 3), np.bool_)
TOGETHER = 256  # members that are searched for at once
SEEN = 8  # views that show an object by itself, at least, for its silhouette

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Member:
    """One object of a region."""

    places: tuple[Mask, ...]  # by class: where it can be, in the region's window
    found: Feasible | None = None  # of one frame and object, as soon as it was searched for

    @property
    def kind(self) -> int | None:
        """Its class, None if it may be of several."""
        kinds = [kind for kind, places in enumerate(self.places) if places.any()]
        return kinds[0] if len(kinds) == 1 else None

    @property
    def is_shown(self) -> bool:
        """Do the pixels that only it can have changed show enough of it? As in frames that show one object."""
        return self.found is not None and float(self.found.shown[0, 0]) >= SHOWN

    def box(self, corner: tuple[int, int]) -> Array:
        """The box that holds its position: left, top, right, bottom, px of the network's input."""
        if self.found is not None:
            return np.concatenate([self.found.low[0, 0], self.found.high[0, 0]])
        rows, columns = np.nonzero(np.logical_or.reduce(self.places))
        low, high = np.array([columns.min(), rows.min()]), np.array([columns.max(), rows.max()])
        return np.concatenate([low + corner, high + corner + 1]).astype(np.float64)

    def within(self, corner: tuple[int, int], found: Feasible) -> "Member":
        """With the places that its feasible set leaves."""
        low, high = found.low[0, 0] - corner, found.high[0, 0] - corner
        rows, columns = (np.arange(length) for length in self.places[0].shape)
        left = (rows + 1 > low[1])[:, None] & (rows < high[1])[:, None] & (columns + 1 > low[0]) & (columns < high[0])
        return Member(tuple(places & left for places in self.places), found)


@dataclass(eq=False)
class Cluster:
    """A region of several objects."""

    place: tuple[int, int]  # the frame, and the number of its cell
    corner: tuple[int, int]  # left and top of its window, which may begin outside the frame
    clear: Mask  # pixels of the region that an object surely changed
    inside: tuple[Mask, ...]  # by class: places that are possible by what changed
    silhouettes: Sequence[Silhouette]
    members: list[Member] = field(default_factory=list)

    def cover(self, member: Member, *, faintly: bool = False) -> Mask:
        """The pixels that a member may change; by more than the level, if not ``faintly``."""
        pairs = [pair for pair in zip(member.places, self.silhouettes, strict=True) if pair[0].any()]
        masks = [covered(places, some.faint if faintly else some.possible) for places, some in pairs]
        return np.asarray(np.logical_or.reduce([np.zeros_like(self.clear), *masks]))

    def explain(self) -> bool:
        """Add objects until each clear pixel may be one's. False if there is a pixel that no object explains."""
        unexplained = self.clear.copy()
        for member in self.members:
            unexplained &= ~self.cover(member)
        while unexplained.any():
            places = fewest_places(self.inside, self.silhouettes, unexplained)
            if not any(own.any() for own in places):
                return False
            self.members.append(Member(tuple(places)))
            unexplained &= ~self.cover(self.members[-1])
        return bool(self.members)

    def busy(self, cells: Cells, *, others_known: bool) -> list[Mask]:
        """For each member, the pixels of its frame (h, w) that other objects may cover; ``cells`` are of all frames.

        As long as others are not known, they may be at every place that is possible and not the member's.
        """
        if others_known:
            own = [self.cover(member, faintly=True) for member in self.members]
            count = np.sum(own, axis=0)
            covers = [np.asarray(count > mask) for mask in own]
        else:
            rests = [
                tuple(all_ & ~places for all_, places in zip(self.inside, member.places, strict=True))
                for member in self.members
            ]
            covers = [self.cover(Member(rest), faintly=True) for rest in rests]
        return [self._in_frame(cover, cells) for cover in covers]

    def _in_frame(self, cover: Mask, cells: Cells) -> Mask:
        """With the pixels of the frame that are nearer to another region."""
        busy = np.asarray(cells[self.place[0]] != self.place[1])
        left, top = self.corner
        height, width = self.clear.shape
        shown = busy[max(0, top) : top + height, max(0, left) : left + width]
        shown |= cover[max(0, -top) :, max(0, -left) :][: shown.shape[0], : shown.shape[1]]
        return busy


def measure_silhouette(
    images: ByteImages, background: BackgroundModel, seen: Observations, index: int, kept_out: NDArray[np.intp]
) -> Silhouette | None:
    """What an object changes, from the views (f, h, w, c) in which its template fits; None if they do not agree.

    Measured on the views of the training, with a px added or left out all around. Views that training never saw must
    agree. The level is the share of the object's own strength that one of ``SHARED + 1`` would have.
    """
    (shown,) = np.nonzero(np.isfinite(seen.sets.low[:, index]).all(axis=1) & ~seen.at_border[:, index])
    trained = np.setdiff1d(shown, kept_out)
    if len(trained) < SEEN:
        return None
    best = np.floor(np.nan_to_num(seen.sets.best[:, index])).astype(int)
    reach = int(np.ceil(seen.box[shown, index].max()))
    changed = {frame: background.changed(images[[frame]])[0] for frame in shown.tolist()}
    own = {frame: _around(_connected(mask, best[frame]), best[frame], reach) for frame, mask in changed.items()}
    strength = {
        frame: np.where(own[frame], _around(difference(images[[frame]], background.images)[0], best[frame], reach), 0)
        for frame in own
    }
    level = float(np.median([np.quantile(strength[frame][own[frame]], STRONG) for frame in own])) / (SHARED + 1)
    if level < float(np.median(background.threshold)):
        return None
    sure = np.logical_and.reduce([own[frame] for frame in trained.tolist()])
    possible = np.logical_or.reduce([strength[frame] > level for frame in trained.tolist()])
    faint = np.logical_or.reduce(list(own.values()))
    sure = ndimage.binary_erosion(sure, PIXEL)
    possible, faint = (ndimage.binary_dilation(mask, PIXEL) for mask in (possible, faint))
    agree = all((own[frame] | ~sure).all() and (possible | (strength[frame] <= level)).all() for frame in own)
    return Silhouette(sure, possible, faint, level) if sure.any() and agree else None


def _connected(changed: Mask, pixel: NDArray[np.intp]) -> Mask:
    """The changed pixels that are connected with this one (x, y)."""
    labels, _ = ndimage.label(changed, PIXEL)
    column, row = pixel.clip(0, np.array(changed.shape[::-1]) - 1)
    return np.asarray((labels == labels[row, column]) & changed)


def _around(mask: NDArray[Any], pixel: NDArray[np.intp], reach: int) -> NDArray[Any]:
    """A square of a map around a pixel (x, y); zero beyond the map."""
    column, row = pixel + reach
    return np.pad(mask, reach)[row - reach : row + reach + 1, column - reach : column + reach + 1]


def cluster_of(
    place: tuple[int, int],
    region: Region,
    strength: NDArray[np.float32],
    changed: Mask,
    silhouettes: Sequence[Silhouette],
) -> Cluster:
    """A region of several objects, with where each kind of object can be.

    ``strength`` (h, w) is by how much the frame differs from the background, ``changed`` where.
    """
    around = 2 * max(some.reach for some in silhouettes)
    rows, columns = region.box
    whole = np.pad(changed, around, constant_values=True)  # beyond the frame anything may be
    window = whole[rows.start : rows.stop + 2 * around, columns.start : columns.stop + 2 * around]
    clear = np.zeros_like(window)
    level = SHARED * max(some.level for some in silhouettes)
    clear[around:-around, around:-around] = region.mask & (strength[region.box] > level)
    possible = tuple(inside(window, some.sure) for some in silhouettes)
    return Cluster(place, (columns.start - around, rows.start - around), clear, possible, silhouettes)


def search_clusters(
    clusters: Sequence[Cluster], searches: Sequence[Search], pixels: Pixels, cells: Cells, zoom: float
) -> list[Cluster]:
    """The clusters whose objects explain them, each object with its feasible set if its class is known.

    ``searches`` are by class; ``cells`` (f, h, w) are at the scale of the network, ``pixels`` at ``zoom`` times it. In
    the first round nothing is known of the others; what it leaves of the places shows which others there must be.
    """
    left = [cluster for cluster in clusters if cluster.explain()]
    for number in range(ROUNDS):
        last = number == ROUNDS - 1
        found = _searched(left, searches, CellPixels(pixels, cells, zoom), others_known=number > 0, trim=last)
        fitting = []
        for index, cluster in enumerate(left):
            sets = [found.get((index, number)) for number in range(len(cluster.members))]
            if any(own is not None and np.isnan(own.low).any() for own in sets):
                continue  # it does not show what we think
            cluster.members = [
                member if own is None else member.within(cluster.corner, own)
                for member, own in zip(cluster.members, sets, strict=True)
            ]
            if not all(any(own.any() for own in member.places) for member in cluster.members):
                continue
            if cluster.explain() and not (last and len(cluster.members) > len(sets)):
                fitting.append(cluster)
        left = fitting
    return left


@dataclass(frozen=True, eq=False)
class CellPixels:
    """Frames, and which region each of their pixels is nearest to."""

    pixels: Pixels  # at ``zoom`` times the scale of the network
    cells: Cells  # (f, h, w)
    zoom: float


def _searched(
    clusters: Sequence[Cluster], searches: Sequence[Search], shown: CellPixels, *, others_known: bool, trim: bool
) -> dict[tuple[int, int], Feasible]:
    """The feasible sets of all members whose class is known, by the indices of cluster and member."""
    found: dict[tuple[int, int], Feasible] = {}
    for kind, search in enumerate(searches):
        own = [
            (index, number)
            for index, cluster in enumerate(clusters)
            for number, member in enumerate(cluster.members)
            if member.kind == kind
        ]
        for some in (own[start : start + TOGETHER] for start in range(0, len(own), TOGETHER)):
            touched = {index for index, _ in some}
            busy = {index: clusters[index].busy(shown.cells, others_known=others_known) for index in touched}
            where = Where(
                np.array([clusters[index].place[0] for index, _ in some]),
                np.array([clusters[index].members[number].box(clusters[index].corner) for index, number in some]),
                np.stack([busy[index][number] for index, number in some]),
            )
            sets = search_boxes(search, shown.pixels, where, shown.zoom, trim=trim)
            found |= {known: sets.only(np.array([row])) for row, known in enumerate(some)}
    return found


def at_border(cluster: Cluster, member: Member, size: tuple[int, int]) -> bool:
    """May a member reach beyond a frame of this height and width?"""
    rows, columns = np.nonzero(cluster.cover(member, faintly=True))
    left, top = cluster.corner
    beyond = (rows + top < 0) | (columns + left < 0) | (rows + top >= size[0]) | (columns + left >= size[1])
    return bool(beyond.any())
