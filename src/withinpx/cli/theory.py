"""withinpx bound and withinpx design: the theorem and its inversion."""

from dataclasses import asdict, dataclass

from withinpx.cli.common import Json, print_json, size_range
from withinpx.theory import CompactSupport, Gaussian, error_bound
from withinpx.theory import design as design_network


@dataclass(frozen=True)
class BoundCommand:
    """Theorem 4.1: the largest error of z that a network can have."""

    encoder_rf: int
    """Receptive field of the encoder, px (odd, 1 to 139)."""
    decoder_rf: int
    """Receptive field of the decoder, px (odd, 1 to 139)."""
    object_size: tuple[float, ...]
    """Size of the object, px; two numbers are a range."""
    sigma: float = 0.8
    """Width of the rendered Gaussian, px."""
    n_sigma: float = 2.0
    """Evaluate the bound at this many standard deviations of the Gaussian."""
    support: float | None = None
    """The Gaussian is exactly zero beyond this radius, px; the bound is then deterministic, whatever sigma."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        rendering = Gaussian(self.sigma, self.n_sigma) if self.support is None else CompactSupport(self.support)
        found = error_bound(self.encoder_rf, self.decoder_rf, size_range(self.object_size), rendering)
        n_sigma = self.n_sigma if self.support is None else None
        if self.json:
            return print_json({**asdict(found), "n_sigma": n_sigma})
        print(found.in_words(n_sigma))
        print(f"  encoder term {found.encoder_term:g} px, decoder term {found.decoder_term:g} px: ", end="")
        print("they cross inside the range." if found.limiting == "both" else f"the {found.limiting} limits.")


@dataclass(frozen=True)
class DesignCommand:
    """The network for objects of a given size and, optionally, a target error."""

    object_size: tuple[float, ...]
    """Size of the objects, px; two numbers are a range."""
    target: float | None = None
    """The largest error that is acceptable, px."""
    sigma: float | None = None
    """Width of the rendered Gaussian, px; chosen if not given."""
    json: Json = False
    """Print JSON."""

    def run(self) -> None:
        network = design_network(size_range(self.object_size), self.target, self.sigma)
        if self.json:
            names = ("encoder_rf", "decoder_rf", "sigma", "support", "encoder_filters", "decoder_filters", "why")
            per_size = {f"{size:g}": bound for size, bound in network.bound_per_size.items()}
            numbers = {"bound": network.bound.bound, "bound_per_size": per_size}
            return print_json({name: getattr(network, name) for name in names} | numbers)
        print(network.why)
        print(f"  encoder {network.encoder_rf} px, filters {' '.join(map(str, network.encoder_filters))}")
        print(f"  decoder {network.decoder_rf} px, filters {' '.join(map(str, network.decoder_filters))}")
        for size, bound in network.bound_per_size.items():
            print(f"  an object of {size:g} px is located within {bound:g} px")
