// Command worst is the clients of scripts/worst/run.py: a crowd of the worst ones, greedy downloads, and the
// ordinary client beside them. Each prints a line of JSON whenever it is asked by a line on its input.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: worst crowd|greedy|ordinary [flags]")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	target := target{}
	flags.StringVar(&target.protocol, "protocol", "h1", "h1, h1s (over TLS), h2, h2c (in the clear) or h3")
	flags.StringVar(&target.address, "target", "", "ADDRESS:PORT of the server")
	from := flags.String("from", "127.0.0.2", "first address to come from")
	addresses := flags.Int("addresses", 1, "number of addresses to come from, one after the other")
	connections := flags.Int("connections", 1, "number of connections")
	life := flags.Duration("life", time.Minute, "it ends after this time, whatever happens")
	kind := flags.String("kind", "", "crowd: what each connection does")
	opening := flags.Duration("opening", time.Minute, "crowd: longest wait until all are open")
	path := flags.String("path", "/hot", "greedy, ordinary: what to ask for")
	every := flags.Duration("every", 10*time.Millisecond, "ordinary: time between requests")
	anew := flags.Bool("anew", false, "ordinary: also over a new connection each time")
	_ = flags.Parse(os.Args[2:])

	time.AfterFunc(*life, func() { fail("worst: it took too long") })
	target.sources = sources(*from, *addresses)
	switch os.Args[1] {
	case "crowd":
		runCrowd(target, *kind, *connections, *opening)
	case "greedy":
		runGreedy(target, *path, *connections)
	case "ordinary":
		runOrdinary(target, *path, *every, *anew)
	default:
		fail("worst: no such command: " + os.Args[1])
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(3)
}

// say prints one line of JSON for the driver.
func say(what any) {
	line, err := json.Marshal(what)
	if err != nil {
		fail(err.Error())
	}
	fmt.Println(string(line))
}

// eachLine calls answer for each line of the input, and returns when the driver closes it.
func eachLine(answer func()) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer()
	}
}
