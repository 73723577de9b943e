package telemetry

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

// maxLines is how many lines wait for a slow writer: some seconds' worth.
const maxLines = 4096

// Lines passes log lines to a writer that may block, such as a pipe whose reader has stopped. Writers never wait: a line that
// doesn't fit is dropped and counted.
type Lines struct {
	queue   chan entry
	dropped atomic.Int64
}

// entry is a line, or a request for a signal when all earlier lines are written.
type entry struct {
	line    []byte
	flushed chan struct{}
}

// NewLines writes to out in the background for the lifetime of the process.
func NewLines(out io.Writer) *Lines {
	l := &Lines{queue: make(chan entry, maxLines)}
	go func() {
		for e := range l.queue {
			if e.flushed != nil {
				close(e.flushed)
				continue
			}
			_, _ = out.Write(e.line) // the error can't be reported anywhere
		}
	}()
	return l
}

// Write accepts one line. It never fails.
func (l *Lines) Write(line []byte) (int, error) {
	select {
	case l.queue <- entry{line: slices.Clone(line)}:
	default:
		l.dropped.Add(1)
	}
	return len(line), nil
}

// Flush returns when all earlier lines are written, or when the context ends.
func (l *Lines) Flush(ctx context.Context) error {
	flushed := make(chan struct{})
	select {
	case l.queue <- entry{flushed: flushed}:
	case <-ctx.Done():
		return fmt.Errorf("flush the log: %w", ctx.Err())
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("flush the log: %w", ctx.Err())
	}
}
