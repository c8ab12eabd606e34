"""Measure the pocket models over prompt templates, shots and scoring paths, and print a table.

Run it with `python -m tools.pocket.measure [--items N] [NAME ...]`.
`gen` is greedy generation, scored by the last letter that it names; `text` is the option whose full
text is likeliest; `said` is the share of generations from which a letter could be read.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import permuted
from gridc.compiler.instrument.render import render_prompt
from tools.pocket.lessons import TEMPLATES
from tools.pocket.recipes import RECIPES
from tools.pocket.students import MODELS
from tools.pocket.unseen import FILES, items_of

SHOTS = (0, 3, 5)
NEW_TOKENS = 24
ROWS = 32
"""Prompts that are run together."""

_LETTER = re.compile(r"\b[A-E]\b")


def shuffled(items: Sequence[Item]) -> list[Item]:
    """The items with their options shuffled (the same way each time): upstream puts the truth first."""
    rng = Random(0)
    result = []
    for item in items:
        order = rng.sample(range(len(item.options)), len(item.options))
        result.append(permuted(item, order))
    return result


def read_letter(text: str, item: Item) -> str | None:
    """The last letter that an answer names, else that of the option which it repeats."""
    named = _LETTER.findall(text)
    if named:
        return str(named[-1])
    repeated = [letter for letter, option in zip(item.letters, item.options, strict=True) if option in text]
    return repeated[0] if len(repeated) == 1 else None


class Examinee:
    """A model with its tokenizer, as both scoring paths need them."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left")
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)

    def tokens(self, prompt: str) -> list[int]:
        """The conversation up to where the model is to speak."""
        turns = [{"role": "user", "content": prompt}]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def answers(self, prompts: Sequence[list[int]]) -> list[str]:
        """What the model says to each, greedily."""
        said: list[str] = []
        for start in range(0, len(prompts), ROWS):
            batch = self._tokenizer.pad({"input_ids": prompts[start : start + ROWS]}, return_tensors="pt")
            output = self._model.generate(  # type: ignore[misc]
                **batch, max_new_tokens=NEW_TOKENS, do_sample=False
            )
            new = output[:, batch["input_ids"].shape[1] :]
            said += self._tokenizer.batch_decode(new, skip_special_tokens=True)
        return said

    @torch.no_grad()
    def likeliest(self, prompt: list[int], options: Sequence[str]) -> int:
        """Which option's full text the model finds likeliest right after the prompt."""
        texts = [self._tokenizer(option, add_special_tokens=False)["input_ids"] for option in options]
        rows = {"input_ids": [prompt + text for text in texts]}
        batch = self._tokenizer.pad(rows, padding_side="right", return_tensors="pt")
        surprise = -self._model(**batch).logits.log_softmax(-1)
        scores = []
        for row, text in enumerate(texts):
            places = torch.arange(len(prompt) - 1, len(prompt) - 1 + len(text))
            scores.append(surprise[row, places, torch.tensor(text)].sum().item())
        return scores.index(min(scores))


def cell(model: Examinee, items: Sequence[Item], template: str, shots: int) -> tuple[float, float, float]:
    """`gen`, `text` and `said` (see above) of one configuration."""
    rng = Random(shots)
    prompts = []
    for item in items:
        others = [each for each in items if each.family != item.family]
        prompts.append(model.tokens(render_prompt(TEMPLATES[template], item, rng.sample(others, shots))))
    answers = model.answers(prompts)
    letters = [read_letter(text, item) for text, item in zip(answers, items, strict=True)]
    right = sum(
        letter in {item.letters[n] for n in item.right} for letter, item in zip(letters, items, strict=True)
    )
    pairs = zip(prompts, items, strict=True)
    likely = sum(model.likeliest(prompt, item.options) in item.right for prompt, item in pairs)
    said = sum(letter is not None for letter in letters)
    return right / len(items), likely / len(items), said / len(items)


def main() -> None:
    """Print one row for each model, benchmark and number of shots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--items", type=int, default=64, help="how many of each benchmark (fixed draw)")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    headings = ["model", "benchmark", "shots", *(f"{name} gen / text / said" for name in TEMPLATES)]
    print(f"| {' | '.join(headings)} |")
    print("|---" * len(headings) + "|")
    for name in arguments.names or [recipe.name for recipe in RECIPES]:
        model = Examinee(MODELS / name)
        for file in FILES:
            items = Random(0).sample(shuffled(items_of(file)), arguments.items)
            for shots in SHOTS:
                cells = [cell(model, items, template, shots) for template in TEMPLATES]
                scores = " | ".join(" / ".join(f"{score:.2f}" for score in each) for each in cells)
                print(f"| {name} | {Path(file).stem} | {shots} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
