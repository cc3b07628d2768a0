"""Progress where there is no terminal."""

from whyodd.progress import lines_of_progress, progress_bar


def test_lines_come_every_ten_seconds_with_the_time_left(capsys):
    seconds = iter([0.0, 4.0, 10.0, 15.0, 20.0, 30.0])
    report = lines_of_progress(2000, "Explaining windows", clock=lambda: next(seconds))
    for done in (200, 500, 600, 1000, 2000):
        report(done)
    assert capsys.readouterr().err.splitlines() == [
        "Explaining windows: 500 of 2,000, about 30 s left",
        "Explaining windows: 1,000 of 2,000, about 20 s left",
        "Explaining windows: all 2,000 done",
    ]


def test_quick_work_has_one_line(capsys):
    with progress_bar(10, "Explaining rows") as report:
        report(5)
        report(10)
    assert capsys.readouterr() == ("", "Explaining rows: all 10 done\n")
