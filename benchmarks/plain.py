"""The plain loop: every call by itself, as a script around transformers would make it."""

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.lowering.plan import Plan


@dataclass(frozen=True)
class Loop:
    """What the plain loop took for so many of so many calls."""

    calls: int
    of: int
    seconds: float
    cpu: float
    tokens: int


def run(plan: Plan, folder: Path, threads: int, every: int) -> Loop:
    """Make one of `every` calls of a plan with `model.generate`, or a forward pass per candidate. `tokens`
    went through the model."""
    import torch
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    torch.set_num_threads(threads)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    requests = [
        request for cell in plan.cells() for sample in plan.samples(cell) for request in sample.requests
    ]
    tokens = 0
    begun, spent = time.perf_counter(), time.process_time()
    chosen = random.Random(0).sample(requests, -(-len(requests) // every))
    with torch.inference_mode():
        for request in chosen:
            messages = [{"role": role, "content": text} for role, text in request.prompt.messages]
            text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            for continuation in request.parameters.get("continuations", [""]):
                ids = tokenizer(text + continuation, add_special_tokens=False, return_tensors="pt")
                if request.kind == "loglikelihood":
                    logits = model(**ids, use_cache=False).logits[0]
                    torch.log_softmax(logits, dim=-1)
                    tokens += ids["input_ids"].shape[1]
                    continue
                asked = request.parameters
                sampling = {"temperature": asked["temperature"], "top_p": asked.get("top_p"), "top_k": 0}
                made = model.generate(
                    **ids,
                    max_new_tokens=asked["max_tokens"],
                    do_sample=asked["temperature"] > 0,
                    **(sampling if asked["temperature"] else {}),
                )
                tokens += made.shape[1] - 1
    took = time.perf_counter() - begun, time.process_time() - spent
    return Loop(len(chosen), len(requests), *took, tokens)
