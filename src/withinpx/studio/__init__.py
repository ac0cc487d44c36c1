"""The web page: drop a clip, watch it being learned, read its certificate, move its objects."""
