package main

import (
	"fmt"
	"io"
	"os"
)

// The largest bodies, in bytes, that are read from a file: to be sent or explained, and to take the place of a dead letter's,
// which has to fit the input of a workflow.
const (
	maxSentBody   = 32 << 20
	maxEditedBody = 1 << 20
)

// readBody reads a file, or standard input where its name is "-".
func readBody(stdin io.Reader, file string, limit int64) ([]byte, error) {
	source := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // only read
		source = f
	}
	body, err := io.ReadAll(io.LimitReader(source, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("the body is larger than %d bytes", limit)
	}
	return body, nil
}
