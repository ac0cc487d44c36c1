"""From a recording to certified tracks, and what is written of them."""
