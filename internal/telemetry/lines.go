package telemetry

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
)

// maxLines is how many lines wait for a writer that is slow: some seconds' worth.
const maxLines = 4096

// Lines passes the lines of a log on to a writer that may stand still, such as a pipe whose reader does. Nobody who writes
// ever waits for that: a line that finds no room is dropped, and counted.
type Lines struct {
	queue   chan entry
	dropped atomic.Int64
}

// entry is a line, or somebody who wants to know when all before it is written.
type entry struct {
	line    []byte
	flushed chan struct{}
}

// NewLines writes to out, in the background, for as long as the process lives.
func NewLines(out io.Writer) *Lines {
	l := &Lines{queue: make(chan entry, maxLines)}
	go func() {
		for e := range l.queue {
			if e.flushed != nil {
				close(e.flushed)
				continue
			}
			_, _ = out.Write(e.line) // there is nowhere to tell
		}
	}()
	return l
}

// Write takes one line. It never fails.
func (l *Lines) Write(line []byte) (int, error) {
	select {
	case l.queue <- entry{line: slices.Clone(line)}:
	default:
		l.dropped.Add(1)
	}
	return len(line), nil
}

// Flush returns when what was written before is passed on, or when the context ends.
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

// ObserveLines makes the number of lines that the log has lost a metric.
func (t *Telemetry) ObserveLines(l *Lines) error {
	_, err := t.Meters.Meter("holdfast/telemetry").Int64ObservableCounter("holdfast_log_lines_dropped_total",
		metric.WithDescription("Lines of the log that were lost because nobody read them in time."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(l.dropped.Load())
			return nil
		}))
	if err != nil {
		return fmt.Errorf("observe log: %w", err)
	}
	return nil
}
