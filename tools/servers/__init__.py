"""Servers on 127.0.0.1 for tests, benchmarks and studies without a provider.

http    HTTP/1.1 over asyncio, nothing more
model   the OpenAI protocol in full, on models that ship with gridc
batches /v1/files and /v1/batches around one of the others
faults  the same protocol with everything that goes wrong on a network
"""
