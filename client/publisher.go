package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// Publisher publishes the events of one source. It may be used concurrently.
type Publisher struct {
	// URL is the base URL of Holdfast's public port, such as http://127.0.0.1:8080.
	URL string
	// Token is one of the tokens in Holdfast's EVENTS_TOKEN.
	Token string
	// Source names the service. IDs of events are unique within their source.
	Source string
	// RetryFor is the time after which no further attempt starts; 1 minute if it is zero. If it is negative, there is one attempt.
	RetryFor time.Duration
	// HTTP sends the requests; the default gives each attempt 15 seconds. No redirect is followed, whatever its CheckRedirect: the
	// 200 of another page, such as one for logging in, isn't a receipt.
	HTTP *http.Client
}

const (
	retryFor = time.Minute
	// maxResponse is in bytes.
	maxResponse = 1 << 20
)

var defaultHTTP = &http.Client{Timeout: 15 * time.Second}

// Publish sends an event until Holdfast has committed it durably, which is when it returns a receipt. All attempts send the same
// ID and bytes, so the event exists once, however many of them arrive.
//
// It retries if there is no response, and on 408, 429 and 5xx, with pauses that double from 0.25 to 10 seconds, and not before
// Retry-After. After an attempt, the error wraps a *PublishError. If that is retryable, the event may be committed: publish it
// again with the same ID.
func (p Publisher) Publish(ctx context.Context, e Event) (Receipt, error) {
	body, err := e.encode(p.Source)
	if err != nil {
		return Receipt{}, err
	}
	last := time.Now().Add(cmp.Or(p.RetryFor, retryFor))
	for attempt := 1; ; attempt++ {
		receipt, failure := p.attempt(ctx, body)
		if failure == nil {
			return receipt, nil
		}
		failure.ID, failure.Attempts = e.ID, attempt
		pause := max(backoff(attempt), failure.RetryAfter)
		if !failure.Retryable() || time.Now().Add(pause).After(last) || !wait(ctx, pause) {
			return Receipt{}, errors.Join(failure, ctx.Err())
		}
	}
}

func (p Publisher) attempt(ctx context.Context, body []byte) (Receipt, *PublishError) {
	url := strings.TrimSuffix(p.URL, "/") + "/events"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Receipt{}, &PublishError{Err: err, invalid: true}
	}
	if strings.ContainsFunc(p.Token, unicode.IsControl) {
		return Receipt{}, &PublishError{Err: errors.New("the token has a control character, such as a line break"), invalid: true}
	}
	request.Header.Set("Authorization", "Bearer "+p.Token)
	request.Header.Set("Content-Type", "application/json")
	sender := *cmp.Or(p.HTTP, defaultHTTP)
	sender.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := sender.Do(request)
	if err != nil {
		return Receipt{}, &PublishError{Err: err}
	}
	defer func() { _ = response.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse)) // the status decides
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return receiptOf(answer), nil
	}
	return Receipt{}, failureOf(response, answer)
}

// wait reports whether the context lasted for the pause.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
