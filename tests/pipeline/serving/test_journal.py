"""The access log."""

from pipeline.serving.journal import Journal, route

from tests.toys import servers

SCOPE = {"method": "POST", "path": "/translate", "client": ("127.0.0.1", 1), "state": {}}


def test_a_line_has_no_text_unless_asked():
    noted = {"state": {"noted": (["Où est\x1b[31m", "x"], ["Where"])}}
    lines = [Journal(None, metrics=None, with_text=text).line(SCOPE | noted, 200, 0.0124) for text in (False, True)]
    assert lines[0] == "127.0.0.1 POST /translate 200 12 ms 12 characters"
    assert lines[1] == lines[0] + r" ['Où est\x1b[31m', 'x'] -> ['Where']"


def test_a_path_cannot_break_the_line():
    line = Journal(None, metrics=None, with_text=False).line(SCOPE | {"path": "/a\nb\x1b" + "c" * 200}, 404, 0)
    assert line.startswith(r"127.0.0.1 POST /a b\x1bccc")
    assert "\n" not in line
    assert len(line) < 160


def test_a_route_is_the_pattern_and_not_the_path():
    assert route({}) == "other"


def test_over_http_text_is_logged_only_on_demand(server, tmp_path):
    asked = {"q": "geheim x", "source": "fr", "target": "en"}
    server.post("/translate", asked)
    servers.wait_for(lambda: "POST /translate 200 " in server.log)
    assert "geheim" not in server.log
    with servers.stand_in(tmp_path / "log", log_text=True) as chatty:
        chatty.post("/translate", asked)
        servers.wait_for(lambda: "8 characters ['geheim x'] -> ['x geheim']\n" in chatty.log)
