"""Loops, as careful scripts around transformers would make them.

The radix loop takes prompts in sorted order, each standing on what the one before left in transformers' own
cache, and decodes the calls of a prompt side by side. Where candidates of one token are ranked, `padded`
computes once what all prompts begin with, and then a few prompts at a time, padded to the longest.
"""

import copy
import time
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.plain import Loop
from gridc.runtime.engines.hf.paths import own_attention, use_attention
from gridc.runtime.engines.hf.sequences import Member, Tokens, by_prompt, common_prefix, shared_length


def run(model: Any, members: Sequence[Member]) -> Loop:
    """What it takes to answer these calls. `tokens` went through the model."""
    from transformers import DynamicCache

    use_attention(model, own_attention(model))
    tokens = 0
    begun, spent = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        cache = DynamicCache(config=model.config)
        held: Tokens = ()
        for prompt, some in sorted(by_prompt(members).items()):
            known = min(shared_length(held, prompt), len(prompt) - 1)
            cache.crop(known - len(held))
            out = model(torch.tensor([prompt[known:]]), past_key_values=cache, logits_to_keep=1)
            tokens, held = tokens + len(prompt) - known, prompt
            for candidate in (member.given for member in some if member.given):
                logits = out.logits
                if len(candidate) > 1:
                    rest = model(torch.tensor([candidate[:-1]]), past_key_values=cache)
                    cache.crop(1 - len(candidate))
                    tokens, logits = tokens + len(candidate) - 1, torch.cat([logits, rest.logits], 1)
                torch.log_softmax(logits, dim=-1)
            asked = [member for member in some if not member.given]
            if asked:
                tokens += _decode(model, copy.deepcopy(cache), out.logits[0], asked)
    took = time.perf_counter() - begun, time.process_time() - spent
    return Loop(len(members), len(members), *took, tokens)


def padded(model: Any, members: Sequence[Member], rows: int) -> Loop:
    """What it takes to rank candidates of one token, so many prompts at a time."""
    from transformers import DynamicCache

    use_attention(model, own_attention(model))
    begun, spent = time.perf_counter(), time.process_time()
    with torch.inference_mode():
        prompts = sorted(by_prompt(members), key=len)
        shared = common_prefix(prompts)
        prefix = DynamicCache(config=model.config)
        model(torch.tensor([prompts[0][:shared]]), past_key_values=prefix, logits_to_keep=1)
        tokens = shared
        for start in range(0, len(prompts), rows):
            rests = [prompt[shared:] for prompt in prompts[start : start + rows]]
            longest, cache = max(map(len, rests)), copy.deepcopy(prefix)
            cache.batch_repeat_interleave(len(rests))
            ids = torch.tensor([[*rest, *[0] * (longest - len(rest))] for rest in rests])
            seen = [[1] * (shared + len(rest)) + [0] * (longest - len(rest)) for rest in rests]
            at = torch.arange(shared, shared + longest).expand(len(rests), -1)
            out = model.model(
                input_ids=ids, attention_mask=torch.tensor(seen), position_ids=at, past_key_values=cache
            )
            last = out.last_hidden_state[range(len(rests)), [len(rest) - 1 for rest in rests]]
            torch.log_softmax(model.lm_head(last), dim=-1)
            tokens += ids.numel()
    took = time.perf_counter() - begun, time.process_time() - spent
    return Loop(len(members), len(members), *took, tokens)


def _decode(model: Any, cache: Any, logits: Any, asked: Sequence[Member]) -> int:
    """Continue the prompt that a cache holds, a row for each call, to the end of the longest. Gives how many
    tokens went through the model."""
    cache.batch_repeat_interleave(len(asked))
    logits = logits.expand(len(asked), -1)
    warmth = torch.tensor([member.temperature or 1.0 for member in asked])[:, None]
    top = torch.tensor([member.top_p for member in asked])[:, None]
    greedy = torch.tensor([not member.temperature for member in asked])
    steps = max(member.limit for member in asked)
    for step in range(steps):
        likely, order = torch.softmax(logits / warmth, -1).sort(descending=True)
        likely[likely.cumsum(-1) - likely >= top] = 0
        drawn = order.gather(1, torch.multinomial(likely, 1))[:, 0]
        chosen = torch.where(greedy, logits.argmax(-1), drawn)
        if step < steps - 1:
            logits = model(chosen[:, None], past_key_values=cache).logits[:, -1]
    return (steps - 1) * len(asked)
