"""Two runs, compared: are they the same instrument, and is the second worse by more than a margin?

Stores and logs become a `ComparedRun` (`run`); `pairing` says what differs between the two but for the scores,
and which items are the same; `decision` tests each benchmark and comes to a verdict under a policy; `document`
puts them together and writes it down.
"""
