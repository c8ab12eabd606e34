"""Responses in the forms that models give, each with what a person reads in it. Written before the code.

A row is the keys of `match`, the right answers of an item, a response, what it comes to, and the words of the
response that were read as its answer (None where none are).
"""

from typing import Any

NUMBER: dict[str, Any] = {"as": "number"}
AFTER: dict[str, Any] = {"as": "number", "after": "The answer is"}
HASHES: dict[str, Any] = {"as": "number", "after": "####"}
TEXT: dict[str, Any] = {"as": "text"}
STATED: dict[str, Any] = {"as": "text", "after": "Answer:"}
EXACT: dict[str, Any] = {"as": "exact"}
HOLDS: dict[str, Any] = {"as": "contains"}
R, W, U = "right", "wrong", None

LABELLED: list[tuple[dict[str, Any], tuple[str, ...], str, str | None, str | None]] = [
    # a number, wherever it stands
    (NUMBER, ("42",), "42", R, "42"),
    (NUMBER, ("42",), "So she has 42 apples.", R, "42"),
    (NUMBER, ("42",), "40 + 2 = 42", R, "42"),
    (NUMBER, ("42",), "First 6, then 7, so 6 * 7 = **42**.", R, "42"),
    (NUMBER, ("42",), "The total is \\boxed{42}.", R, "42"),
    (NUMBER, ("42",), "$42.00", R, "42.00"),
    (NUMBER, ("42",), "42.0", R, "42.0"),
    (NUMBER, ("42",), "41", W, "41"),
    (NUMBER, ("42",), "It is 42. No, it is 43.", W, "43"),
    (NUMBER, ("42",), "forty-two", U, None),
    (NUMBER, ("42",), "", U, None),
    (NUMBER, ("42",), "I cannot say.", U, None),
    (NUMBER, ("42",), "It is 42 or 43.", U, None),
    (NUMBER, ("42",), "40-45", U, None),
    (NUMBER, ("42",), "It is between 40 and 45.", U, None),
    (NUMBER, ("1234",), "1,234", R, "1,234"),
    (NUMBER, ("1,234",), "1234", R, "1234"),
    (NUMBER, ("1234567.5",), "It costs $1,234,567.50 in all.", R, "1,234,567.50"),
    (NUMBER, ("1234",), "1\u202f234", R, "1\u202f234"),
    (NUMBER, ("1234",), "1{,}234", R, "1{,}234"),
    (NUMBER, ("1234",), "The sum is 12,34.", U, None),
    (NUMBER, ("3",), "They are 1, 2, and 3", R, "3"),
    (NUMBER, ("-5",), "x = -5", R, "-5"),
    (NUMBER, ("-5",), "x = \u22125", R, "\u22125"),
    (NUMBER, ("-5",), "minus 5", R, "minus 5"),
    (NUMBER, ("-5",), "-$5", R, "-$5"),
    (NUMBER, ("5",), "- 5 apples", R, "5"),
    (NUMBER, ("5",), "+5", R, "+5"),
    (NUMBER, ("0.5",), ".5", R, ".5"),
    (NUMBER, ("0.5",), "1/2", R, "1/2"),
    (NUMBER, ("1/2",), "0.50", R, "0.50"),
    (NUMBER, ("0.5",), "\\frac{1}{2}", R, "\\frac{1}{2}"),
    (NUMBER, ("1/3",), "0.333", W, "0.333"),
    (NUMBER, ("25",), "25%", R, "25%"),
    (NUMBER, ("25%",), "25 percent", R, "25 percent"),
    (NUMBER, ("0.25",), "25 %", R, "25 %"),
    (NUMBER, ("25%",), "0.25", R, "0.25"),
    (NUMBER, ("25%",), "2.5%", W, "2.5%"),
    (NUMBER, ("3000000",), "3 million", R, "3 million"),
    (NUMBER, ("1200",), "1.2e3", R, "1.2e3"),
    (NUMBER, ("1200",), "1.2 \\times 10^{3}", R, "1.2 \\times 10^{3}"),
    (NUMBER, ("7", "8"), "8", R, "8"),
    (NUMBER, ("7",), "<think>Is it 9?</think>It is 7.", R, "7"),
    (NUMBER, ("7",), "<think>Is it 7? Let me", U, None),
    (NUMBER, ("19",), "COVID-19 has no number here.", U, None),
    (NUMBER, ("2",), "H2O", U, None),
    (NUMBER, ("2",), "the 2nd", R, "2"),
    (NUMBER, ("911",), "I'm sorry, but I can't help with that. Call 112.", U, None),
    (NUMBER, ("2024",), "2024-05-01", U, None),
    (NUMBER, ("42",), "\uff14\uff12", R, "\uff14\uff12"),
    # a number behind the words that the prompt asks for
    (AFTER, ("42",), "6 times 7. The answer is 42.", R, "42"),
    (AFTER, ("42",), "the ANSWER is: $42. I took 3 steps.", R, "42"),
    (AFTER, ("42",), "The answer is **42** apples in 3 baskets.", R, "42"),
    (AFTER, ("42",), "The answer is 6 * 7 = 42.", R, "42"),
    (AFTER, ("42",), "The answer is 6 + 36", U, None),
    (AFTER, ("42",), "The answer is 41. Wait. The answer is 42.", R, "42"),
    (AFTER, ("42",), "The answer is 42. The answer is clear.", R, "42"),
    (AFTER, ("42",), "42", U, None),
    (AFTER, ("42",), "The answer is 42 or 43.", U, None),
    (AFTER, ("42",), "The  answer\nis\n\n42", R, "42"),
    (HASHES, ("42",), "6 * 7 = 42\n#### 42", R, "42"),
    (HASHES, ("42",), "6 * 7 = 42\n#### 43", W, "43"),
    (HASHES, ("42",), "6 * 7 = 42", U, None),
    # a short text, as SQuAD compares them
    (TEXT, ("Oslo",), "oslo", R, "oslo"),
    (TEXT, ("The Hague",), "hague.", R, "hague."),
    (TEXT, ("Hague",), "  The Hague!\n", R, "The Hague!"),
    (TEXT, ("Oslo",), "Bergen", W, "Bergen"),
    (TEXT, ("Oslo",), "It is Oslo.", W, "It is Oslo."),
    (TEXT, ("Oslo", "Christiania"), "Christiania", R, "Christiania"),
    (TEXT, ("Jane Austen",), "Jane   Austen", R, "Jane   Austen"),
    (TEXT, ("don't know",), "don\u2019t know", R, "don\u2019t know"),
    (TEXT, ("\u6771\u4eac",), "\u6771\u4eac\u3002", R, "\u6771\u4eac\u3002"),
    (TEXT, ("Oslo",), "", U, None),
    (TEXT, ("Oslo",), " ... ", U, None),
    (TEXT, ("Oslo",), "I'm sorry, but I can't help with that.", U, None),
    (STATED, ("Oslo",), "Let me think.\n\nAnswer: Oslo", R, "Oslo"),
    (STATED, ("Oslo",), "**Answer:** Oslo\nIt lies in Norway.", R, "Oslo"),
    (STATED, ("Oslo",), "Answer: Bergen\n\nAnswer: Oslo.", R, "Oslo."),
    (STATED, ("Oslo",), "Oslo", U, None),
    (STATED, ("Oslo",), "Answer:", U, None),
    # as it stands
    (EXACT, ("Oslo",), "Oslo\n", R, "Oslo"),
    (EXACT, ("Oslo",), "oslo", W, "oslo"),
    (EXACT, ("C++",), "C++", R, "C++"),
    (EXACT, ("C++",), "C#", W, "C#"),
    # somewhere in the response
    (HOLDS, ("Oslo",), "The capital of Norway is Oslo, of course.", R, "Oslo"),
    (HOLDS, ("Oslo",), "the capital is OSLO", R, "OSLO"),
    (HOLDS, ("Jane Austen",), "It was **Jane\nAusten**.", R, "Jane\nAusten"),
    (HOLDS, ("cat",), "They concatenate.", W, None),
    (HOLDS, ("Oslo",), "I do not know.", W, None),
    (HOLDS, ("the 3 keys",), "She found 3 keys.", R, "3 keys"),
    (HOLDS, ("Oslo",), "I'm sorry, I can't help with that.", U, None),
    (HOLDS, ("Oslo",), "", U, None),
    (HOLDS, ("\u6771\u4eac",), "\u9996\u90fd\u306f\u6771\u4eac\u3067\u3059\u3002", R, "\u6771\u4eac"),
    # case and forms of characters that change the length of a text
    (HOLDS, ("Torstraße 12",), "It is at TORSTRASSE 12, in Berlin.", R, "TORSTRASSE 12"),
    (HOLDS, ("Torstrasse 12",), "Straße: Torstraße 12", R, "Torstraße 12"),
    (HOLDS, ("caf\u00e9",), "ﬁne, the cafe\u0301!", R, "cafe\u0301"),
    (HOLDS, ("İzmir",), "İt is İzmir", R, "İzmir"),
    (HOLDS, ("rock roll",), "Rock a - the ... roll", R, "Rock a - the ... roll"),
    (STATED, ("Größe",), "ANSWER: GRÖSSE", R, "GRÖSSE"),
    ({"as": "number", "after": "Größe:"}, ("4",), "GRÖSSE: 4", R, "4"),
    (NUMBER, ("3000000",), "3 mıllion", R, "3 mıllion"),
]
