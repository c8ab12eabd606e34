"""Models behind an address: providers through litellm, OpenAI-compatible servers directly.

wire       what is sent for a call, what a response says, and what can go wrong: pure
routes     how a call reaches its model: httpx, or litellm on the same client
client     the one way out: no redirects, bounded bodies, a record of what really went over the wire
records    what is written down of every request, and the caps that it is held to
session    many calls at once, as many as the endpoint allows, each pursued until it has ended for good
batches    many calls in batches at a provider; batch_protocols has how each provider takes one
engine     the engine of one model
scoring    what an endpoint honours, by asking it, and likelihoods where it proves that it scores tokens
"""
