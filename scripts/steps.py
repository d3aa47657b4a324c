#!/usr/bin/env python3
"""Makes targets one after the other until one fails, and says what each of them took, of time and of cores, and what tests
could not judge.

  scripts/steps.py MAKE STEP...

A step is a target, or several sequences of targets that are made side by side: [ A B / C D ]. What a target prints then
stands together, when it has ended. The table is also added to the file STEPS_LOG, if that is set.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import time

NOT_JUDGED = re.compile(r"(?:BUSY MACHINE|SKIPPED), so not .*")


class Steps:
    def __init__(self, make):
        self.make = make
        self.table = []
        self.status = 0
        self.printing = threading.Lock()

    def target(self, name, alone):
        """Makes a target, unless one has failed."""
        if self.status:
            return
        began, said = time.monotonic(), []
        if alone:
            print(f"\n=== {name}", flush=True)
        process = subprocess.Popen([self.make, "--no-print-directory", name], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            said.append(line)
            if alone:
                print(line, end="", flush=True)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        took, work = (time.monotonic() - began) / 60, (usage.ru_utime + usage.ru_stime) / 60
        with self.printing:
            if not alone:
                print(f"\n=== {name}\n{''.join(said)}", end="", flush=True)
            self.status = self.status or process.returncode
            self.table.append(f"{took:6.1f} min  {work:5.1f} core-min  {name}{' FAILED' * (process.returncode != 0)}")
            self.table += [f"                            {found}" for line in said for found in NOT_JUDGED.findall(line)]

    def side_by_side(self, sequences):
        def follow(sequence):
            for name in sequence:
                self.target(name, alone=False)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(len(sequences)) as pool:
            list(pool.map(follow, sequences))
        names = ", ".join(name for of in sequences for name in of)
        self.table.append(f"{(time.monotonic() - began) / 60:6.1f} min  of them side by side: {names}")

    def run(self, words):
        sequences = None
        for word in words:
            match word:
                case "[":
                    sequences = [[]]
                case "/":
                    sequences.append([])
                case "]":
                    self.side_by_side(sequences)
                    sequences = None
                case name if sequences is not None:
                    sequences[-1].append(name)
                case name:
                    self.target(name, alone=True)


def main():
    if len(sys.argv) < 3:
        print(f"usage: {sys.argv[0]} MAKE STEP...", file=sys.stderr)
        return 2
    steps = Steps(sys.argv[1])
    steps.run(sys.argv[2:])
    table = "".join(f"{line}\n" for line in steps.table)
    print(f"\n{table}", end="")
    if log := os.environ.get("STEPS_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(table)
    return steps.status


if __name__ == "__main__":
    sys.exit(main())
