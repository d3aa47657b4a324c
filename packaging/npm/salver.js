#!/usr/bin/env node
// The command `salver` of npm: runs the program of the package for this platform, and ends as it ends.

"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `salver-${process.platform}-${process.arch}`;

/** The path of the program. */
function program() {
  const file = process.platform === "win32" ? "salver.exe" : "salver";
  try {
    return require.resolve(`${name}/bin/${file}`);
  } catch {
    console.error(`salver: the package ${name} is not installed: either there is none for this platform, or npm was ` +
      "told to leave out optional packages (--omit=optional); cargo install builds it from source");
    process.exit(1);
  }
}

const path = program();
const rest = process.argv.slice(2);

// Node from 22.15 on can become the program: then nothing stands between it and the terminal or a supervisor.
if (typeof process.execve === "function" && process.platform !== "win32") {
  process.execve(path, [path, ...rest], process.env);
}

const child = spawn(path, rest, { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`salver: ${path}: ${error.message}`);
  process.exit(1);
});
// A terminal sends these to the program itself, too: a second one would end it at once.
const ofTerminal = process.stdin.isTTY ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
  if (signal in constants.signals && (process.platform !== "win32" || !signal.startsWith("SIGUSR"))) {
    process.on(signal, () => ofTerminal.includes(signal) || child.kill(signal));
  }
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
