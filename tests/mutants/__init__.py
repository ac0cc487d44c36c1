"""Changes to the code that weaken the certificate, each of which a test must notice: ``python -m tests.mutants``.

A further one is one entry in theory.py, certificate.py, inference.py or tracking.py.
"""
