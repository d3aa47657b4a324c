package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
)

// A client with the windows that its library has by default, that speaks just the protocol
// that is asked for, and counts its connections.
func newTransport(wanted order, seen *report) (http.RoundTripper, error) {
	secure := strings.HasPrefix(wanted.URL, "https:")
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		seen.connect()
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	// The certificate is made for the run: nobody could vouch for it.
	trust := &tls.Config{InsecureSkipVerify: true}
	switch {
	case wanted.Protocol == "h3":
		return &http3.Transport{
			TLSClientConfig:    trust,
			DisableCompression: true,
			Dial: func(ctx context.Context, addr string, trust *tls.Config, config *quic.Config) (*quic.Conn, error) {
				seen.connect()
				return quic.DialAddrEarly(ctx, addr, trust, config)
			},
		}, nil
	case wanted.Protocol == "h2" && !secure:
		return &http2.Transport{
			AllowHTTP:                  true,
			DisableCompression:         true,
			StrictMaxConcurrentStreams: true,
			DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
				return dial(ctx, network, addr)
			},
		}, nil
	case wanted.Protocol == "h1" || wanted.Protocol == "h2":
		spoken := new(http.Protocols)
		spoken.SetHTTP1(wanted.Protocol == "h1")
		spoken.SetHTTP2(wanted.Protocol == "h2")
		return &http.Transport{
			DialContext:         dial,
			TLSClientConfig:     trust,
			Protocols:           spoken,
			DisableCompression:  true,
			MaxIdleConnsPerHost: wanted.AtOnce,
			ReadBufferSize:      wanted.Buffer,
		}, nil
	}
	return nil, fmt.Errorf("no such protocol: %s", wanted.Protocol)
}
