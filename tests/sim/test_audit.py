"""The audit of a log: gaps from end to start, and how many at once."""

from lycosa.sim.audit import LogLine, audit


def line(host: str, start_s: float, end_s: float, target: str = "/", address: str = "127.32.0.1") -> LogLine:
    return LogLine(host, address, "GET", target, 200, start_s, end_s, 10, 1)


def test_a_gap_runs_from_the_end_of_an_answer_to_the_start_of_the_next_request() -> None:
    manners = audit([line("a", 10.0, 10.5), line("a", 12.0, 12.1), line("a", 13.5, 14.0)])
    assert manners.least_gap_s == {"a": 13.5 - 12.1}
    assert manners.worst_gap_s == 13.5 - 12.1
    assert manners.most_at_once == {"a": 1}


def test_an_overlap_is_a_gap_below_zero_even_behind_a_short_request() -> None:
    manners = audit([line("a", 0.0, 10.0), line("a", 1.0, 1.5), line("a", 4.0, 5.0)])
    assert manners.least_gap_s == {"a": -9.0}
    assert manners.most_at_once == {"a": 2}


def test_hosts_are_apart_but_their_address_is_one() -> None:
    log = [
        line("a", 0.0, 1.0),
        line("b", 1.25, 2.0),
        line("a", 4.0, 5.0),
        line("c", 0.5, 0.6, address="127.32.0.2"),
    ]
    assert audit(log).least_gap_s == {"a": 3.0}
    assert audit(log, by="address").least_gap_s == {"127.32.0.1": 0.25}
    assert audit(log).requests == {"a": 2, "b": 1, "c": 1}


def test_robots_must_come_first_on_every_host() -> None:
    polite = [line("a", 0.0, 1.0, "/robots.txt"), line("a", 2.0, 3.0)]
    assert audit(polite).robots_first
    assert not audit([*polite, line("b", 5.0, 6.0)]).robots_first


def test_one_request_has_no_gap() -> None:
    assert audit([line("a", 0.0, 1.0)]).worst_gap_s == float("inf")


def test_back_to_back_is_not_at_once() -> None:
    assert audit([line("a", 0.0, 1.0), line("a", 1.0, 2.0)]).most_at_once == {"a": 1}
