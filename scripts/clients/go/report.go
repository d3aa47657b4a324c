package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// What a client saw. The answers are hashes and how often each came; who asked knows which is right.
type report struct {
	mutex       sync.Mutex
	start       time.Time
	bytes       int64
	answers     map[string]int
	cancelled   int
	connections int
	failure     string
}

func newReport() *report {
	return &report{start: time.Now(), answers: map[string]int{}}
}

func (r *report) answer(hash string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answers[hash]++
}

func (r *report) cancel() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.cancelled++
}

func (r *report) connect() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.connections++
}

func (r *report) took(count int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.bytes += int64(count)
}

// The first failure is kept: it is the cause of the others.
func (r *report) fail(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.failure == "" {
		r.failure = err.Error()
	}
}

func (r *report) hasFailed() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.failure != ""
}

// The report as the last line of the output.
func (r *report) write(out io.Writer) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return json.NewEncoder(out).Encode(map[string]any{
		"bytes":       r.bytes,
		"seconds":     time.Since(r.start).Seconds(),
		"answers":     r.answers,
		"cancelled":   r.cancelled,
		"connections": r.connections,
		"error":       r.failure,
	})
}
