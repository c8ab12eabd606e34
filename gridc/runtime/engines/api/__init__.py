"""Models behind an address: providers through litellm, OpenAI-compatible servers directly.

wire       what is sent for a call, and what a response says: pure
routes     how a call reaches its model: httpx, or litellm on the same client
client     the one way out: no redirects, bounded bodies, a record of what really went over the wire
failures   what can go wrong, and what follows from it
pace       how many requests are open at once
records    what is written down of every request, and the caps that it is held to
session    many calls at once, each pursued until it is answered or has failed for good
batches    many calls in batches at a provider: flights are those under way, batch_protocols how providers
           take one
engine     the engine of one model
probe      what an endpoint honours, by asking it
"""
