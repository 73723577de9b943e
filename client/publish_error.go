package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// PublishError describes the last attempt to publish an event.
type PublishError struct {
	// ID is the event's, as its publisher chose it.
	ID string
	// Attempts counts the requests.
	Attempts int
	// Status is the status of the response, or 0 if there was none.
	Status int
	// Code, Message and RequestID are those of the response. Code is stable.
	Code, Message, RequestID string
	// RetryAfter is the pause that the response asks for.
	RetryAfter time.Duration
	// Err says why there was no response.
	Err error

	invalid bool // the request can't be made
}

func (e *PublishError) Error() string {
	text := fmt.Sprintf("publish event %s: attempt %d: ", e.ID, e.Attempts)
	if e.Err != nil {
		return text + e.Err.Error()
	}
	return fmt.Sprintf("%sstatus %d: %s: %s (request %s)", text, e.Status, e.Code, e.Message, e.RequestID)
}

func (e *PublishError) Unwrap() error { return e.Err }

// Retryable reports whether publishing the event again can succeed. If not, Holdfast has refused it and stored nothing.
func (e *PublishError) Retryable() bool {
	switch e.Status {
	case 0:
		return !e.invalid
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500
}

// failureOf describes a response without success.
func failureOf(response *http.Response, body []byte) *PublishError {
	var read struct {
		Error struct {
			Code      string `json:"code"`
			Message   string `json:"message"`
			RequestID string `json:"request_id"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &read) != nil || read.Error.Code == "" {
		read.Error.Code, read.Error.Message = "unknown", http.StatusText(response.StatusCode) // of a proxy, perhaps
	}
	return &PublishError{
		Status: response.StatusCode, Code: read.Error.Code, Message: read.Error.Message, RequestID: read.Error.RequestID,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	seconds, err := strconv.ParseUint(header, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // too large a number is parsed as the largest
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 10 * time.Second
	maxDoublings = 6 // beyond it, the pause is the longest
)

// backoff returns the pause after an attempt, which is 1 for the first. It varies, so that publishers don't return all at once.
func backoff(attempt int) time.Duration {
	pause := min(firstPause<<min(attempt-1, maxDoublings), longestPause)
	return pause/2 + rand.N(pause/2) //nolint:gosec // no secret
}
