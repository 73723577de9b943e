package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/delivery"
)

// responseTimeout bounds reading the response body. The result of the attempt is known before.
const responseTimeout = 2 * time.Second

// headerControl is a response header with which an endpoint stops deliveries: "disable" stops all of them, "abort-message" this
// one.
const headerControl = "Webhook-Delivery"

// classOf derives the result from the status and headers. Every status except 2xx is retried, even 4xx: a broken deployment of
// the endpoint must not lose events.
func classOf(r *http.Response, now time.Time) delivery.Result {
	result := delivery.Result{Kind: delivery.Bad, Code: strconv.Itoa(r.StatusCode)}
	control := strings.ToLower(strings.TrimSpace(r.Header.Get(headerControl)))
	accepted := r.StatusCode >= 200 && r.StatusCode < 300
	switch {
	case control == "disable":
		result.Kind, result.Error = delivery.Gone, "the endpoint answered webhook-delivery: disable"
	case accepted:
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
		result.Error += "; redirects are not followed" + aboutRedirect(r)
	}
}

// aboutRedirect says where a redirect leads. It names no path or query, which may hold a secret; the answer does.
func aboutRedirect(r *http.Response) string {
	to, err := r.Location()
	if err != nil || r.Request == nil {
		return ""
	}
	from := r.Request.URL
	const leads = ": it leads to "
	switch {
	case to.Host != from.Host:
		return leads + to.Scheme + "://" + to.Host
	case to.Path != from.Path && strings.TrimSuffix(to.Path, "/") == strings.TrimSuffix(from.Path, "/"):
		return leads + "the same address with or without a slash at the end"
	case to.Path != from.Path:
		return leads + "another path of the same host"
	case to.Scheme != from.Scheme:
		return leads + "the same address with " + to.Scheme
	}
	return leads + "the same path"
}

// retryAfter parses seconds or a date, capped at delivery.MaxRetryAfter; 0 means none.
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
