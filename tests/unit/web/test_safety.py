"""Who is let in, from where, with how much, and for how long."""

import base64
import hashlib
import re

import pytest

from made_up.serving import HOST, House, Visitor, told
from whyodd.web.limits import Limits
from whyodd.web.safety import Access

FILE = ("orders.csv", b"a,b\n1,2\n")


@pytest.fixture
def house(tmp_path):
    return House(tmp_path / "store", Limits(megabytes=1, silence_seconds=0.05))


@pytest.fixture
def visitor(house):
    return house.visitor()


class TestComingIn:
    def test_nobody_is_let_in_without_the_token(self, house):
        for path in ("/", "/?token=", "/?token=wrong", "/files/1", "/work/1/state", "/nowhere"):
            answer = Visitor(house.app).get(path)
            assert answer.status == 403
            assert "set-cookie" not in answer.headers

    def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(self, house):
        answer = Visitor(house.app).get(f"/?token={house.access.token}")
        assert (answer.status, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert house.access.token not in cookie

    def test_another_cookie_is_none(self, house):
        name = house.visitor().cookie.partition("=")[0]
        assert Visitor(house.app, cookie=f"{name}=guessed").get("/").status == 403

    def test_sessions_outlive_the_server_but_are_not_kept_in_clear(self, house, visitor):
        house.store.close()
        again = House(house.folder)
        assert Visitor(again.app, cookie=visitor.cookie).get("/").status == 200
        kept = b"".join(path.read_bytes() for path in house.folder.glob("whyodd.sqlite*"))
        assert visitor.cookie.partition("=")[2].encode() not in kept

    def test_two_servers_of_one_machine_have_different_cookies(self, house, tmp_path):
        other = House(tmp_path / "other").visitor()
        assert house.visitor().cookie.partition("=")[0] != other.cookie.partition("=")[0]


class TestForeignHosts:
    @pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::", "192.168.0.7"])
    def test_a_name_that_points_here_is_not_answered(self, visitor, host):
        visitor.host = host
        assert visitor.get("/").status == 421

    @pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8765"])
    def test_this_machine_is_answered_also_through_a_tunnel(self, visitor, host):
        visitor.host = host
        assert visitor.get("/").status == 200

    def test_beyond_this_machine_addresses_are_known_and_names_are_not(self):
        access = Access("0.0.0.0", password="correct horse battery")
        assert access.knows_host("192.168.0.7:8765")
        assert access.knows_host("[fe80::1]:8765")
        assert not access.knows_host("evil.example")


class TestCrossSite:
    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},  # another port of this machine
            {"origin": "http://127.0.0.1:9999"},
            {"origin": f"https://{HOST}"},
        ],
    )
    def test_forms_of_other_sites_do_nothing(self, house, visitor, headers):
        assert visitor.post("/files", {}, FILE, **headers).status == 403
        assert house.store.n_waiting() == 0
        assert list((house.folder / "files").iterdir()) == []

    def test_without_an_origin_nothing_is_done(self, visitor):
        body = f"csrf={visitor.csrf}".encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert visitor.ask("POST", "/folder", body, kind).status == 403

    @pytest.mark.parametrize("token", ["", "guessed", "é"])
    def test_a_form_needs_the_token_of_its_session(self, house, visitor, token):
        assert visitor.post("/files", {"csrf": token}, FILE).status == 403
        assert house.store.n_waiting() == 0

    def test_that_of_another_session_is_none(self, house, visitor):
        visitor.csrf = house.visitor().csrf
        assert visitor.post("/files", {}, FILE).status == 403

    def test_the_right_form_is_taken(self, house, visitor):
        assert visitor.post("/files", {}, FILE).status == 303
        assert house.store.n_waiting() == 1

    def test_a_file_for_a_model_that_is_not_there_is_not_kept(self, house, visitor):
        assert visitor.post("/files", {"model": "none"}, FILE).status == 404
        assert list((house.folder / "files").iterdir()) == []

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"])
    def test_other_methods_are_not_there(self, visitor, method):
        assert visitor.ask(method, "/").status == 405


class TestHeaders:
    def test_every_answer_has_them(self, house, visitor):
        answers = [
            visitor.get("/"),
            visitor.get("/nowhere"),
            Visitor(house.app).get("/"),
            Visitor(house.app, host="evil.example").get("/"),
            visitor.post("/files", {"csrf": "x"}, FILE),
        ]
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"

    def test_an_accident_has_them_too(self, house, visitor, monkeypatch):
        def fail():
            raise RuntimeError("secret")

        monkeypatch.setattr(house.store, "files", fail)
        answer = visitor.get("/")
        assert answer.status == 500
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "secret" not in answer.text

    def test_scripts_and_styles_are_those_of_the_policy(self, visitor):
        answer = visitor.get("/")
        parts = re.findall("<(?:script|style)>(.*?)</(?:script|style)>", answer.text, re.S)
        assert len(parts) == 3
        for part in parts:
            digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]
        assert not re.search(r"<[^>]+ (?:style|on[a-z]+)=", answer.text)


class TestLimits:
    def test_what_declares_to_be_large_is_not_read(self, visitor):
        answer = visitor.post("/files", {}, FILE, content_length="9000000000")
        assert answer.status == 413
        assert "--megabytes" in told(answer)

    def test_what_grows_large_is_not_read_on(self, house, visitor):
        answer = visitor.post("/files", {}, ("big.csv", b"1\n" * 2_000_000))
        assert answer.status == 413
        assert list((house.folder / "files").iterdir()) == []

    def test_other_forms_are_small(self, visitor):
        assert visitor.post("/folder", {"name": "x" * 2_100_000}).status == 413

    def test_a_silent_upload_is_let_go(self, house, visitor):
        headers = {
            "content-type": "multipart/form-data; boundary=b",
            "origin": f"http://{HOST}",
            "content-length": "1000",
        }
        answer = visitor.ask("POST", "/files", headers=headers, parts=[b"--b\r\n", None])
        assert answer.status == 408
        assert "took too long" in told(answer)
        assert house.store.n_waiting() == 0

    def test_an_upload_that_drips_is_let_go(self, tmp_path):
        house = House(tmp_path / "store", Limits(upload_seconds=0.0))
        visitor = house.visitor()
        assert visitor.post("/files", {}, FILE).status == 408


class TestPasswords:
    @pytest.fixture
    def house(self, tmp_path):
        access = Access("0.0.0.0", password="correct horse battery")
        return House(tmp_path / "store", access=access)

    def test_is_asked_for(self, house):
        answer = Visitor(house.app).get("/files/1")
        assert (answer.status, answer.headers["location"]) == (303, "/login")

    def test_the_token_is_no_way_around(self, house):
        assert Visitor(house.app).get(f"/?token={house.access.token}").headers["location"] == "/login"

    def test_the_right_one_comes_in(self, house):
        answer = Visitor(house.app).post("/login", {"password": "correct horse battery"})
        assert answer.status == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert Visitor(house.app, cookie=cookie).get("/").status == 200

    def test_a_wrong_one_does_not_and_few_are_tried(self, house):
        visitor = Visitor(house.app)
        assert [visitor.post("/login", {"password": "wrong"}).status for _ in range(6)] == [403] * 5 + [429]
        # Not even the right one is looked at then.
        assert visitor.post("/login", {"password": "correct horse battery"}).status == 429

    def test_after_a_minute_there_are_more_tries(self):
        access = Access("0.0.0.0", password="correct horse battery")
        for _ in range(5):
            assert access.try_password("wrong", lambda: 0.0) is False
        assert access.try_password("correct horse battery", lambda: 59.0) is None
        assert access.try_password("correct horse battery", lambda: 61.0) is True
