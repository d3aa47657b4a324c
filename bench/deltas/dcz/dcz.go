// The judge of `dcz`: a decoder of Zstandard in Go, with a raw dictionary.
//
//	dcz DICTIONARY < CODING > CONTENT
//
// The coding is all of it: the frame with the digest is one that decoders skip.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

func judge() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: dcz DICTIONARY < CODING > CONTENT")
	}
	dictionary, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	// Frames that name no dictionary have number 0.
	decoder, err := zstd.NewReader(os.Stdin, zstd.WithDecoderDictRaw(0, dictionary),
		zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer decoder.Close()
	_, err = io.Copy(os.Stdout, decoder)
	return err
}

func main() {
	if err := judge(); err != nil {
		fmt.Fprintln(os.Stderr, "dcz:", err)
		os.Exit(1)
	}
}
