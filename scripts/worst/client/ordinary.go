package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// hot is the length of the file that the ordinary client asks for.
const hot = 1 << 10

// seen is what one way of asking has seen since the last report.
type seen struct {
	mutex    sync.Mutex
	ms       []float64
	failures int
	why      map[string]int
}

// sight is a report of it; percentiles are of the answers that came, failures are counted beside them.
type sight struct {
	Answers  int            `json:"answers"`
	Failures int            `json:"failures"`
	P50      float64        `json:"p50_ms"`
	P99      float64        `json:"p99_ms"`
	Max      float64        `json:"max_ms"`
	Why      map[string]int `json:"why,omitempty"`
}

func (s *seen) add(waited time.Duration, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err == nil {
		s.ms = append(s.ms, float64(waited.Nanoseconds())/1e6)
		return
	}
	s.failures++
	if s.why == nil {
		s.why = map[string]int{}
	}
	s.why[short(err)]++
}

func (s *seen) report() sight {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	slices.Sort(s.ms)
	at := func(share float64) float64 {
		if len(s.ms) == 0 {
			return 0
		}
		return s.ms[min(int(share*float64(len(s.ms))), len(s.ms)-1)]
	}
	made := sight{len(s.ms), s.failures, at(0.5), at(0.99), at(1), s.why}
	s.ms, s.failures, s.why = nil, 0, nil
	return made
}

// ask gets the hot file, and takes an answer of another length for none.
func ask(over client, path string) error {
	length, err := over.get(path, time.Now().Add(patience))
	if err == nil && length != hot {
		err = errors.New("answer of a wrong length")
	}
	return err
}

// pace asks each time that is due. What became due while an answer was awaited waited for that answer as
// well, from when it was due: else a stall of a second would count as one slow answer. What this process is
// late for by itself counts from the sending.
func pace(every time.Duration, to *seen, ask func() error) {
	for due := time.Now(); ; {
		time.Sleep(time.Until(due))
		sent := time.Now()
		err := ask()
		done := time.Now()
		to.add(done.Sub(sent), err)
		for due = due.Add(every); due.Before(done); due = due.Add(every) {
			if due.After(sent) {
				to.add(done.Sub(due), err)
			}
		}
	}
}

// overOne asks over one connection, which was open before anything else; a new one is opened only if it ended.
func overOne(o *opener, path string, every time.Duration, to *seen, ready chan<- struct{}) {
	var over client
	opens := func() (err error) {
		over, err = o.open(context.Background(), 0)
		return err
	}
	if err := opens(); err != nil {
		fail("worst: the ordinary client cannot connect: " + err.Error())
	}
	if err := ask(over, path); err != nil {
		fail("worst: the ordinary client is not answered: " + err.Error())
	}
	close(ready)
	pace(every, to, func() (err error) {
		if over == nil {
			err = opens()
		}
		if err == nil {
			err = ask(over, path)
		}
		if err != nil && over != nil {
			over.close()
			over = nil
		}
		return err
	})
}

// overNew asks over a new connection each time.
func overNew(o *opener, path string, every time.Duration, to *seen) {
	pace(every, to, func() error {
		over, err := o.open(context.Background(), 0)
		if err == nil {
			err = ask(over, path)
			over.close()
		}
		return err
	})
}

// runOrdinary asks until its input ends; each line of it asks for what was seen since the last one.
func runOrdinary(t target, path string, every time.Duration, anew bool) {
	o, kept, opened := newOpener(t), &seen{}, &seen{}
	ready := make(chan struct{})
	go overOne(o, path, every, kept, ready)
	<-ready
	if anew {
		go overNew(o, path, every, opened)
	}
	say(map[string]bool{"ready": true})
	eachLine(func() {
		say(map[string]sight{"kept": kept.report(), "new": opened.report()})
	})
}
