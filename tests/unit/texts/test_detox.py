"""The original Detox comments, where a user has them."""

import numpy as np

from texts import attacks_and_others


def test_a_local_copy_is_read(tmp_path):
    folder = tmp_path / "wikipedia_toxicity"
    folder.mkdir()
    comments = 'rev_id\tcomment\tyear\n1.0\thelloNEWLINE_TOKENthere\t2005\n2.0\t`you ""fool`\t2006\n'
    votes = "rev_id\tworker_id\tattack\n1.0\t7\t0.0\n1.0\t8\t1.0\n2.0\t7\t1.0\n2.0\t8\t1.0\n1.0\t9\t0.0\n"
    (folder / "attack_annotated_comments.tsv").write_text(comments)
    (folder / "attack_annotations.tsv").write_text(votes)
    found, attack = attacks_and_others(tmp_path)
    assert found[0] == "hello\nthere"
    assert "fool" in found[1]
    np.testing.assert_array_equal(attack, [False, True])
