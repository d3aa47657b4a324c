package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// So many requests may be under way; below what servers allow, so that none waits for another.
const underWay = 64

// An answer that is not there after so long is missing: the connection has died without a word.
const patience = 15 * time.Second

// What is done with one request.
type task func(context.Context, *http.Client, order, *report) error

// A proxy's connection: small answers for those who stay, and large ones whose readers go away after
// the first bytes. It goes on until as many of both are done as the time and the rates make, or until
// the first failure.
func carryAndCancel(ctx context.Context, client *http.Client, wanted order, seen *report) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	try := func(work task) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		err := work(ctx, client, wanted, seen)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", patience)
		}
		if err != nil {
			seen.fail(err)
			end()
		}
	}
	slots := make(chan struct{}, underWay)
	var group sync.WaitGroup
	begin := func(work task) {
		slots <- struct{}{}
		group.Go(func() {
			try(work)
			<-slots
		})
	}

	// Alone, for the reason that fetchAll has.
	try(fetch)
	rate := wanted.Good + wanted.Cancels
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	start, begun := time.Now(), 1
	for begun < wanted.Seconds*rate && ctx.Err() == nil {
		<-tick.C
		due := min(time.Since(start).Seconds(), float64(wanted.Seconds)) * float64(rate)
		for ; float64(begun) < due; begun++ {
			// Evenly mixed, also where the machine is too slow for the rate.
			if (begun+1)*wanted.Cancels/rate > begun*wanted.Cancels/rate {
				begin(leaveEarly)
			} else {
				begin(fetch)
			}
		}
	}
	group.Wait()
}

// A reader of the large file who goes away after its first bytes.
func leaveEarly(ctx context.Context, client *http.Client, wanted order, seen *report) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := ask(ctx, client, wanted.Large)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	count, err := response.Body.Read(make([]byte, wanted.Buffer))
	if err != nil {
		return err
	}
	seen.took(count)
	seen.cancel()
	return nil
}
