package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// patience is how long a connection, a handshake and an ordinary answer may take before they have failed.
const patience = 5 * time.Second

// target is a server, how it is spoken to, and the addresses that clients come from.
type target struct {
	protocol string
	address  string
	sources  []netip.Addr
}

func sources(first string, count int) []netip.Addr {
	address, err := netip.ParseAddr(first)
	if err != nil {
		fail(err.Error())
	}
	all := make([]netip.Addr, count)
	for i := range all {
		all[i], address = address, address.Next()
	}
	return all
}

func (t target) source(number int) netip.Addr {
	return t.sources[number%len(t.sources)]
}

func (t target) overTLS() bool { return t.protocol == "h1s" || t.protocol == "h2" }

var alpn = map[string][]string{"h1s": {"http/1.1"}, "h2": {"h2"}, "h3": {"h3"}}

// tlsConfig trusts anyone, as the certificate is made at the server's start, and takes the cheapest key
// exchange, as the client's core is not what is measured.
func tlsConfig(protocol string) *tls.Config {
	return &tls.Config{
		InsecureSkipVerify: true,
		ServerName:         "localhost",
		NextProtos:         alpn[protocol],
		CurvePreferences:   []tls.CurveID{tls.X25519, tls.CurveP256},
	}
}

// link is a connection over TCP; raw is the socket beneath TLS, if there is any.
type link struct {
	net.Conn
	raw *net.TCPConn
}

// segment is the longest segment that clients take: what it is over Ethernet. With the 64 KiB of
// loopback each socket of the server would hold megabytes, which no client from elsewhere brings about.
const segment = 1460

// defaults is a receive buffer that is no hostile client's: the system's own, and its segments.
const defaults = -1

// connect opens the connection of that number; for hostile clients with short segments, and with a receive
// buffer of that size, or the system's if it is 0.
func (t target) connect(ctx context.Context, number, receiveBuffer int, config *tls.Config) (link, error) {
	dialer := net.Dialer{
		Timeout:   patience,
		LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(t.source(number), 0)),
		KeepAlive: -1,
	}
	if receiveBuffer != defaults {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			var err error
			if ctl := raw.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, segment)
				if err == nil && receiveBuffer > 0 {
					err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
				}
			}); ctl != nil {
				return ctl
			}
			return err
		}
	}
	conn, err := dialer.DialContext(ctx, "tcp4", t.address)
	if err != nil {
		return link{}, err
	}
	tcp := conn.(*net.TCPConn)
	if !t.overTLS() {
		return link{tcp, tcp}, nil
	}
	secure := tls.Client(tcp, config)
	_ = tcp.SetDeadline(time.Now().Add(patience))
	if err := secure.HandshakeContext(ctx); err != nil {
		tcp.Close()
		return link{}, err
	}
	_ = tcp.SetDeadline(time.Time{})
	return link{secure, tcp}, nil
}
