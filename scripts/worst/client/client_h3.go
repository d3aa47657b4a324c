package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
)

// endpoint is a UDP socket that many connections share.
type endpoint struct{ *quic.Transport }

func newEndpoint(source netip.Addr) *endpoint {
	socket, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0)))
	if err != nil {
		fail(err.Error())
	}
	return &endpoint{&quic.Transport{Conn: socket}}
}

// openQUIC opens a connection, and the control stream without which a server answers nothing.
func openQUIC(ctx context.Context, over *endpoint, o *opener, config *quic.Config) (*quic.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, config.HandshakeIdleTimeout)
	defer cancel()
	to, err := net.ResolveUDPAddr("udp4", o.target.address)
	if err != nil {
		return nil, err
	}
	conn, err := over.Dial(ctx, to, o.config, config)
	if err != nil {
		return nil, err
	}
	control, err := conn.OpenUniStream()
	if err == nil {
		_, err = control.Write([]byte{0, 4, 0}) // The type of the stream, and empty SETTINGS.
	}
	if err != nil {
		_ = conn.CloseWithError(0, "")
		return nil, err
	}
	return conn, nil
}

// h3Request is a HEADERS frame: indices of the static table of RFC 9204, and literals with names of it.
func h3Request(method byte, path string) []byte {
	block := append([]byte{0, 0, method, 0xD7, 0x50}, literal("localhost")...)
	block = append(append(block, 0x51), literal(path)...)
	return append(h3Frame(1, len(block)), block...)
}

const (
	h3Get  = 0xD1
	h3Post = 0xD4
)

func h3Frame(kind byte, length int) []byte {
	return quicvarint.Append([]byte{kind}, uint64(length))
}

type h3Client struct {
	conn *quic.Conn
}

var ordinaryQUIC = &quic.Config{
	HandshakeIdleTimeout:    patience,
	MaxIdleTimeout:          time.Minute,
	KeepAlivePeriod:         10 * time.Second,
	DisablePathMTUDiscovery: true,
}

func openH3(ctx context.Context, o *opener, number int) (client, error) {
	conn, err := openQUIC(ctx, o.quic[number%len(o.quic)], o, ordinaryQUIC)
	if err != nil {
		return nil, err
	}
	return &h3Client{conn}, nil
}

func (c *h3Client) close() { _ = c.conn.CloseWithError(0x100, "") }

func (c *h3Client) get(path string, by time.Time) (int64, error) {
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	stream, err := c.conn.OpenStreamSync(ctx)
	if err != nil {
		return 0, err
	}
	defer stream.CancelRead(0x10C)
	_ = stream.SetDeadline(by)
	if _, err := stream.Write(h3Request(h3Get, path)); err != nil {
		return 0, err
	}
	_ = stream.Close()
	reader, length, ok := bufio.NewReaderSize(stream, 32<<10), int64(0), false
	for {
		kind, err := quicvarint.Read(reader)
		if err == io.EOF && ok {
			return length, nil
		} else if err != nil {
			return length, err
		}
		size, err := quicvarint.Read(reader)
		if err != nil {
			return length, err
		}
		pass := skip
		switch kind {
		case 0:
			length += int64(size)
			pass = take
		case 1:
			// The block begins with two bytes of its prefix; 0xD9 is `:status: 200` of the static table.
			if block, err := reader.Peek(3); err != nil || block[2] != 0xD9 {
				return length, errors.New("not answered 200")
			}
			ok = true
		}
		if err := pass(reader, int64(size)); err != nil {
			return length, err
		}
	}
}
