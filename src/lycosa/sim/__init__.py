"""A world in a box: what Lycosa is tested, measured and shown on, shipped with it.

    clock, virtual_loop    time that jumps instead of passing
    words, plan, world     a seeded synthetic web, any size, computed as it is asked for
    truth                  what that web holds, for judging a crawl
    resolver               names to addresses, with failures to order
    server, audit          the web on real loopback sockets, and whether its visitors were polite
    bestiary               servers that misbehave, each in its own way

The same seed gives the same bytes everywhere. Nothing here ever leaves the machine or listens beyond
127.0.0.0/8.
"""
