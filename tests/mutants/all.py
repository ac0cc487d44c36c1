"""Every mutant, from the theorem to the table of tracks."""

from tests.mutants.certificate import CERTIFICATE_MUTANTS
from tests.mutants.inference import INFERENCE_MUTANTS
from tests.mutants.membership import MEMBERSHIP_MUTANTS
from tests.mutants.outlines import OUTLINE_MUTANTS
from tests.mutants.theory import THEORY_MUTANTS
from tests.mutants.tracking import TRACKING_MUTANTS

MUTANTS = (
    *THEORY_MUTANTS,
    *CERTIFICATE_MUTANTS,
    *MEMBERSHIP_MUTANTS,
    *OUTLINE_MUTANTS,
    *INFERENCE_MUTANTS,
    *TRACKING_MUTANTS,
)
