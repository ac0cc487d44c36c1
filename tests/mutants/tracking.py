"""Mutants of the frames that are kept out of training, and of the bound in the table of tracks."""

from tests.mutants.mutant import Mutant

ATTEMPT, DETECTOR = "tracking/attempt.py", "tracking/detector.py"
ATTEMPT_TESTS = ("tracking/test_attempt.py",)
SHIFT_TESTS = ("certificate/test_shift.py",)
IDENTITY, IDENTITY_TESTS = "discovery/identity.py", ("discovery/test_identity.py",)
SUM = "added = (seen.leakage + np.nan_to_num(seen.residual) + off_centre)[:, used] / self.scale"

TRACKING_MUTANTS = (
    Mutant(
        "regions are divided though objects of the clip are left out",
        "discovery/classes.py",
        "complete = len(inspection.objects) == sum(map(len, groups))",
        "complete = True",
        ("discovery/test_regions.py",),
    ),
    Mutant(
        "silhouettes are measured though other objects may be in a region",
        ATTEMPT,
        " or not classes.complete",
        "",
        ("tracking/test_attempt.py",),
    ),
    Mutant(
        "training sees the kept-out frames",
        ATTEMPT,
        "trained = np.setdiff1d(frames, kept_out) if count >= 2 * KEEP_OUT else frames",
        "trained = frames",
        ATTEMPT_TESTS,
    ),
    Mutant(
        "a network is judged by the frames of its training",
        ATTEMPT,
        "return certified_attempt(setup, model, kept_out)",
        "return certified_attempt(setup, model, trained)",
        ATTEMPT_TESTS,
    ),
    Mutant(
        "the certificate judges all frames",
        ATTEMPT,
        "fields=fields, kept_out=kept_out, shifts=shifts",
        "fields=fields, kept_out=np.arange(len(seen)), shifts=shifts",
        ATTEMPT_TESTS,
    ),
    Mutant(
        "calibration to blobs forgets the offset of each frame",
        ATTEMPT,
        "found.astype(np.float64) - seen.offset, varies=True",
        "found.astype(np.float64), varies=True",
        SHIFT_TESTS,
    ),
    Mutant("the bound leaves leakage out", DETECTOR, SUM, SUM.replace("seen.leakage + ", ""), SHIFT_TESTS),
    Mutant(
        "the bound leaves the residual out",
        DETECTOR,
        SUM,
        SUM.replace("np.nan_to_num(seen.residual) + ", ""),
        SHIFT_TESTS,
    ),
    Mutant(
        "the bound leaves the offset of the centre out", DETECTOR, SUM, SUM.replace(" + off_centre", ""), SHIFT_TESTS
    ),
    Mutant(
        "what is added to the bound stays in scaled-down pixels",
        DETECTOR,
        SUM,
        SUM.replace(" / self.scale", ""),
        SHIFT_TESTS,
    ),
    Mutant(
        "the bound around the position leaves its distance from z out",
        DETECTOR,
        "np.abs(positions - z).max(axis=-1)",
        "0 * np.abs(positions - z).max(axis=-1)",
        SHIFT_TESTS,
    ),
    Mutant(
        "the distance from z counts along the better axis",
        DETECTOR,
        "np.abs(positions - z).max(axis=-1)",
        "np.abs(positions - z).min(axis=-1)",
        SHIFT_TESTS,
    ),
    Mutant(
        "the offset of the centre counts along the better axis",
        DETECTOR,
        "off_centre = np.abs(centre - seen.centre).max(axis=-1)",
        "off_centre = np.abs(centre - seen.centre).min(axis=-1)",
        SHIFT_TESTS,
    ),
    Mutant(
        "rounding is not part of the bound",
        DETECTOR,
        "theorem + added + ROUNDING_PX",
        "theorem + added",
        SHIFT_TESTS,
    ),
    Mutant(
        "refused positions carry a bound",
        DETECTOR,
        'np.where(reasons == "", theorem + added + ROUNDING_PX, np.nan)',
        "theorem + added + ROUNDING_PX",
        SHIFT_TESTS,
    ),
    Mutant(
        "positions leave the offset of their frame out",
        DETECTOR,
        "rendered = (centre + np.where(seen.present[..., None], seen.offset, 0))[:, used]",
        "rendered = centre[:, used]",
        SHIFT_TESTS,
    ),
    Mutant(
        "the theorem's bound alone shows that a region is one object",
        IDENTITY,
        "sure = found.one & ~found.several",
        "sure = ~np.isnan(found.bound) & ~found.several",
        IDENTITY_TESTS,
    ),
    Mutant(
        "an object that is out of sight is nowhere",
        IDENTITY,
        "sure = found.one & ~found.several & ~hides",
        "sure = found.one & ~found.several",
        IDENTITY_TESTS,
    ),
    Mutant(
        "nothing vanishes away from the border",
        IDENTITY,
        "hidden |= (gaps(reach, doors) <= step_px).any(axis=1)",
        "hidden |= False",
        IDENTITY_TESTS,
    ),
    Mutant(
        "a refused detection is as small as a certified one",
        IDENTITY,
        "return np.where(np.isnan(self.bound)[:, None], self.box, known)",
        "return np.nan_to_num(known, nan=-1e6)",
        IDENTITY_TESTS,
    ),
)
