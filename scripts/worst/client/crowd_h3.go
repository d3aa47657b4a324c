package main

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
)

// h3Crowd is a connection that opens as many streams as the server allows, and more whenever it allows more.
type h3Crowd struct {
	conn   *quic.Conn
	number int
	made   int
	last   *quic.Stream
}

// h3Window is the least that lets an answer begin, so that the server has to have its content at hand.
const h3Window = 512

// hostileQUIC has windows that hardly open. Its handshakes may wait long, as the client's core is full while a
// crowd comes.
var hostileQUIC = &quic.Config{
	HandshakeIdleTimeout:           3 * patience,
	MaxIdleTimeout:                 5 * time.Minute,
	KeepAlivePeriod:                5 * time.Second,
	InitialStreamReceiveWindow:     h3Window,
	MaxStreamReceiveWindow:         h3Window,
	InitialConnectionReceiveWindow: 1 << 20,
	MaxConnectionReceiveWindow:     1 << 20,
	MaxIncomingStreams:             -1,
	DisablePathMTUDiscovery:        true,
}

// atMost is how many streams one connection opens within a second, if the server allows ever more.
const atMost = 256

// overH3 is a kind that begins each stream as begin does, and every drip does what drip does.
func overH3(begin func(c *h3Crowd, to *quic.Stream) error, drips func(c *h3Crowd)) kind {
	return kind{[]string{"h3"}, func(ctx context.Context, c *crowd, number int) (func() error, func(), error) {
		conn, err := openQUIC(ctx, c.quic[number%len(c.quic)], c.opener, hostileQUIC)
		if err != nil {
			return nil, nil, err
		}
		over := &h3Crowd{conn: conn, number: number}
		return func() error { return over.act(&c.complete, begin, drips) }, func() {}, nil
	}}
}

// act begins streams until the connection has ended; those after the first ones only once the crowd is
// complete, which would otherwise never be, for all the work of those who came first. A stream that
// waits for a window is given up after a while, and stays as it is.
func (c *h3Crowd) act(complete *atomic.Bool, begin func(*h3Crowd, *quic.Stream) error, drips func(*h3Crowd)) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for tick := 0; ; tick++ {
		for made := 0; made < atMost && (tick == 0 || complete.Load()); made++ {
			stream, err := c.conn.OpenStream()
			if err != nil {
				break
			}
			_ = stream.SetWriteDeadline(time.Now().Add(drip))
			if begin(c, stream) == nil {
				c.last = stream
			}
			c.made++
		}
		if tick%3 == 2 && c.last != nil {
			drips(c)
		}
		select {
		case <-c.conn.Context().Done():
			return fmt.Errorf("ended: %w", context.Cause(c.conn.Context()))
		case <-ticks.C:
		}
	}
}

// Half a head of 8 KiB, and half of a content of 8 KiB, as far as the server grants windows.
var (
	halfHead = append(h3Frame(1, 8<<10), bytes.Repeat([]byte{0}, 4<<10)...)
	halfBody = append(h3Frame(0, 8<<10), make([]byte, 4<<10)...)
)

func init() {
	// Each file is another one; the byte that is read now and then has something be taken of the answer.
	kinds["h3-stalled"] = overH3(func(c *h3Crowd, to *quic.Stream) error {
		if _, err := to.Write(h3Request(h3Get, large(c.number*128+c.made))); err != nil {
			return err
		}
		return to.Close()
	}, func(c *h3Crowd) {
		_ = c.last.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, _ = c.last.Read(make([]byte, h3Window/2))
	})
	// Nothing is ever said.
	kinds["h3-idle"] = overH3(func(*h3Crowd, *quic.Stream) error { return nil }, func(*h3Crowd) {})
	// The QUIC library leaves no gaps in what it sends, so these are streams that are never ended.
	kinds["h3-gaps"] = overH3(func(c *h3Crowd, to *quic.Stream) error {
		what := halfHead
		if c.made%2 == 1 {
			what = append(h3Request(h3Post, "/4k"), halfBody...)
		}
		_, err := to.Write(what)
		return err
	}, func(c *h3Crowd) {
		_ = c.last.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		_, _ = c.last.Write([]byte{0})
	})
}
