// h3load asks a server over HTTP/3 (quic-go) as h2load does over HTTP/2: each connection has some
// requests under way at a time and asks for the URLs in turn. What it found goes to standard output
// as JSON. With -get it asks for each URL once and prints the answers.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// With less than this the client's windows, not the server, would set the pace; h2load does so too.
const window = 1 << 28

type answer struct {
	Status  int         `json:"status"`
	Fields  http.Header `json:"fields"`
	Content []byte      `json:"content"`
}

type report struct {
	Requests int     `json:"requests"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Errors   int     `json:"errors"`
	Failure  string  `json:"failure"`
	P50      int64   `json:"p50_us"`
	P99      int64   `json:"p99_us"`
	Cipher   string  `json:"cipher"`
}

// What the requests of all connections add up to.
type tally struct {
	sync.Mutex
	took    []time.Duration
	bytes   int64
	errors  int
	failure string
	cipher  string
}

func (t *tally) add(took time.Duration, length int64, cipher string, err error) {
	t.Lock()
	defer t.Unlock()
	if err != nil {
		t.errors++
		t.failure = err.Error()
		return
	}
	t.took = append(t.took, took)
	t.bytes += length
	t.cipher = cipher
}

// A connection of its own: a Transport keeps one for each host.
func connection() *http3.Transport {
	return &http3.Transport{
		// The certificate is made for the run; who the server is, is not what is measured.
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true},
		DisableCompression: true,
		QUICConfig: &quic.Config{
			InitialStreamReceiveWindow:     window,
			MaxStreamReceiveWindow:         window,
			InitialConnectionReceiveWindow: window,
			MaxConnectionReceiveWindow:     window,
		},
	}
}

func ask(transport *http3.Transport, url, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept-Encoding", accept)
	}
	return transport.RoundTrip(request)
}

func one(transport *http3.Transport, url, accept string, t *tally) {
	begun := time.Now()
	response, err := ask(transport, url, accept)
	if err != nil {
		t.add(0, 0, "", err)
		return
	}
	defer response.Body.Close()
	length, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err == nil && response.ContentLength >= 0 && length != response.ContentLength {
		err = fmt.Errorf("%d bytes of %d", length, response.ContentLength)
	}
	t.add(time.Since(begun), length, tls.CipherSuiteName(response.TLS.CipherSuite), err)
}

func load(urls []string, accept string, connections, streams, requests int) report {
	var t tally
	var all sync.WaitGroup
	begun := time.Now()
	for range connections {
		transport := connection()
		defer transport.Close()
		var asked atomic.Int64
		for range streams {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					at := int(asked.Add(1)) - 1
					if at >= requests/connections {
						return
					}
					one(transport, urls[at%len(urls)], accept, &t)
				}
			}()
		}
	}
	all.Wait()
	seconds := time.Since(begun).Seconds()
	sort.Slice(t.took, func(a, b int) bool { return t.took[a] < t.took[b] })
	percentile := func(of int) int64 {
		if len(t.took) == 0 {
			return 0
		}
		return t.took[(len(t.took)-1)*of/100].Microseconds()
	}
	return report{len(t.took), t.bytes, seconds, t.errors, t.failure, percentile(50), percentile(99), t.cipher}
}

func get(urls []string, accept string) ([]answer, error) {
	transport := connection()
	defer transport.Close()
	var answers []answer
	for _, url := range urls {
		response, err := ask(transport, url, accept)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		content, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", url, err)
		}
		answers = append(answers, answer{response.StatusCode, response.Header, content})
	}
	return answers, nil
}

func main() {
	connections := flag.Int("c", 64, "connections")
	streams := flag.Int("m", 32, "requests under way on each connection")
	requests := flag.Int("n", 1280, "requests of all connections; those beyond a multiple of them are left out")
	accept := flag.String("accept", "", "value of Accept-Encoding; empty: not sent")
	once := flag.Bool("get", false, "ask for each URL once and print the answers")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: h3load [flags] < URLS, one a line")
		flag.PrintDefaults()
	}
	flag.Parse()
	var urls []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			urls = append(urls, line)
		}
	}
	if len(urls) == 0 || *connections < 1 || *streams < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	var found any
	if *once {
		answers, err := get(urls, *accept)
		if err != nil {
			fmt.Fprintln(os.Stderr, "h3load:", err)
			os.Exit(1)
		}
		found = answers
	} else {
		found = load(urls, *accept, *connections, *streams, *requests)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		fmt.Fprintln(os.Stderr, "h3load:", err)
		os.Exit(1)
	}
}
