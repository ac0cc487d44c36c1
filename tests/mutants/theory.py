"""Mutants of the theorem, its corollaries and the design of networks."""

from tests.mutants.mutant import Mutant

BOUND, COROLLARIES, DESIGN = "theory/bound.py", "theory/corollaries.py", "theory/design.py"
BOUND_TESTS = ("theory/test_bound.py",)
COROLLARY_TESTS = ("theory/test_corollaries.py",)
DESIGN_TESTS = ("theory/test_design.py",)
WORST_CASE_TESTS = ("certificate/test_worst_case.py",)  # networks whose z is off by the whole bound

THEORY_MUTANTS = (
    Mutant("the gate adds nothing to the receptive field", BOUND, "GATE_PX = 2", "GATE_PX = 0", WORST_CASE_TESTS),
    Mutant("the gate adds a pixel on one side only", BOUND, "GATE_PX = 2", "GATE_PX = 1", WORST_CASE_TESTS),
    Mutant(
        "the encoder must share two pixels with the object",
        BOUND,
        "return encoder_rf / 2 + object_size / 2 - 1",
        "return encoder_rf / 2 + object_size / 2 - 2",
        WORST_CASE_TESTS,
    ),
    Mutant(
        "the encoder's term leaves the object out",
        BOUND,
        "return encoder_rf / 2 + object_size / 2 - 1",
        "return encoder_rf / 2",
        WORST_CASE_TESTS,
    ),
    Mutant(
        "the decoder's term leaves the Gaussian out",
        BOUND,
        "return decoder_rf / 2 - object_size / 2 + reach",
        "return decoder_rf / 2 - object_size / 2",
        WORST_CASE_TESTS,
    ),
    Mutant(
        "the decoder's term subtracts the whole object",
        BOUND,
        "return decoder_rf / 2 - object_size / 2 + reach",
        "return decoder_rf / 2 - object_size + reach",
        WORST_CASE_TESTS,
    ),
    Mutant(
        "the support reaches half as far as the Gaussian",
        BOUND,
        "return self.radius",
        "return self.radius / 2",
        WORST_CASE_TESTS,
    ),
    Mutant(
        "the Gaussian reaches one standard deviation only",
        BOUND,
        "return self.n_sigma * self.sigma",
        "return self.sigma",
        BOUND_TESTS,
    ),
    Mutant(
        "the bound's probability is that of a wider Gaussian",
        BOUND,
        "math.erf(self.n_sigma / math.sqrt(2))",
        "math.erf(self.n_sigma)",
        BOUND_TESTS,
    ),
    Mutant(
        "a range of sizes has the bound of its smallest size",
        BOUND,
        "worst = min(max(crossing, sizes.smallest), sizes.largest)",
        "worst = sizes.smallest",
        BOUND_TESTS,
    ),
    Mutant(
        "a range of sizes has the bound of its largest size",
        BOUND,
        "worst = min(max(crossing, sizes.smallest), sizes.largest)",
        "worst = sizes.largest",
        BOUND_TESTS,
    ),
    Mutant(
        "the worst size is computed without the Gaussian",
        BOUND,
        "return decoder_rf / 2 - encoder_rf / 2 + 1 + reach",
        "return decoder_rf / 2 - encoder_rf / 2 + 1",
        BOUND_TESTS,
    ),
    Mutant(
        "the bound is the decoder's term alone",
        BOUND,
        "bound=min(encoder, decoder)",
        "bound=decoder",
        BOUND_TESTS,
    ),
    Mutant(
        "every bound is called deterministic",
        BOUND,
        'deterministic = limiting == "encoder" or rendering.deterministic',
        "deterministic = True",
        BOUND_TESTS,
    ),
    Mutant(
        "a decoder that cannot hold the largest object has a bound",
        BOUND,
        "if decoder_rf < sizes.largest:",
        "if decoder_rf < sizes.smallest / 2:",
        BOUND_TESTS,
    ),
    Mutant(
        "cor. B.1 leaves the Gaussian out where both terms limit",
        COROLLARIES,
        "return _vs_encoder_rf(decoder_rf, sizes, reach, border=2 * reach, middle=reach / 2)",
        "return _vs_encoder_rf(decoder_rf, sizes, reach, border=2 * reach, middle=0)",
        COROLLARY_TESTS,
    ),
    Mutant(
        "cor. 4.2 changes regions where it would without a Gaussian",
        COROLLARIES,
        "return _vs_encoder_rf(decoder_rf, sizes, reach, border=2 * reach, middle=reach / 2)",
        "return _vs_encoder_rf(decoder_rf, sizes, reach, border=0, middle=reach / 2)",
        COROLLARY_TESTS,
    ),
    Mutant(
        "cor. 4.3 leaves a pixel out of the encoder's term",
        COROLLARIES,
        'Region(math.inf, "encoder", 0, encoder_rf / 2 + sizes.largest / 2 - 1),',
        'Region(math.inf, "encoder", 0, encoder_rf / 2 + sizes.largest / 2 - 2),',
        COROLLARY_TESTS,
    ),
    Mutant(
        "cor. 4.4 leaves the Gaussian out",
        COROLLARIES,
        'Region(decoder_rf, "decoder", -1 / 2, decoder_rf / 2 + reach),',
        'Region(decoder_rf, "decoder", -1 / 2, decoder_rf / 2),',
        COROLLARY_TESTS,
    ),
    Mutant(
        "cor. 4.5 has the crossing of one standard deviation",
        COROLLARIES,
        "crossing = slack / n_sigma if n_sigma > 0",
        "crossing = slack if n_sigma > 0",
        COROLLARY_TESTS,
    ),
    Mutant(
        "a designed Gaussian is cut off at two standard deviations",
        DESIGN,
        "SUPPORT_SIGMAS = 4 ",
        "SUPPORT_SIGMAS = 2 ",
        DESIGN_TESTS,
    ),
    Mutant(
        "a design's bound counts half of the support that is rendered",
        DESIGN,
        "return error_bound(self.encoder_rf, self.decoder_rf, self.sizes, CompactSupport(self.support))",
        "return error_bound(self.encoder_rf, self.decoder_rf, self.sizes, CompactSupport(self.support / 2))",
        DESIGN_TESTS,
    ),
    Mutant(
        "a design may miss its target by a pixel",
        DESIGN,
        "if network.bound.bound <= target + ROUNDING:",
        "if network.bound.bound <= target + 1:",
        DESIGN_TESTS,
    ),
    Mutant(
        "a design is for its smallest object only",
        DESIGN,
        "return error_bound(self.encoder_rf, self.decoder_rf, self.sizes, CompactSupport(self.support))",
        "return error_bound(self.encoder_rf, self.decoder_rf, self.sizes.smallest, CompactSupport(self.support))",
        DESIGN_TESTS,
    ),
)
