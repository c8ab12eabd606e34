"""What continuations hold: never more than the room that was kept for them, and nothing of it is lost."""

import pytest

torch = pytest.importorskip("torch")
attention = pytest.importorskip("gridc.runtime.engines.hf.attention")
levels = pytest.importorskip("gridc.runtime.engines.hf.kv_cache")


@pytest.mark.parametrize("candidates", [0, 3, 40])
def test_tips_hold_no_more_than_the_rooms_of_their_members(candidates: int) -> None:
    """Two long answers beside many candidates of a ranking: when those are done, their rows go."""
    shape = levels.Shape(((1, 4), (1, 4)), torch.float32, torch.device("cpu"))
    lengths, rooms = [12] * candidates + [60] * 2, [16] * candidates + [64] * 2
    tips = levels.Tips(shape, lengths)
    before = 1
    for step in range(60):
        now = 1 if step == 0 else len(rooms) if step < 12 else 2
        moved = torch.arange(min(before, now), now)
        tips.take(now, moved, torch.full_like(moved, before - 1))
        before, one = now, torch.full((now, 1, 4), float(step))
        for layer in range(2):
            tips.attend(layer, one[:, :, None], one, one, attention.Softmax(1.0))
        tips.length += 1
        assert tips.held <= sum(rooms) * shape.position_bytes
    kept = tips._layers[1][0, :2, 0, :60, 0]
    assert torch.equal(kept, torch.arange(60.0).expand(2, 60))


def test_tips_that_are_full_are_copied_few_times() -> None:
    shape = levels.Shape(((1, 4),), torch.float32, torch.device("cpu"))
    tips, rooms = levels.Tips(shape, [256] * 3), set()
    for tips.length in range(256):
        moved = torch.tensor([1, 2] if tips.length == 0 else [], dtype=torch.int64)
        tips.take(3, moved, moved * 0)
        rooms.add(tips.held)
    assert len(rooms) == 5  # 16, 32, 64, 128 and 256 positions
    assert max(rooms) == 3 * 256 * shape.position_bytes
