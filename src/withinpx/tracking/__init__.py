"""From a trained network to positions in the pictures of a clip."""
