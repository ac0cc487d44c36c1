"""Mutants of set membership: its rules, what is measured for it, and the search."""

from tests.mutants.mutant import Mutant

RULES, CERTIFICATE, DETECTOR = "theory/set_membership.py", "certificate/certificate.py", "tracking/detector.py"
MEMBERSHIP, APPEARANCE, CENTRE, ENDS, PLANTING, FLOOR = (
    f"certificate/{name}.py" for name in ("membership", "appearance", "centre", "ends", "planting", "floor")
)
FEASIBLE, TEMPLATE, OVERLAP = (f"inference/{name}.py" for name in ("feasible", "template", "overlap"))
CASE = "certificate/case.py"
RULE_TESTS = ("theory/test_set_membership.py",)
BOUND_TESTS = ("certificate/test_membership.py",)
MEASURING_TESTS = ("certificate/test_membership_rules.py",)
TRACKED_TESTS = ("certificate/test_measuring.py",)
APPEARANCE_TESTS = ("certificate/test_appearance.py",)
CENTRE_TESTS = ("certificate/test_centre.py",)
SEARCH_TESTS = ("inference/test_feasible.py",)

MEMBERSHIP_MUTANTS = (
    Mutant(
        "a cell's residual is that of its best corner",
        RULES,
        "corner_products.min(axis=-1) / length",
        "corner_products.max(axis=-1) / length",
        RULE_TESTS,
    ),
    Mutant(
        "a set reaches as far as its nearer end",
        RULES,
        "return np.maximum(position - low, high - position)",
        "return np.minimum(position - low, high - position)",
        RULE_TESTS,
    ),
    Mutant(
        "the centre's tolerance is half of what the boxes allow",
        RULES,
        "((near - first) + (last - far)) / 4",
        "((near - first) + (last - far)) / 8",
        RULE_TESTS,
    ),
    Mutant(
        "the bound leaves the centre's tolerance out",
        RULES,
        "np.fmin((set_px + centre_px).max(axis=-1), theorem_px + distance)",
        "np.fmin(set_px.max(axis=-1), theorem_px + distance)",
        RULE_TESTS,
    ),
    Mutant(
        "the bound is that of the better axis",
        RULES,
        "np.fmin((set_px + centre_px).max(axis=-1), theorem_px + distance)",
        "np.fmin((set_px + centre_px).min(axis=-1), theorem_px + distance)",
        RULE_TESTS,
    ),
    Mutant(
        "the theorem's bound around z is taken for one around the position",
        RULES,
        "theorem_px + distance))",
        "theorem_px))",
        RULE_TESTS,
    ),
    Mutant(
        "frames in which no rendering fits are certified",
        CERTIFICATE,
        '& (reasons[:, obj.object] == ""), obj.object] = "mismatch"',
        '& (reasons[:, obj.object] == ""), obj.object] = ""',
        BOUND_TESTS,
    ),
    Mutant(
        "a set that was not searched as far as the theorem allows counts",
        DETECTOR,
        "complete = theorem + known.furthest * (1 + resized[:, 0]) <= known.reach",
        "complete = theorem <= theorem",
        BOUND_TESTS,
    ),
    Mutant(
        "the search may end short of a larger object's centre",
        DETECTOR,
        "complete = theorem + known.furthest * (1 + resized[:, 0]) <= known.reach",
        "complete = theorem + known.furthest <= known.reach",
        BOUND_TESTS,
    ),
    Mutant(
        "the tolerance of an object in perspective does not grow with it",
        DETECTOR,
        "added = resized * known.tolerance",
        "added = 0 * resized * known.tolerance",
        BOUND_TESTS,
    ),
    Mutant(
        "the middle of an object in perspective does not move with its size",
        DETECTOR,
        "values[:, index] + size * known.middle for values",
        "values[:, index] + known.middle for values",
        BOUND_TESTS,
    ),
    Mutant("eps is the largest residual itself", MEMBERSHIP, "KAPPA = 1.5", "KAPPA = 1.0", MEASURING_TESTS),
    Mutant(
        "without a set, something as large may be left over",
        CERTIFICATE,
        "seen.unexplained[:, 0] > UNEXPLAINED * seen.box[:, index]",
        "seen.unexplained[:, 0] < -UNEXPLAINED * seen.box[:, index]",
        BOUND_TESTS,
    ),
    Mutant(
        "a template may accept another object",
        MEMBERSHIP,
        "            if mistaken:\n",
        "            if mistaken < 0:\n",
        TRACKED_TESTS,
    ),
    Mutant(
        "eps allows for unusual residuals",
        MEMBERSHIP,
        "    by_itself = usual & case.alone[:, index]",
        "    by_itself = (usual := shown) & case.alone[:, index]",
        MEASURING_TESTS,
    ),
    Mutant(
        "eps comes from frames that training saw",
        MEMBERSHIP,
        "known = case.kept_out[(by_itself if by_itself[case.kept_out].any() else usual)[case.kept_out]]",
        "known = np.flatnonzero(by_itself)",
        MEASURING_TESTS,
    ),
    Mutant(
        "eps is the usual residual",
        MEMBERSHIP,
        "first.residual[known, index].max()",
        "np.median(first.residual[known, index])",
        MEASURING_TESTS,
    ),
    Mutant(
        "the search does not allow for the centre's tolerance",
        MEMBERSHIP,
        "+ centre.furthest * (1 + resized)",
        "+ 0.0 * resized",
        MEASURING_TESTS,
    ),
    Mutant(
        "planted positions may lie outside",
        CASE,
        '"share", outside == 0 and inside > 0, message)',
        '"share", inside > 0, message)',
        MEASURING_TESTS,
    ),
    Mutant(
        "no planted position has to be accepted",
        CASE,
        '"share", outside == 0 and inside > 0, message)',
        '"share", outside == 0, message)',
        MEASURING_TESTS,
    ),
    Mutant(
        "a template holds what is beside the object",
        APPEARANCE,
        "inside &= free_pixels(",
        "inside |= free_pixels(",
        APPEARANCE_TESTS,
    ),
    Mutant(
        "an object in perspective is measured at one size",
        APPEARANCE,
        "    if size != FLAT:",
        "    if False:",
        APPEARANCE_TESTS,
    ),
    Mutant(
        "positions are not fitted to the template",
        APPEARANCE,
        "ROUNDS = 2 ",
        "ROUNDS = 0 ",
        APPEARANCE_TESTS,
    ),
    Mutant(
        "the faint edge of an object is not a part of it",
        ENDS,
        "OUTER = 1 / 16",
        "OUTER = 0.45",
        CENTRE_TESTS,
    ),
    Mutant(
        "ends are taken for alike, however they look",
        ENDS,
        "return largest**2",
        "return 1.0",
        CENTRE_TESTS,
    ),
    Mutant(
        "blur does not make ends look more alike",
        ENDS,
        "return largest**2",
        "return largest",
        CENTRE_TESTS,
    ),
    Mutant(
        "ends are compared even if blur reaches from one to the other",
        ENDS,
        "UNTOUCHED = 0.5 ",
        "UNTOUCHED = 9.0 ",
        CENTRE_TESTS,
    ),
    Mutant(
        "the edges of ends that are alike may be at any shares of one interval only",
        RULES,
        "near[one, 0] + far[other, 0]",
        "near[one, 0] + far[one, 0]",
        RULE_TESTS,
    ),
    Mutant(
        "a shadow does not widen the tolerance",
        CENTRE,
        "for lit in (portrait.lit, np.ones_like(portrait.lit))",
        "for lit in (portrait.lit, portrait.lit)",
        CENTRE_TESTS,
    ),
    Mutant(
        "other objects count for the centre",
        OVERLAP,
        "= False\n    return free",
        "= True\n    return free",
        CENTRE_TESTS,
    ),
    Mutant(
        "sizes do not count for the centre",
        CENTRE,
        "- position[axis]) / sizes[frame] + half[axis])",
        "- position[axis]) + half[axis])",
        CENTRE_TESTS,
    ),
    Mutant(
        "cells are excluded by the residual of their mean rendering",
        FEASIBLE,
        "within, cell = (lower <= eps).nonzero().T",
        "within, cell = (middle <= 0.98 * eps).nonzero().T",
        SEARCH_TESTS,
    ),
    Mutant(
        "parts of cells are excluded by a smaller eps",
        FEASIBLE,
        "cell, part = (residual <= eps).nonzero().T",
        "cell, part = (residual <= 0.98 * eps).nonzero().T",
        SEARCH_TESTS,
    ),
    Mutant(
        "the cells at the ends of a set are left out",
        FEASIBLE,
        "for own in at_ends.nonzero().squeeze(1).split(CELLS_AT_ONCE):",
        "for own in at_ends.nonzero().squeeze(1)[:0].split(CELLS_AT_ONCE):",
        SEARCH_TESTS,
    ),
    Mutant(
        "the cells at the ends of a set are not divided",
        FEASIBLE,
        "cell, part = (residual <= eps).nonzero().T",
        "cell, part = (residual < torch.inf).nonzero().T",
        SEARCH_TESTS,
    ),
    Mutant(
        "the search ends a pixel and a half short",
        FEASIBLE,
        "reach = search.reach * zoom / self.pool",
        "reach = max(search.reach * zoom / self.pool - 1.5, 0.5)",
        SEARCH_TESTS,
    ),
    Mutant(
        "other objects are compared with the template",
        FEASIBLE,
        "return inside & (others == 0).to(device)",
        "return inside",
        SEARCH_TESTS,
    ),
    Mutant(
        "a frame that no rendering fits has a set",
        FEASIBLE,
        "| (self._residual > eps)[:, None]",
        "",
        SEARCH_TESTS,
    ),
    Mutant(
        "a template is rendered at one size",
        TEMPLATE,
        "return self if size == 1 and self.size == FLAT else _scaled(self, float(size))",
        "return self",
        SEARCH_TESTS,
    ),
    Mutant(
        "the background shows through where the object is opaque",
        TEMPLATE,
        "torch.cat([(p * q).sum(dim=1, keepdim=True), -(a * q + b * p), a * b, -(p + q), a + b], dim=1)",
        "torch.cat([(p * q).sum(dim=1, keepdim=True), -(a * q + b * p), a * b, -(p + q), 0 * (a + b)], dim=1)",
        SEARCH_TESTS,
    ),
    Mutant(
        "frames that a template does not fit do not count",
        "certificate/membership.py",
        "fitting = np.isfinite(found.low[one.good & case.alone[:, one.index], one.index]).all(axis=1)",
        "fitting = np.ones(1, np.bool_)",
        ("certificate/test_membership_rules.py",),
    ),
)
