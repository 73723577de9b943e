package frame

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/feed"
)

const (
	// streamPause is the least time between two looks of one page, and streamIdle the most: the feed may be held back.
	streamPause = time.Second
	streamIdle  = 5 * time.Second
	// maxStreams is how many pages are sent to at once, so that others are answered as well. One more asks again later.
	maxStreams = 100
	// streamTime is how long one answer lasts; the page then asks for the next one. It is within the server's time to write.
	streamTime = 25 * time.Second
)

// Drawing makes a piece of a page as it is now.
type Drawing func(context.Context) ([]byte, error)

// Stream sends a piece of a page, at once and then whenever it has become another one, for as long as an answer may last. It is
// drawn when something came, and now and then. Beside, which may be nil, runs for as long.
func (f *Frame) Stream(ctx *fiber.Ctx, came <-chan struct{}, beside func(context.Context), draw Drawing) error {
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
		if beside != nil {
			go beside(ends)
		}
		follow(ends, w, came, draw)
	})
	return nil
}

// follow writes until the time is over, nobody reads any more, or there is nothing to be had: the page asks again.
func follow(ctx context.Context, w *bufio.Writer, came <-chan struct{}, draw Drawing) {
	var last []byte
	for ctx.Err() == nil {
		drawn, err := draw(ctx)
		if err != nil {
			return
		}
		sent := []byte(":\n\n") // whether somebody reads is known only by writing
		if !bytes.Equal(drawn, last) {
			sent, last = message(drawn), drawn
		}
		_, _ = w.Write(sent) // Flush tells
		if w.Flush() != nil {
			return
		}
		rest(ctx, came)
	}
}

// rest lasts until something came, but neither less than streamPause nor more than streamIdle.
func rest(ctx context.Context, came <-chan struct{}) {
	select {
	case <-time.After(streamPause):
	case <-ctx.Done():
		return
	}
	select {
	case <-came:
	case <-time.After(streamIdle - streamPause):
	case <-ctx.Done():
	}
}

// message is one of a stream: each of its lines is named. A carriage return would end one as well.
func message(data []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(bytes.ReplaceAll(data, []byte("\r"), []byte("&#13;"))) {
		fmt.Fprintf(&out, "data: %s\n", bytes.TrimRight(line, "\n"))
	}
	out.WriteByte('\n')
	return out.Bytes()
}
