"""Counting the tokens of a text, without a model. It imports little: a child process does it (`Confined`)."""


class Counter:
    """Counts tokens."""

    def tokens(self, path: str, texts: list[str]) -> int:
        """How many tokens the tokenizer in a file makes of some texts."""
        from tokenizers import Tokenizer

        encodings = Tokenizer.from_file(path).encode_batch(texts, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings)
