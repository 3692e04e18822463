"""Which checkpoints are averaged."""

from stages.average import chosen

KEPT = {"last": ["update_30", "update_40", "update_50"], "best": ["update_20"]}


def test_a_training_that_ran_out_of_patience_is_averaged_up_to_its_best_update():
    assert chosen(KEPT, {"stopped": "updates"}, 2) == ["update_40", "update_50"]
    assert chosen(KEPT, {"stopped": "patience"}, 2) == ["update_20"]
    assert chosen(KEPT | {"best": ["update_40"]}, {"stopped": "patience"}, 2) == ["update_30", "update_40"]
    assert chosen(KEPT | {"best": []}, {"stopped": "patience"}, 1) == ["update_50"]
