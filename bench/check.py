"""Whether a server's answers are right, and what work they are: before anything is measured."""

import gzip
import http.client

import files


class Wrong(Exception):
    """An answer that is not the file."""


def fetch(port, target, accept):
    """Status, fields and content of one answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest("GET", "/" + target, skip_accept_encoding=True)
        if accept:
            connection.putheader("Accept-Encoding", accept)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Wrong(f"/{target}: {error!r}") from None
    finally:
        connection.close()


def decoded(content, coding, made, target):
    if coding == "identity":
        return content
    if coding == "gzip":
        return gzip.decompress(content)
    if coding == "br":
        # The sibling was decoded and compared when it was made.
        if content == made.sibling(target, "br").read_bytes():
            return made.path(target).read_bytes()
        return files.brotli("-d", data=content)
    raise Wrong(f"/{target}: Content-Encoding {coding} was not asked for")


def work(port, load, made, get=fetch):
    """For each target the coding and length of its answer, once all answers are proven right.

    `get` asks as `fetch` does; another one asks over another protocol.
    """
    found = []
    for target in load.targets:
        status, fields, content = get(port, target, load.accept)
        coding = fields.get("Content-Encoding", "identity").lower()
        if status != 200:
            raise Wrong(f"/{target}: status {status}")
        if decoded(content, coding, made, target) != made.path(target).read_bytes():
            raise Wrong(f"/{target}: its bytes are not the file's")
        if coding != "identity" and "accept-encoding" not in fields.get("Vary", "").lower():
            raise Wrong(f"/{target}: coded without Vary: Accept-Encoding")
        found.append((coding, len(content)))
    return found


def describe(found):
    """`15 br, 5 identity`: which codings the answers have."""
    codings = [coding for coding, _ in found]
    return ", ".join(f"{codings.count(coding)} {coding}" if len(codings) > 1 else coding
                     for coding in sorted(set(codings), key=codings.count, reverse=True))
