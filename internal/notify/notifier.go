// Package notify sends short texts to the channels in shoutrrr's URLs (Telegram, Slack, e-mail, Discord, a generic webhook, …),
// and watches for outages that no queue could report, because the queue itself is down.
//
// A dead, slow or hostile channel only loses its own messages. The URLs contain secrets: neither they nor the library's errors,
// which quote them, leave this package.
package notify

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// sendTimeout bounds one message to one channel.
const sendTimeout = 10 * time.Second

// maxText bounds a message, in bytes: the smallest limit of a common channel is Discord's 2,000 characters.
const maxText = 1900

// Notifier sends to all of its channels. A nil one, and one without channels, sends nothing.
type Notifier struct {
	channels []*channel
	limit    time.Duration
}

// channel is one URL. It sends at most one message at a time, so a hanging channel blocks one goroutine, not one per message.
type channel struct {
	name    string
	service types.Service
	// titled: the message needs a title, which is its first line: an e-mail without one has no subject.
	titled bool
	busy   sync.Mutex
}

// boundDefaultClient sets a timeout on the client that shoutrrr's services share, since most of them set none.
var boundDefaultClient = sync.OnceFunc(func() {
	http.DefaultClient.Timeout = sendTimeout //nolint:forbidigo // it is the library that uses it
})

// New parses the URLs. Its error identifies an invalid one by position and never quotes it.
func New(urls ...string) (*Notifier, error) {
	boundDefaultClient()
	n := &Notifier{limit: sendTimeout}
	var wrong []error
	for i, address := range urls {
		scheme, _, _ := strings.Cut(address, ":")
		service, err := (&router.ServiceRouter{}).Locate(address)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("notification URL %d is none that shoutrrr can read", i+1))
			continue
		}
		n.channels = append(n.channels, &channel{
			name: fmt.Sprintf("channel %d (%s)", i+1, scheme), service: service, titled: scheme == "smtp" && !hasSubject(address),
		})
	}
	return n, errors.Join(wrong...)
}

// hasSubject reports whether a URL for e-mails sets their subject.
func hasSubject(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	for name := range parsed.Query() {
		if strings.EqualFold(name, "subject") || strings.EqualFold(name, "title") {
			return true
		}
	}
	return false
}

// maxTitle is in bytes.
const maxTitle = 120

// titleOf returns the first line of a text, as a header of an e-mail may have it.
func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return mime.QEncoding.Encode("utf-8", strings.ToValidUTF8(line[:min(len(line), maxTitle)], ""))
}

// Enabled reports whether there are any channels.
func (n *Notifier) Enabled() bool { return n != nil && len(n.channels) > 0 }

// Send sends to all channels concurrently. accepted counts the channels that accepted the message; the error joins the
// others'. It returns when the slowest channel has responded or timed out, or ctx ends.
func (n *Notifier) Send(ctx context.Context, text string) (accepted int, err error) {
	if !n.Enabled() {
		return 0, nil
	}
	results := make(chan error, len(n.channels))
	for _, c := range n.channels {
		go func() { results <- c.send(ctx, clip(text), n.limit) }()
	}
	var failures []error
	for range n.channels {
		if err := <-results; err != nil {
			failures = append(failures, err)
		} else {
			accepted++
		}
	}
	return accepted, errors.Join(failures...)
}

func (c *channel) send(ctx context.Context, text string, limit time.Duration) error {
	if !c.busy.TryLock() {
		return fmt.Errorf("%s still hangs on an earlier message", c.name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer c.busy.Unlock()
		defer func() {
			if recover() != nil {
				done <- errors.New("the library panicked")
			}
		}()
		params := types.Params{}
		if c.titled {
			params.SetTitle(titleOf(text))
		}
		done <- c.service.Send(text, &params)
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s did not take the message: %s", c.name, reason(err))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s gave no answer", c.name)
	}
}

// reason describes an error without quoting the library.
func reason(err error) string {
	text := err.Error()
	for _, known := range []string{
		"connection refused", "no such host", "network is unreachable", "certificate", "Client.Timeout", "deadline exceeded",
		"400", "401", "403", "404", "410", "413", "429", "500", "502", "503", "504",
	} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return "refused"
}

// clip cuts a text that is too long for a channel.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}
