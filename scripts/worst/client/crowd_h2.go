package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// h2Crowd is a connection of HTTP/2 that reads frames, so that it can answer those which ask for it and see
// the server end streams, and opens streams of one shape whenever fewer than it wants are open.
type h2Crowd struct {
	conn   link
	number int
	shape  h2Shape

	mutex  sync.Mutex
	open   []uint32
	stream uint32
	made   int
	credit int64
	got    int
	quiet  bool
}

// h2Shape is what a kind wants of its connections.
type h2Shape struct {
	window  uint32
	streams int
	// mute: what begin says leaves no place for another frame.
	mute bool
	// begin appends a new stream; what it sends as content, it takes from credit.
	begin func(c *h2Crowd, to []byte, stream uint32, tls bool) []byte
	// drip appends what is said each three seconds to stay.
	drip func(c *h2Crowd, to []byte) []byte
}

// write needs the mutex, so that frames stay whole.
func (c *h2Crowd) write(out []byte) error {
	if len(out) == 0 {
		return nil
	}
	_, err := c.conn.Write(out)
	if err != nil {
		c.conn.raw.Close()
	}
	return err
}

func (c *h2Crowd) fill(to []byte, tls bool) []byte {
	for len(c.open) < c.shape.streams {
		next := c.shape.begin(c, to, c.stream, tls)
		if len(next) == len(to) {
			break
		}
		to = next
		c.open = append(c.open, c.stream)
		c.stream += 2
		c.made++
	}
	return to
}

// take reads one frame and answers it, as far as the shape of what is under way allows.
func (c *h2Crowd) take(reader *bufio.Reader) error {
	got, err := readFrame(reader)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.got++
	over := got.kind == frameReset || (got.kind == frameHeaders || got.kind == frameData) && got.flags&flagEndStream != 0
	switch {
	case over:
		if at := slices.Index(c.open, got.stream); at >= 0 {
			c.open = slices.Delete(c.open, at, at+1)
		}
	case got.kind == frameGoAway:
		return fmt.Errorf("GOAWAY %d", got.number(4))
	case got.kind == frameWindow && got.stream == 0:
		c.credit += int64(got.number(0))
	case got.kind == frameSettings && got.flags&flagAck == 0 && !c.quiet:
		return c.write(appendFrame(nil, frameSettings, flagAck, 0, nil))
	case got.kind == framePing && got.flags&flagAck == 0 && !c.quiet:
		return c.write(appendFrame(nil, framePing, flagAck, 0, got.payload[:]))
	}
	return nil
}

// act opens streams and drips, until the reading fails.
func (c *h2Crowd) act(tls bool) error {
	reader := bufio.NewReaderSize(c.conn, 1<<10)
	c.mutex.Lock()
	err := c.write(appendOpening(nil, c.shape.window))
	c.mutex.Unlock()
	if err == nil && c.shape.mute {
		// The server's settings come first, and are acknowledged.
		err = c.take(reader)
		c.quiet = true
	}
	ended := make(chan struct{})
	go func() {
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		for tick := 0; ; tick++ {
			c.mutex.Lock()
			out := c.fill(nil, tls)
			if tick%3 == 2 {
				out = c.shape.drip(c, out)
			}
			_ = c.write(out)
			c.mutex.Unlock()
			select {
			case <-ended:
				return
			case <-ticks.C:
			}
		}
	}()
	for err == nil {
		err = c.take(reader)
	}
	close(ended)
	var no refusal
	if errors.As(err, &no) || c.got == 0 {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}

func overH2(shape h2Shape) kind {
	return kind{[]string{"h2", "h2c"}, func(ctx context.Context, c *crowd, number int) (func() error, func(), error) {
		conn, err := c.target.connect(ctx, number, 0, c.config)
		if err != nil {
			return nil, nil, err
		}
		over := &h2Crowd{conn: conn, number: number, shape: shape, stream: 1, credit: firstWindow}
		return func() error { return over.act(c.target.overTLS()) }, func() { conn.Close() }, nil
	}}
}

// half is what is sent of each request's content, whose length is twice that: 100 of it fit into the
// window that a connection begins with.
const half = 600

func init() {
	// A window of 1 byte has each answer begun and none go on; opened by a byte now and then, no stream
	// and no connection is one that nothing is taken of.
	kinds["h2-stalled"] = overH2(h2Shape{1, 128, false, func(c *h2Crowd, to []byte, stream uint32, tls bool) []byte {
		block := fieldBlock(methodGet, tls, large(c.number*128+c.made))
		return appendFrame(to, frameHeaders, flagEndHeaders|flagEndStream, stream, block)
	}, func(c *h2Crowd, to []byte) []byte {
		if len(c.open) == 0 {
			return to
		}
		first := c.open[0]
		c.open = append(c.open[1:], first)
		return appendWindow(to, first, 1)
	}})
	// 30 KiB of a field section in fields of 120 bytes, and no end.
	kinds["h2-halfblock"] = overH2(h2Shape{firstWindow, 1, true, func(c *h2Crowd, to []byte, stream uint32, tls bool) []byte {
		block := fieldBlock(methodGet, tls, "/4k")
		for len(block) < 30<<10 {
			block = append(append(append(block, 0), literal("x-pad")...), literal(strings.Repeat("a", 120))...)
		}
		to = appendFrame(to, frameHeaders, flagEndStream, stream, block[:15<<10])
		return appendFrame(to, frameContinuation, 0, stream, block[15<<10:])
	}, func(c *h2Crowd, to []byte) []byte {
		if len(c.open) == 0 {
			return to
		}
		return appendFrame(to, frameContinuation, 0, c.open[0], []byte{0, 1, 'x', 0})
	}})
	kinds["h2-bodies"] = overH2(h2Shape{firstWindow, 100, false, func(c *h2Crowd, to []byte, stream uint32, tls bool) []byte {
		if c.credit < half+64 {
			return to
		}
		c.credit -= half
		method := byte(methodGet)
		if c.made%2 == 1 {
			method = methodPost
		}
		block := fieldBlock(method, tls, "/4k", "content-length", fmt.Sprint(2*half))
		to = appendFrame(to, frameHeaders, flagEndHeaders, stream, block)
		return appendFrame(to, frameData, 0, stream, make([]byte, half))
	}, func(c *h2Crowd, to []byte) []byte {
		if len(c.open) == 0 || c.credit < 1 {
			return to
		}
		c.credit--
		return appendFrame(to, frameData, 0, c.open[0], []byte{0})
	}})
}
