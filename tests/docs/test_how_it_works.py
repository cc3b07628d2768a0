"""Every formula of docs/how-it-works.md has a line that computes it."""

import re
from pathlib import Path

import pytest
from site_lines import computed, named_in

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")


def test_all_named_lines_are_in_the_source():
    named = named_in(PAGE)
    assert len(named) >= 20
    for name, line in named:
        found = computed(name, line)
        lines = (ROOT / found.file).read_text(encoding="utf-8").splitlines()
        assert lines[found.line - 1].strip() == line


def test_every_section_with_a_formula_names_a_line():
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        assert "$$" not in section or "{computed}" in section


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("whyodd.kernels.base.Kernel.no_such_method", "return 1"),
        ("whyodd.no_such_module.function", "return 1"),
        ("whyodd.kernels.base.Kernel.energy", "return what is not there"),
    ],
)
def test_what_is_gone_is_noticed(name, line):
    with pytest.raises(ValueError, match=r"Name a function|expected once"):
        computed(name, line)


@pytest.mark.site
def test_formulas_can_be_shown():
    from site_math import mathml  # needs docutils, of the extra docs

    blocks = re.findall(r"\$\$(.*?)\$\$", PAGE, re.DOTALL)
    inline = re.findall(r"(?<!\$)\$([^$\n]+)\$(?!\$)", PAGE)
    assert len(blocks) >= 8
    for tex in (*blocks, *inline):
        assert "<math" in mathml(tex, as_block=True)
