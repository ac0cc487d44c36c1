"""Mutants of outlines: the sets of objects that change their appearance."""

from tests.mutants.mutant import Mutant

OUTLINE, FEASIBLE = "inference/outline.py", "inference/feasible.py"
OUTLINES, MEMBERSHIP, PLANTING = (f"certificate/{name}.py" for name in ("outlines", "membership", "planting"))
ASSUMPTIONS, CERTIFICATE, DETECTOR = "certificate/assumptions.py", "certificate/certificate.py", "tracking/detector.py"
RANGE_TESTS = ("inference/test_outline.py",)
SEARCH_TESTS = ("inference/test_feasible.py",)
RULE_TESTS = ("certificate/test_outlines.py",)
BOUND_TESTS = ("certificate/test_membership.py",)
EQUIVARIANCE_TESTS = ("certificate/test_equivariance.py",)

OUTLINE_MUTANTS = (
    Mutant(
        "a corner's tip is seen to its end",
        OUTLINE,
        "edge = max(EDGE_PX, EDGE * (last - first))",
        "edge = 0.0",
        RANGE_TESTS,
    ),
    Mutant(
        "an outline ends at the middle of its last pixel",
        OUTLINE,
        "ends.append(inside - 0.5 + step * (above - level) / max(above - below, 1e-12))",
        "ends.append(inside - 0.5)",
        RANGE_TESTS,
    ),
    Mutant(
        "the centroid need not be in the range",
        OUTLINE,
        "centroids = [_centroid(mask.sum(axis=axis)) for mask in (outer, inner)]",
        "centroids = [middle]",
        RANGE_TESTS,
    ),
    Mutant(
        "an object may be cut off by the border",
        OUTLINE,
        "if _is_cut_off(body[1], left, top, view.frame.shape[:2]):",
        "if False:",
        RANGE_TESTS,
    ),
    Mutant(
        "an outline may touch another object",
        OUTLINE,
        "if (region & ~free).any():",
        "if (region & ~free).all():",
        RANGE_TESTS,
    ),
    Mutant(
        "no other region can be the object",
        OUTLINE,
        "return bool(len(areas) and areas.max() > OTHER * (region & strong).sum())",
        "return False",
        RANGE_TESTS,
    ),
    Mutant(
        "the edges of a faint object are clear",
        OUTLINE,
        "return self.noise < INNER / 2 * self.strength",
        "return self.noise < self.strength",
        RANGE_TESTS,
    ),
    Mutant(
        "an outline may disagree with what is rendered",
        FEASIBLE,
        "if (np.abs(rendered - (low + high) / 2) > high - low).any():",
        "if (np.abs(rendered - (low + high) / 2) > 10 * (high - low)).any():",
        SEARCH_TESTS,
    ),
    Mutant(
        "what is rendered need not be in the range",
        FEASIBLE,
        "low, high = np.minimum(low, rendered), np.maximum(high, rendered)",
        "pass",
        SEARCH_TESTS,
    ),
    Mutant(
        "an outline at the border may be cut off",
        FEASIBLE,
        "if seen.at_border[frame, index] and not limits.whole:",
        "if False:",
        SEARCH_TESTS,
    ),
    Mutant(
        "at the border an outline is whole if its body is",
        OUTLINE,
        "whole = not _is_cut_off(region, left",
        "whole = not _is_cut_off(body[1], left",
        SEARCH_TESTS,
    ),
    Mutant(
        "at the border a template shows that an object is whole",
        CERTIFICATE,
        ".all(axis=1) & outlined",
        ".all(axis=1)",
        BOUND_TESTS,
    ),
    Mutant(
        "at the border an object is whole though it has no outline",
        CERTIFICATE,
        "shown_whole = np.isfinite(seen.sets.low[:, index]).all(axis=1) & outlined",
        "shown_whole = np.full(len(seen), outlined)",
        BOUND_TESTS,
    ),
    Mutant(
        "at the border the bound of z is that of a rendering that is cut off",
        DETECTOR,
        "np.where(seen.at_border[:, used], np.maximum(theorem_px, furthest), theorem_px)",
        "theorem_px",
        BOUND_TESTS,
    ),
    Mutant(
        "a small object's outline may jump",
        OUTLINES,
        "large = size >= SMALL_PX or (size >= SMALLEST_PX and steady(case, outlined))",
        "large = size >= SMALLEST_PX",
        RULE_TESTS,
    ),
    Mutant(
        "jumps of the size count once",
        OUTLINES,
        "JUMPS * float(jumps.max()) <= max(EDGE_PX",
        "float(jumps.max()) <= JUMPS * max(EDGE_PX",
        RULE_TESTS,
    ),
    Mutant(
        "pasted outlines may differ",
        OUTLINES,
        "return large and outlined.check.met and",
        "return large and",
        RULE_TESTS,
    ),
    Mutant(
        "outlines of any size seen are the object's alone",
        OUTLINES,
        "return fences(sizes, blur)",
        "return fences(np.array([np.nanmin(sizes), np.nanmax(sizes)]), blur)",
        RULE_TESTS,
    ),
    Mutant(
        "no object changes its size",
        OUTLINES,
        "return bool(larger - smaller > SPARE * usual + blur)",
        "return False",
        RULE_TESTS,
    ),
    Mutant(
        "no object turns about another point than its middle",
        OUTLINES,
        "return bool(spread.max() > max(blur, SPARE * size) / 2)",
        "return False",
        RULE_TESTS,
    ),
    Mutant(
        "a template that is not tight is trusted though nothing shows a rigid object",
        MEMBERSHIP,
        "rigid = outline is not None and not",
        "rigid = outline is None or not",
        RULE_TESTS,
    ),
    Mutant(
        "pasted objects bring their background along",
        PLANTING,
        "own = to_float(stage.images[source])[part] + background",
        "own = to_float(stage.images[source])[part] + 0 * background",
        RULE_TESTS,
    ),
    Mutant(
        "equivariance is that of a frame without room for it",
        ASSUMPTIONS,
        "or min(config.width, config.height) >= least:",
        "or config.width >= least:",
        EQUIVARIANCE_TESTS,
    ),
    Mutant(
        "outlines that jump are trusted, however rigid the object is",
        MEMBERSHIP,
        "and _may_be_coded(case, one, found) and not steady(case, outline))",
        "and False)",
        ("certificate/test_outlines.py",),
    ),
    Mutant(
        "no codec moves the edges of an object that has no hue",
        "certificate/centre.py",
        "own.max() == 0 or own.min()",
        "own.min()",
        ("certificate/test_centre.py",),
    ),
)
