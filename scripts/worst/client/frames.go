package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
)

// Frames of HTTP/2 are written by hand, as no library may be asked to misbehave.
const (
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindow       = 8
	frameContinuation = 9

	flagEndStream  = 1
	flagAck        = 1
	flagEndHeaders = 4

	settingPush          = 2
	settingInitialWindow = 4
	largestWindow        = 1<<31 - 1
	firstWindow          = 1<<16 - 1
)

func appendFrame(to []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	to = append(to, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	return append(binary.BigEndian.AppendUint32(to, stream), payload...)
}

// appendOpening appends the preface, and settings with that window for each stream.
func appendOpening(to []byte, window uint32) []byte {
	payload := binary.BigEndian.AppendUint32([]byte{0, settingPush, 0, 0, 0, 0, 0, settingInitialWindow}, window)
	return appendFrame(append(to, preface...), frameSettings, 0, 0, payload)
}

func appendWindow(to []byte, stream, increment uint32) []byte {
	return appendFrame(to, frameWindow, 0, stream, binary.BigEndian.AppendUint32(nil, increment))
}

// fieldBlock is the head of a request: indices of the static table, and literals without indexing (RFC 7541).
func fieldBlock(method byte, tls bool, path string, more ...string) []byte {
	scheme := byte(0x86)
	if tls {
		scheme = 0x87
	}
	block := append([]byte{method, scheme, 0x04}, literal(path)...)
	block = append(append(block, 0x01), literal("localhost")...)
	for i := 0; i+1 < len(more); i += 2 {
		block = append(append(append(block, 0), literal(more[i])...), literal(more[i+1])...)
	}
	return block
}

const (
	methodGet  = 0x82
	methodPost = 0x83
)

// literal is a string of fewer than 127 bytes, which HPACK and QPACK write alike.
func literal(text string) []byte {
	if len(text) > 126 {
		panic("too long for one byte of length")
	}
	return append([]byte{byte(len(text))}, text...)
}

// frame is one that came; of its payload there are at most the first bytes.
type frame struct {
	kind, flags byte
	stream      uint32
	length      int
	payload     [8]byte
}

func (f frame) number(at int) uint32 { return binary.BigEndian.Uint32(f.payload[at:]) }

// isOK says whether a field block begins with `:status: 200`, after changes of the table's size.
func (f frame) isOK() bool {
	for _, octet := range f.payload {
		if octet>>5 != 1 {
			return octet == 0x88
		}
	}
	return false
}

// refusal is an answer in HTTP/1.1 to who speaks HTTP/2: the connection was not taken.
type refusal string

func (r refusal) Error() string { return string(r) }

func readFrame(reader *bufio.Reader) (frame, error) {
	head, err := reader.Peek(9)
	if err != nil {
		return frame{}, err
	}
	if string(head) == "HTTP/1.1 " {
		line, _ := reader.ReadString('\n')
		return frame{}, refusal(fmt.Sprintf("%.12s", line))
	}
	got := frame{kind: head[3], flags: head[4], length: int(head[0])<<16 | int(head[1])<<8 | int(head[2]),
		stream: binary.BigEndian.Uint32(head[5:]) & largestWindow}
	_, _ = reader.Discard(9)
	if first, err := reader.Peek(min(got.length, len(got.payload))); err != nil {
		return frame{}, err
	} else {
		copy(got.payload[:], first)
	}
	return got, skip(reader, int64(got.length))
}
