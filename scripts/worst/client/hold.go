package main

import (
	"bytes"
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// pollFD is struct pollfd of poll(2).
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	pollError      = 0x8
	pollHungUp     = 0x10
	pollPeerHungUp = 0x2000
)

// hungUp says whether the peer has closed, without reading what it sent before.
func hungUp(fd uintptr) bool {
	asked := pollFD{fd: int32(fd), events: pollPeerHungUp}
	found, _, _ := syscall.Syscall(syscall.SYS_POLL, uintptr(unsafe.Pointer(&asked)), 1, 0)
	return found == 1 && asked.revents&(pollError|pollHungUp|pollPeerHungUp) != 0
}

// hold waits until the server has ended a connection of which nothing is read, and says how: only then the
// first bytes are looked at, which tell a refusal from an end.
func hold(conn link) error {
	if raw, err := conn.raw.SyscallConn(); err != nil {
		return err
	} else {
		_ = raw.Read(hungUp)
	}
	_ = conn.raw.SetReadDeadline(time.Now().Add(time.Second))
	first := make([]byte, 12)
	n, err := conn.Read(first)
	switch {
	case bytes.HasPrefix(first[:n], []byte("HTTP/1.1 503")):
		return fmt.Errorf("%w: 503", errRefused)
	case n > 0:
		return fmt.Errorf("ended, first answer %q", first[:n])
	default:
		return fmt.Errorf("ended without an answer: %w", err)
	}
}
