package frame

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event/feed"
)

const (
	// streamPause is the least time between two updates of a page, and streamIdle the most: the feed may lag.
	streamPause = time.Second
	streamIdle  = 5 * time.Second
	// maxStreams bounds open streams so that other requests are served too. Pages above it retry later.
	maxStreams = 100
	// streamTime is how long one response lasts; the page then asks for the next one. It is below the server's write timeout.
	streamTime = 25 * time.Second
)

// Renderer renders the current state of a part of a page.
type Renderer func(context.Context) ([]byte, error)

// Stream sends a part of a page immediately and then whenever it has changed, until streamTime is over. It redraws on a signal
// from changed, and periodically. The second function, which may be nil, runs for the same time.
func (f *Frame) Stream(ctx *fiber.Ctx, changed <-chan struct{}, background func(context.Context), draw Renderer) error {
	if f.streaming.Add(1) > maxStreams {
		f.streaming.Add(-1)
		return feed.ErrTooMany
	}
	ctx.Set(fiber.HeaderContentType, "text/event-stream")
	ctx.Set("X-Accel-Buffering", "no")
	ctx.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		ends, cancel := context.WithTimeout(f.streams, streamTime)
		defer cancel()
		defer f.streaming.Add(-1)
		if background != nil {
			go background(ends)
		}
		follow(ends, w, changed, draw)
	})
	return nil
}

// follow writes until the time is over, the client disconnects, or drawing fails; the page then asks again.
func follow(ctx context.Context, w *bufio.Writer, changed <-chan struct{}, draw Renderer) {
	var last []byte
	for ctx.Err() == nil {
		drawn, err := draw(ctx)
		if err != nil {
			return
		}
		sent := []byte(":\n\n") // only a write detects a disconnect
		if !bytes.Equal(drawn, last) {
			sent, last = message(drawn), drawn
		}
		_, _ = w.Write(sent) // Flush reports errors
		if w.Flush() != nil {
			return
		}
		pause(ctx, changed)
	}
}

// pause waits for a signal, but at least streamPause and at most streamIdle.
func pause(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-time.After(streamPause):
	case <-ctx.Done():
		return
	}
	select {
	case <-changed:
	case <-time.After(streamIdle - streamPause):
	case <-ctx.Done():
	}
}

// message formats a message of the stream. Each line needs a prefix, and a carriage return also ends a line.
func message(data []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("\r"), []byte("&#13;"))) {
		fmt.Fprintf(&out, "data: %s\n", bytes.TrimRight(line, "\n"))
	}
	out.WriteByte('\n')
	return out.Bytes()
}
