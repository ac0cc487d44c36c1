"""A run's options as ``track`` takes them."""

from withinpx.studio.reading import WatchedSelection
from withinpx.studio.runs import Options
from withinpx.tracking.plan import Wishes
from withinpx.tracking.track import TrackSettings

NARROW = 24  # channels of a quick run's network
CHANNELS = 32


def track_settings(options: Options) -> TrackSettings:
    """The same choices; a quick run has one seed to try."""
    wishes = Wishes(
        options.objects,
        options.background,
        target=options.target,
        channels=NARROW if options.quick else CHANNELS,
    )
    return TrackSettings(
        WatchedSelection(crop=options.crop),
        wishes,
        options.seed,
        budget_s=0.0 if options.quick else TrackSettings.budget_s,
    )
