"""A member of a request, and how it is added to one."""

class Member:
    """Something that `add` adds to a request."""

    def __init__(self, add, base=lambda body: None):
        # `base` adds what the request must have besides.
        self.add, self.base = add, base

    def on(self, other):
        """The same, to a request that has `other` already."""
        return Member(self.add, other.add)


def put(*path):
    """Sets a member: the last of `path` is its value."""
    *names, last, value = path

    def add(body):
        for name in names:
            body = body.setdefault(name, {})
        body[last] = value

    return Member(add)


def both(*members):
    return Member(lambda body: [member.add(body) for member in members])


def turns(name, *more):
    """Appends to the conversation called `name`."""
    return Member(lambda body: body[name].extend(more))


def before(name, *more):
    return Member(lambda body: body[name].__setitem__(slice(0, 0), more))
