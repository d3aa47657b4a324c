package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// openAgain opens a connection for as long as it takes: others that are there may have all of the server.
func openAgain(o *opener, number int) client {
	for {
		if over, err := o.open(context.Background(), number); err == nil {
			return over
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// runGreedy downloads the file in a loop over each connection, as fast as it can be read. Each line of the
// input asks for the answers since the last one, and for what has come of all.
func runGreedy(t target, path string, connections int) {
	o := newOpener(t)
	var answers, failures atomic.Int64
	var begun sync.WaitGroup
	begun.Add(connections)
	for number := range connections {
		go func() {
			over := openAgain(o, number)
			begun.Done()
			for {
				_, err := over.get(path, time.Now().Add(time.Minute))
				if err == nil {
					answers.Add(1)
					continue
				}
				failures.Add(1)
				over.close()
				over = openAgain(o, number)
			}
		}()
	}
	begun.Wait()
	say(map[string]bool{"ready": true})
	last := time.Now()
	eachLine(func() {
		now := time.Now()
		say(map[string]float64{
			"bytes": float64(taken.Swap(0)), "answers": float64(answers.Swap(0)),
			"failures": float64(failures.Swap(0)), "seconds": now.Sub(last).Seconds(),
		})
		last = now
	})
}
