"""What a client's report means, by the hash that each answer must have."""

import files

# All is well.
WHOLE = "whole"


def of(case, report, hashes):
    """A word for the result, and what there is to say of it."""
    got, error = report["answers"], report["error"]
    right = got.get(hashes[case.file], 0)
    came = f"{report['bytes'] / files.MIB:.1f} MiB" if case.count == 1 else f"{right} of {case.count}"
    if case.kind == "cancel":
        came = f"{right} good, {report['cancelled']} cancelled in {report['seconds']:.1f} s"
    # A client may take what it has got of a cut answer for a whole one.
    is_cut = case.count == 1 and report["bytes"] < files.LENGTHS[case.file]
    if not is_cut and any(digest != hashes[case.file] for digest in got):
        return "wrong bytes", f"{came} {error}"
    if error or right != case.count:
        # With nothing at all the connection was of no use from the start.
        return ("cut" if report["bytes"] else "error"), f"{came}: {error or 'and no error'}"
    if report["connections"] != 1:
        return "reconnected", f"{came}, over {report['connections']} connections"
    return WHOLE, came if case.kind == "cancel" else ""
