package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// kind is a way to be the worst. open makes a connection, whose act does what it may and returns when the
// server has ended it.
type kind struct {
	protocols []string
	open      func(ctx context.Context, c *crowd, number int) (func() error, func(), error)
}

var kinds = map[string]kind{}

// crowd is many connections of one kind, each opened again when the server has ended it.
type crowd struct {
	*opener
	opening chan struct{}

	tried, held, opened, refused, ended atomic.Int64
	// complete: all have tried to open, or there was no more time to.
	complete atomic.Bool

	mutex sync.Mutex
	why   map[string]int
}

const (
	// atOnce is how many connections are being opened at a time: some for QUIC, where a lost packet costs
	// a second, and more where the queue of the listener is the bound.
	atOnce     = 256
	atOnceQUIC = 64
	// pause is how long a connection that was ended stays away. Without one it would be the rate of new
	// connections that is measured.
	pause = time.Second
	// perSocket is how many QUIC connections share a UDP socket.
	perSocket = 500
	// enough is the memory beyond which garbage is collected all the same.
	enough = 6 << 30
)

// errRefused marks connections that never came to do their worst.
var errRefused = errors.New("refused")

// short is the cause of an error without what differs between connections, so that it can be counted.
func short(err error) string {
	var number syscall.Errno
	text := err.Error()
	switch {
	case errors.As(err, &number):
		text = number.Error()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		text = "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "closed"
	}
	if errors.Is(err, errRefused) && !strings.HasPrefix(text, errRefused.Error()) {
		text = "refused: " + text
	}
	return fmt.Sprintf("%.70s", text)
}

func (c *crowd) count(to *atomic.Int64, err error) {
	to.Add(1)
	c.mutex.Lock()
	c.why[short(err)]++
	c.mutex.Unlock()
}

// one keeps the connection of that number open.
func (c *crowd) one(ctx context.Context, of kind, number int) {
	for first := true; ; first = false {
		c.opening <- struct{}{}
		act, end, err := of.open(ctx, c, number)
		<-c.opening
		if err == nil {
			c.opened.Add(1)
			c.held.Add(1)
		}
		if first {
			c.tried.Add(1)
		}
		if err != nil {
			c.count(&c.refused, fmt.Errorf("%w: %w", errRefused, err))
		} else {
			err = act()
			c.held.Add(-1)
			end()
			if errors.Is(err, errRefused) {
				c.count(&c.refused, err)
			} else {
				c.count(&c.ended, err)
			}
		}
		time.Sleep(pause)
	}
}

// state is a report since the start.
type state struct {
	Held    int64          `json:"held"`
	Opened  int64          `json:"opened"`
	Refused int64          `json:"refused"`
	Ended   int64          `json:"ended"`
	Seconds float64        `json:"seconds"`
	Why     map[string]int `json:"why,omitempty"`
}

// often is the causes that were most frequent.
func often(why map[string]int, most int) map[string]int {
	names := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return why[b] - why[a] })
	few := map[string]int{}
	for _, name := range names[:min(most, len(names))] {
		few[name] = why[name]
	}
	return few
}

// runCrowd reports once all connections have been tried, and again for each line of its input; when that
// ends it leaves, over QUIC with a word to the server.
func runCrowd(t target, name string, connections int, opening time.Duration) {
	of, known := kinds[name]
	if !known || !slices.Contains(of.protocols, t.protocol) {
		fail("worst: no such kind over " + t.protocol + ": " + name)
	}
	c := &crowd{opener: &opener{target: t, config: tlsConfig(t.protocol)}, opening: make(chan struct{}, atOnce), why: map[string]int{}}
	if t.protocol == "h3" {
		c.opening = make(chan struct{}, atOnceQUIC)
		for i := range max((connections+perSocket-1)/perSocket, len(t.sources)) {
			c.quic = append(c.quic, newEndpoint(t.source(i)))
		}
	}
	// Collecting garbage among all those streams is else a quarter of the work.
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(enough)
	begun := time.Now()
	report := func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		say(state{c.held.Load(), c.opened.Load(), c.refused.Load(), c.ended.Load(), time.Since(begun).Seconds(), often(c.why, 4)})
	}
	ctx := context.Background()
	for number := range connections {
		go c.one(ctx, of, number)
	}
	go func() {
		for c.tried.Load() < int64(connections) && time.Since(begun) < opening {
			time.Sleep(20 * time.Millisecond)
		}
		c.complete.Store(true)
		report()
	}()
	eachLine(report)
	for _, over := range c.quic {
		_ = over.Close()
	}
}
