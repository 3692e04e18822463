"""Text from elsewhere (a server, an archive, a corpus), made safe for a terminal and for messages."""

import re

# What a terminal obeys rather than shows: C0 (but \t and \n), DEL, C1; line separators; marks that turn the direction
# of the text around them; halves of characters. Joiners, no-break spaces and the like are text.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""`text` with what a terminal would obey written as an escape, such as \x1b; ends of lines and tabs stay."""
    return OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
