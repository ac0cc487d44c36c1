"""A detector as one HTML file that runs in a browser, without a server and without a connection."""
