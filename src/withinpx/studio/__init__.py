"""The web page: upload a clip, watch the training, read the certificate, move the objects."""
