package main

import (
	"bufio"
	"errors"
	"fmt"
	"time"
)

// h2Client is a well-behaved connection of HTTP/2 with one request at a time and windows that never bind.
type h2Client struct {
	conn   link
	reader *bufio.Reader
	tls    bool
	stream uint32
	unsaid int64
}

// giveBack is after how many bytes the connection's window is opened again.
const giveBack = 4 << 20

func openH2(conn link, t target) (client, error) {
	out := appendWindow(appendOpening(nil, largestWindow), 0, largestWindow-firstWindow)
	_ = conn.raw.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write(out); err != nil {
		conn.Close()
		return nil, err
	}
	return &h2Client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), tls: t.overTLS(), stream: 1}, nil
}

func (c *h2Client) close() { c.conn.Close() }

func (c *h2Client) get(path string, by time.Time) (int64, error) {
	_ = c.conn.raw.SetDeadline(by)
	stream := c.stream
	c.stream += 2
	out := appendFrame(nil, frameHeaders, flagEndHeaders|flagEndStream, stream, fieldBlock(methodGet, c.tls, path))
	if _, err := c.conn.Write(out); err != nil {
		return 0, err
	}
	length := int64(0)
	for {
		got, err := readFrame(c.reader)
		if err != nil {
			return length, err
		}
		switch {
		case got.kind == frameSettings && got.flags&flagAck == 0:
			_, err = c.conn.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
		case got.kind == framePing && got.flags&flagAck == 0:
			_, err = c.conn.Write(appendFrame(nil, framePing, flagAck, 0, got.payload[:]))
		case got.kind == frameGoAway:
			err = fmt.Errorf("GOAWAY %d", got.number(4))
		case got.kind == frameReset && got.stream == stream:
			err = fmt.Errorf("RST_STREAM %d", got.number(0))
		case got.kind == frameHeaders && got.stream == stream && !got.isOK():
			err = errors.New("not answered 200")
		case got.kind == frameData:
			length += int64(got.length)
			taken.Add(int64(got.length))
			if c.unsaid += int64(got.length); c.unsaid >= giveBack {
				_, err = c.conn.Write(appendWindow(nil, 0, uint32(c.unsaid)))
				c.unsaid = 0
			}
		}
		if err != nil {
			return length, err
		}
		ends := got.kind == frameData || got.kind == frameHeaders
		if ends && got.stream == stream && got.flags&flagEndStream != 0 {
			return length, nil
		}
	}
}
