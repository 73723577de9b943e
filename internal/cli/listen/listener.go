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

	"holdfast/feed"
	"holdfast/internal/cli"
)

// listener follows a Holdfast, and shows what comes.
type listener struct {
	out       io.Writer
	shows     bool
	api       *cli.API
	forwarder *forwarder // nil where nothing is forwarded
	filter    feed.Filter
	after     string // the place to go on from

	// died are events that were sent when they died: they are not sent again when somebody has rescued them.
	died map[string]bool

	mu   sync.Mutex // one event after the other
	last *sent

	writing sync.Mutex
}

const (
	// pause is how long to wait before the stream is opened again.
	pause = time.Second
	// silence is how long a stream may say nothing before it is taken for lost.
	silence = 2*feed.Heartbeat + 10*time.Second
)

// run follows until ctx ends. The error says why that is of no use.
func (l *listener) run(ctx context.Context) error {
	l.say("listening to %s", l.api.URL)
	told := false
	for ctx.Err() == nil {
		began := time.Now()
		err := l.follow(ctx)
		var refused *cli.RefusalError
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was told to end
		case errors.Is(err, errSkipped):
			continue
		case errors.Is(err, errResync), errors.As(err, &refused) && refused.Status == http.StatusGone:
			l.say("the place is no longer in the feed: going on from now")
			l.after = "now"
		case errors.As(err, &refused) && refused.IsFinal(), errors.Is(err, errNoBody):
			return err
		case !told || time.Since(began) > pause:
			told = true
			l.say("connection lost (%v): trying again", err)
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
		watch.Stop() // the developer's server may take its time
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

// maxDied bounds the events that are remembered; one more and they are forgotten.
const maxDied = 10_000

// wanted is the event that has come, if one has, and a word about it. Each comes once: when it is processed or ignored, or has
// died.
func (l *listener) wanted(c feed.Change) (id, note string) {
	switch {
	case c.Subject == feed.Event && (c.Action == feed.Processed || c.Action == feed.Ignored) && !l.died[c.ID]:
		return c.ID, ""
	case c.Subject == feed.DeadLetter && c.Action == feed.Opened && c.SubscriptionID == 0:
		if l.died == nil || len(l.died) >= maxDied {
			l.died = map[string]bool{}
		}
		l.died[c.EventID] = true
		return c.EventID, "died: "
	}
	return "", ""
}

// show fetches an event, and sends it on. The error says that it has to be tried again.
func (l *listener) show(ctx context.Context, c feed.Change, id, note string) error {
	s, err := readEvent(ctx, l.api, id)
	var refused *cli.RefusalError
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusGone) {
		l.say("%s %s %s is gone", c.Provider, c.Kind, id)
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

// again sends the last event once more.
func (l *listener) again(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.say("nothing has come yet")
		return
	}
	l.send(ctx, *l.last, "again ")
}

// send forwards an event, and shows it in a line.
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
	if l.shows {
		l.writing.Lock()
		defer l.writing.Unlock()
		_ = cli.WriteBody(l.out, readable(s.Body)) // the output is all there is to tell
		fmt.Fprintln(l.out)
	}
}

// readable indents JSON, without touching its numbers.
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
