package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"holdfast/event/feed"
	"holdfast/internal/cli"
)

// listener follows a Holdfast and prints and forwards events.
type listener struct {
	out       io.Writer
	prints    bool
	api       *cli.API
	forwarder *forwarder // nil forwards nothing
	filter    feed.Filter
	after     string // the position to resume from

	// failed are events that were forwarded when they failed; they aren't forwarded again after a replay.
	failed map[string]bool

	mu   sync.Mutex // one event at a time
	last *sent

	writing sync.Mutex
}

const (
	// pause is the delay before the stream is reopened.
	pause = time.Second
	// silence is how long a stream may be silent before it counts as broken.
	silence = 2*feed.Heartbeat + 10*time.Second
)

// run follows until ctx ends, or returns the error that makes following pointless.
func (l *listener) run(ctx context.Context) error {
	l.say("listening to %s", l.api.URL)
	told := false
	for ctx.Err() == nil {
		began := time.Now()
		err := l.follow(ctx)
		var refused *cli.RefusalError
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ctx was canceled
		case errors.Is(err, errSkipped):
			continue
		case errors.Is(err, errResync), errors.As(err, &refused) && refused.Status == http.StatusGone:
			l.say("the position is no longer in the feed: continuing from now")
			l.after = "now"
		case errors.As(err, &refused) && refused.IsFinal(), errors.Is(err, errNoBody):
			return err
		case !told || time.Since(began) > pause:
			told = true
			l.say("connection lost (%v): reconnecting", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// follow reads one stream to its end.
func (l *listener) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	response, err := openChanges(ctx, l.api, l.after, l.filter)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return messages(response.Body, func(m message) error {
		watch.Stop() // the developer's server may be slow
		defer watch.Reset(silence)
		c, place, err := m.change()
		if id, note := l.wanted(c); err == nil && id != "" {
			err = l.show(ctx, c, id, note)
		}
		if place != "" && (err == nil || errors.Is(err, errSkipped)) {
			l.after = place
		}
		return err
	})
}

// maxFailed bounds the remembered events; above it, all are forgotten.
const maxFailed = 10_000

// wanted returns a change's event if it should be forwarded, and a note about it. Each event is forwarded once: when it is
// processed, ignored or failed.
func (l *listener) wanted(c feed.Change) (id, note string) {
	switch {
	case c.Subject == feed.Event && (c.Action == feed.Processed || c.Action == feed.Ignored) && !l.failed[c.ID]:
		return c.ID, ""
	case c.Subject == feed.DeadLetter && c.Action == feed.Opened && c.SubscriptionID == 0:
		if l.failed == nil || len(l.failed) >= maxFailed {
			l.failed = map[string]bool{}
		}
		l.failed[c.EventID] = true
		return c.EventID, "failed: "
	}
	return "", ""
}

// show fetches and forwards an event. An error means that it must be retried.
func (l *listener) show(ctx context.Context, c feed.Change, id, note string) error {
	s, err := readEvent(ctx, l.api, id)
	var refused *cli.RefusalError
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusGone) {
		l.say("%s %s %s was deleted", c.Provider, c.Kind, id)
		return nil
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = &s
	l.send(ctx, s, note)
	return nil
}

// resend resends the last event.
func (l *listener) resend(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.say("no event yet")
		return
	}
	l.send(ctx, *l.last, "again ")
}

// send forwards an event and prints a line about it.
func (l *listener) send(ctx context.Context, s sent, note string) {
	became := ""
	if l.forwarder != nil {
		began := time.Now()
		status, err := l.forwarder.forward(ctx, s)
		took := time.Since(began).Round(time.Millisecond)
		if became = fmt.Sprintf(" -> %d %s in %s", status, http.StatusText(status), took); err != nil {
			became = fmt.Sprintf(" -> failed in %s: %v", took, err)
		}
	}
	l.say("%s%s %s %s%s", note, s.Provider, s.Type, s.ID, became)
	if l.prints {
		l.writing.Lock()
		defer l.writing.Unlock()
		_ = cli.WriteWholeBody(l.out, readable(s.Body)) // a failing output can't be reported
		fmt.Fprintln(l.out)
	}
}

// readable indents JSON without changing its numbers.
func readable(body []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, body, "", "  ") != nil {
		return body
	}
	return out.Bytes()
}

func (l *listener) say(format string, args ...any) {
	line := cli.Printable(fmt.Sprintf(format, args...))
	l.writing.Lock()
	defer l.writing.Unlock()
	fmt.Fprintf(l.out, "%s  %s\n", time.Now().Format(time.TimeOnly), line)
}
