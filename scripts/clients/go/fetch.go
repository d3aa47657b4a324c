package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// One request; every answer but 200 is an error.
func ask(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return response, nil
}

// One answer, read to its end in pieces of the buffer's size, no faster than the rate allows.
func fetch(ctx context.Context, client *http.Client, wanted order, seen *report) error {
	response, err := ask(ctx, client, wanted.URL)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	hash, buffer, start, taken := sha256.New(), make([]byte, wanted.Buffer), time.Now(), 0
	for {
		count, err := response.Body.Read(buffer)
		hash.Write(buffer[:count])
		seen.took(count)
		taken += count
		if err == io.EOF {
			seen.answer(hex.EncodeToString(hash.Sum(nil)))
			return nil
		}
		if err != nil {
			return err
		}
		pause(start, taken, wanted.Rate)
	}
}

// A wait until so many bytes are due; for less than a millisecond it is not worth it.
func pause(start time.Time, taken, rate int) {
	if rate == 0 {
		return
	}
	due := start.Add(time.Duration(taken) * time.Second / time.Duration(rate))
	if wait := time.Until(due); wait > time.Millisecond {
		time.Sleep(wait)
	}
}

// All answers that are asked for, some at once. The first is alone: net/http connects anew for each of
// those that ask while there is no connection.
func fetchAll(ctx context.Context, client *http.Client, wanted order, seen *report) {
	if err := fetch(ctx, client, wanted, seen); err != nil {
		seen.fail(err)
		return
	}
	turns := make(chan struct{}, wanted.Count)
	for range wanted.Count - 1 {
		turns <- struct{}{}
	}
	close(turns)
	var group sync.WaitGroup
	for range wanted.AtOnce {
		group.Go(func() {
			for range turns {
				if seen.hasFailed() {
					return
				}
				if err := fetch(ctx, client, wanted, seen); err != nil {
					seen.fail(err)
				}
			}
		})
	}
	group.Wait()
}
