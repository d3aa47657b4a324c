package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// client is a well-behaved connection that asks for one file after the other.
type client interface {
	// get returns once all of the answer has been read; whatever is not 200 is an error.
	get(path string, by time.Time) (int64, error)
	close()
}

// opener opens well-behaved connections, over what they may share.
type opener struct {
	target target
	config *tls.Config
	quic   []*endpoint
}

func newOpener(t target) *opener {
	o := &opener{target: t, config: tlsConfig(t.protocol)}
	if t.protocol == "h3" {
		for _, source := range t.sources {
			o.quic = append(o.quic, newEndpoint(source))
		}
	}
	return o
}

func (o *opener) open(ctx context.Context, number int) (client, error) {
	if o.target.protocol == "h3" {
		return openH3(ctx, o, number)
	}
	conn, err := o.target.connect(ctx, number, defaults, o.config)
	if err != nil {
		return nil, err
	}
	if o.target.protocol == "h2" || o.target.protocol == "h2c" {
		return openH2(conn, o.target)
	}
	return &h1Client{conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

type h1Client struct {
	conn   link
	reader *bufio.Reader
}

func (c *h1Client) close() { c.conn.Close() }

func (c *h1Client) get(path string, by time.Time) (int64, error) {
	_ = c.conn.raw.SetDeadline(by)
	if _, err := io.WriteString(c.conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return 0, err
	}
	length := int64(-1)
	for first := true; ; first = false {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return 0, err
		}
		line = strings.TrimRight(line, "\r\n")
		if first && !strings.HasPrefix(line, "HTTP/1.1 200") {
			return 0, fmt.Errorf("answered %q", line)
		}
		if line == "" {
			break
		}
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "content-length") {
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, errors.New("answer without a length")
	}
	return length, take(c.reader, length)
}

// taken counts the bytes of content that all clients of this process have read: answers that take longer than a
// measurement count in it as well.
var taken atomic.Int64

// take reads that many bytes of content and forgets them.
func take(reader *bufio.Reader, length int64) error {
	for length > 0 {
		piece := min(length, 64<<10)
		if err := skip(reader, piece); err != nil {
			return err
		}
		taken.Add(piece)
		length -= piece
	}
	return nil
}

// skip reads that many bytes and forgets them.
func skip(reader *bufio.Reader, length int64) error {
	for length > 0 {
		n, err := reader.Discard(int(min(length, 1<<20)))
		length -= int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
