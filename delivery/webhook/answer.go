package webhook

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/delivery"
)

// answerWait bounds how long the body of an answer is waited for. What became of the attempt is known before.
const answerWait = 2 * time.Second

// headerControl is the header of an answer by which a receiver steers what comes: "disable" wants nothing any more,
// "abort-message" not this event.
const headerControl = "Webhook-Delivery"

// classOf says what became of an attempt by the head of its answer. Whatever is no 2xx is tried again, a 4xx, too: receivers are
// deployed, and a mistake of theirs is not the end of the event.
func classOf(r *http.Response, now time.Time) delivery.Result {
	result := delivery.Result{Kind: delivery.Bad, Code: strconv.Itoa(r.StatusCode)}
	control := strings.ToLower(strings.TrimSpace(r.Header.Get(headerControl)))
	taken := r.StatusCode >= 200 && r.StatusCode < 300
	switch {
	case control == "disable":
		result.Kind, result.Error = delivery.Gone, "the endpoint answered webhook-delivery: disable"
	case taken:
		result.Kind = delivery.OK
	case control == "abort-message":
		result.Kind, result.Error = delivery.Final, "the endpoint answered webhook-delivery: abort-message"
	default:
		refused(&result, r, now)
	}
	return result
}

func refused(result *delivery.Result, r *http.Response, now time.Time) {
	result.Error = strings.TrimSpace("the endpoint answered " + result.Code + " " + http.StatusText(r.StatusCode))
	switch r.StatusCode {
	case http.StatusGone:
		result.Kind = delivery.Gone
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		result.Kind = delivery.Slow
		result.RetryAfter = retryAfter(r.Header.Get("Retry-After"), now)
	}
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable && result.RetryAfter > 0 {
		result.Kind = delivery.Busy
	}
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		result.Error += "; redirects are not followed"
	}
}

// retryAfter reads seconds or a date; 0 is none. A number that is too large is still one.
func retryAfter(text string, now time.Time) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(delivery.MaxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), delivery.MaxRetryAfter)
}

// readAnswer keeps the beginning of a body, for as long as there is patience. What comes after it is not read.
func readAnswer(body io.Reader, giveUp func()) []byte {
	patience := time.AfterFunc(answerWait, giveUp)
	defer patience.Stop()
	answer, _ := io.ReadAll(io.LimitReader(body, delivery.MaxAnswer)) // what came before an error is kept
	return answer
}
