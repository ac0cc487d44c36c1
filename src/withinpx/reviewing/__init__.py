"""What a person changed in a run's tracks: operations, the file that keeps them, and the tracks that they give."""
