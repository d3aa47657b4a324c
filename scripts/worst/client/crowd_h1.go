package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// files is how many distinct files of each size the driver has made.
const files = 2000

// large is the path of the file of 1 MiB with that number, or for one in twenty that of 20 MiB.
func large(number int) string {
	if number%20 == 19 {
		return "/huge"
	}
	return fmt.Sprintf("/large/%d", number%files)
}

// small is a file of 4 KiB, which all ask for, or one of 64 KiB that hardly anybody else does.
func small(number int) string {
	if number%2 == 0 {
		return "/4k"
	}
	return fmt.Sprintf("/64k/%d", number%files)
}

func getH1(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

// tiny is the least receive buffer: what a socket does not take stays with the server.
const tiny = 4096

// drip is how often a connection that has not said all says a byte more.
const drip = 3 * time.Second

// overTCP is a kind that speaks as say does, if there is anything to say, and reads nothing.
func overTCP(protocols []string, say func(conn link, number int)) kind {
	return kind{protocols, func(ctx context.Context, c *crowd, number int) (func() error, func(), error) {
		conn, err := c.target.connect(ctx, number, tiny, c.config)
		if err != nil {
			return nil, nil, err
		}
		return func() error {
			go say(conn, number)
			return hold(conn)
		}, func() { conn.Close() }, nil
	}}
}

func init() {
	kinds["h1-pipeline"] = overTCP([]string{"h1"}, func(conn link, number int) {
		_ = conn.raw.SetWriteBuffer(tiny)
		requests := []byte(strings.Repeat(string(getH1(small(number))), 64))
		for {
			if _, err := conn.Write(requests); err != nil {
				return
			}
		}
	})
	kinds["h1-large"] = overTCP([]string{"h1"}, func(conn link, number int) {
		_, _ = conn.Write(getH1(large(number)))
	})
	kinds["tls-large"] = overTCP([]string{"h1s"}, func(conn link, number int) {
		_, _ = conn.Write(getH1(fmt.Sprintf("/large/%d", number%files)))
	})
	kinds["tls-idle"] = overTCP([]string{"h1s", "h2"}, func(link, int) {})
	kinds["h1-halfhead"] = overTCP([]string{"h1"}, func(conn link, number int) {
		head := "GET /4k HTTP/1.1\r\nHost: localhost\r\nX-Pad: "
		rest := []byte(head + strings.Repeat("a", 8<<10-len(head)))
		for {
			if _, err := conn.Write(rest); err != nil {
				return
			}
			time.Sleep(drip)
			rest = rest[:1]
			rest[0] = 'a'
		}
	})
}
