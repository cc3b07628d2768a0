"""``whyodd serve`` before it serves: what is wrong is told in a sentence."""

import socket
import sys

import pytest
from typer.testing import CliRunner

from whyodd.cli.app import app
from whyodd.web.store import Store


def told(*arguments, **environment):
    done = CliRunner(env=environment).invoke(app, ["serve", "--no-open", "--port", "0", *map(str, arguments)])
    assert done.exit_code == 1
    return " ".join(done.stderr.split())


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert told() == ("Error: This command needs uvicorn to be installed. Run: pip install 'whyodd[serve]'")


def test_data_that_are_no_folder(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert "is not a folder, expected a folder of tables" in told(tmp_path / "a.csv")


def test_a_folder_that_another_server_has(tmp_path):
    store = Store(tmp_path)
    assert "in use by another whyodd serve" in told("--folder", tmp_path)
    store.close()


def test_a_port_that_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = told("--folder", tmp_path, "--port", taken.getsockname()[1])
    assert "Choose another --port" in words
    assert not (tmp_path / "whyodd.sqlite").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7"])
def test_beyond_this_machine_a_password_is_demanded(tmp_path, host):
    words = told("--host", host, "--folder", tmp_path, WHYODD_PASSWORD="short")
    assert words == "Error: The password has 5 characters, expected at least 12. Choose a longer one."
    assert list(tmp_path.iterdir()) == []
