// Clients by Go (net/http, golang.org/x/net/http2, quic-go): one order in JSON as the argument, one
// report in JSON as the output. It fails only when it cannot do its part; what the server did wrong is
// in the report.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("give one order, in JSON")
	}
	wanted, err := parse(os.Args[1])
	if err != nil {
		return err
	}
	seen := newReport()
	transport, err := newTransport(wanted, seen)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	switch wanted.Mode {
	case "fetch":
		fetchAll(context.Background(), client, wanted, seen)
	case "cancel":
		carryAndCancel(context.Background(), client, wanted, seen)
	default:
		return fmt.Errorf("no such mode: %s", wanted.Mode)
	}
	if quic, ok := transport.(io.Closer); ok {
		// So that the server need not wait for a client that is no longer there.
		defer quic.Close()
	}
	return seen.write(os.Stdout)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(2)
	}
}
