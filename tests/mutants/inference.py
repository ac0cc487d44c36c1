"""Mutants of what is measured in every frame."""

from tests.mutants.mutant import Mutant

OBSERVATION, COMPARISON, REGISTRATION, MASKS = (
    f"inference/{name}.py" for name in ("observation", "comparison", "registration", "masks")
)
RECEPTIVE_FIELD, RENDER = "model/receptive_field.py", "model/render.py"
OBSERVATION_TESTS = ("inference/test_observation.py",)
REGISTRATION_TESTS = ("inference/test_registration.py",)
TOUCHING, TOUCHING_TESTS = "inference/touching.py", ("inference/test_touching.py",)
FEASIBLE, FEASIBLE_TESTS = "inference/feasible.py", ("inference/test_feasible.py",)
MASK_TESTS = ("inference/test_masks.py",)

INFERENCE_MUTANTS = (
    Mutant(
        "a frame that shows nothing of an object has a set",
        FEASIBLE,
        "    if must_show:",
        "    if False:",
        FEASIBLE_TESTS,
    ),
    Mutant(
        "a frame that shows a tenth of an object has a set",
        FEASIBLE,
        "SHOWN = 0.5 ",
        "SHOWN = 0.1 ",
        FEASIBLE_TESTS,
    ),
    Mutant(
        "views that training never saw need not agree with a silhouette",
        TOUCHING,
        "if sure.any() and agree else None",
        "if sure.any() else None",
        TOUCHING_TESTS,
    ),
    Mutant(
        "an object that touches others is compared where they cover it",
        TOUCHING,
        "np.asarray(count > mask)",
        "np.asarray(count < mask)",
        TOUCHING_TESTS,
    ),
    Mutant(
        "before others are known there are none",
        TOUCHING,
        "covers = [self.cover(Member(rest), faintly=True) for rest in rests]",
        "covers = [np.zeros_like(self.clear) for _ in rests]",
        TOUCHING_TESTS,
    ),
    Mutant(
        "the border cuts no object off that touches others",
        TOUCHING,
        "return bool(beyond.any())",
        "return bool(beyond.all())",
        TOUCHING_TESTS,
    ),
    Mutant(
        "a region of which a part is unexplained is divided",
        TOUCHING,
        "                return False\n",
        "                return True\n",
        TOUCHING_TESTS,
    ),
    Mutant(
        "few views are enough for a silhouette",
        TOUCHING,
        "if len(trained) < SEEN:",
        "if len(trained) < 1:",
        TOUCHING_TESTS,
    ),
    Mutant(
        "heatmap values a pixel beyond the encoder's term do not leak",
        OBSERVATION,
        "reach=encoder_rf / 2 - 1,",
        "reach=encoder_rf / 2,",
        ("certificate/test_worst_case.py",),
    ),
    Mutant(
        "heatmap values far from the object do not leak",
        COMPARISON,
        "self.box.double().amax(dim=-1) / 2 + reach",
        "self.box.double().amax(dim=-1) / 2 + 10 * reach",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "leakage counts along the better axis",
        COMPARISON,
        "return moved.amax(dim=-1), ",
        "return moved.amin(dim=-1), ",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "a heatmap that lies elsewhere altogether does not leak",
        OBSERVATION,
        "float(max(heatmaps.size)))",
        "0.0)",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "no heatmap has mass elsewhere",
        COMPARISON,
        "(1 - mass).clamp(min=0)",
        "(0 * mass).clamp(min=0)",
        OBSERVATION_TESTS,
    ),
    Mutant("no object reaches the border", COMPARISON, "BORDER_PX = 0.75", "BORDER_PX = -100.0", OBSERVATION_TESTS),
    Mutant(
        "the right and lower border cut nothing off",
        COMPARISON,
        "((low < BORDER_PX) | (high > size - BORDER_PX))",
        "((low < BORDER_PX) | (high < low))",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "an object must reach the border on both axes",
        COMPARISON,
        "| (high > size - BORDER_PX)).any(dim=-1)",
        "| (high > size - BORDER_PX)).all(dim=-1)",
        OBSERVATION_TESTS,
    ),
    Mutant("an empty frame shows every object", COMPARISON, "ABSENT = 0.2", "ABSENT = -1.0", OBSERVATION_TESTS),
    Mutant("a trace of an object shows it", COMPARISON, "ABSENT = 0.2", "ABSENT = 0.02", OBSERVATION_TESTS),
    Mutant(
        "unused heatmaps show an object",
        OBSERVATION,
        "present[:, list(unused)] = False",
        "pass",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "the residual counts along the better axis",
        OBSERVATION,
        "np.abs(self.offset).max(axis=-1)",
        "np.abs(self.offset).min(axis=-1)",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "the size is the shorter side",
        OBSERVATION,
        "return np.asarray(self.box.max(axis=-1))",
        "return np.asarray(self.box.min(axis=-1))",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "the encoder sees the background",
        OBSERVATION,
        "foreground_only(frames.image(wider), frames.changed_in(wider)[:, 0])",
        "foreground_only(frames.image(wider), frames.changed_in(wider)[:, 0] | True)",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "renderings are compared with noise too",
        OBSERVATION,
        "return torch.where(self.changed_in(windows), self.image(windows), self.background(windows))",
        "return self.image(windows)",
        OBSERVATION_TESTS,
    ),
    Mutant(
        "nothing that moves is unexplained",
        OBSERVATION,
        "left > 0.5 * changed",
        "left > 5 * changed",
        OBSERVATION_TESTS,
    ),
    Mutant("the frame is searched one pixel far", REGISTRATION, "SEARCH_PX = 6", "SEARCH_PX = 1", REGISTRATION_TESTS),
    Mutant(
        "offsets are whole pixels",
        REGISTRATION,
        "return Registration(whole + part,",
        "return Registration(whole,",
        REGISTRATION_TESTS,
    ),
    Mutant(
        "offsets are parts of a pixel only",
        REGISTRATION,
        "return Registration(whole + part,",
        "return Registration(part,",
        REGISTRATION_TESTS,
    ),
    Mutant(
        "every rendering explains its frame",
        REGISTRATION,
        "1 - left / energy.clamp(min=1e-12)",
        "1 - 0 * left / energy.clamp(min=1e-12)",
        REGISTRATION_TESTS,
    ),
    Mutant(
        "an empty frame is explained",
        REGISTRATION,
        "torch.zeros_like(energy))",
        "torch.ones_like(energy))",
        REGISTRATION_TESTS,
    ),
    Mutant(
        "the rendering's energy is what the frame shows",
        REGISTRATION,
        "energy = (shown**2 * support)",
        "energy = (moved**2 * support)",
        REGISTRATION_TESTS,
    ),
    Mutant(
        "only the brightest pixels are the object's",
        MASKS,
        "low: float = 0.1, high: float = 0.4",
        "low: float = 0.6, high: float = 0.9",
        MASK_TESTS,
    ),
    Mutant(
        "a gap in an object makes its box smaller",
        MASKS,
        "covered = torch.minimum(*from_both)",
        "pass",
        MASK_TESTS,
    ),
    Mutant(
        "the shadow belongs to the object",
        MASKS,
        "return contrast * (1 - shadow(image, background, soft_mask(contrast)))",
        "return contrast",
        MASK_TESTS,
    ),
    Mutant(
        "a receptive field is measured on one random input",
        RECEPTIVE_FIELD,
        "TRIALS = 4",
        "TRIALS = 1",
        ("model/test_receptive_field.py",),
    ),
    Mutant(
        "a receptive field is what reaches to one side of its centre",
        RECEPTIVE_FIELD,
        "(touched.nonzero() - centre).abs().max()",
        "(touched.nonzero() - centre).max()",
        ("model/test_receptive_field.py",),
    ),
    Mutant(
        "the Gaussian reaches beyond its support",
        RENDER,
        "return gaussian * (1 - (distance / support) ** 2).clamp(min=0) ** 2",
        "return gaussian",
        ("model/test_render.py",),
    ),
)
