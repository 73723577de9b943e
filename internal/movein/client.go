package movein

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/event"
)

// The limits of a request to another system.
const (
	requestTimeout = 30 * time.Second
	maxResponse    = 64 << 20 // in bytes
	// tries is how often a request is sent while the system is busy or unreachable.
	tries     = 5
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
)

// client reads JSON from an API.
type client struct {
	base, token string
	header      http.Header
	http        *http.Client
}

// newHTTPClient follows no redirect: another host would get the token.
func newHTTPClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// statusError is a response other than 200. It has no body, which may have secrets.
type statusError struct {
	path   string
	status int
}

func (e *statusError) Error() string {
	hint := ""
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = ": is the token right, and may it read everything?"
	case http.StatusNotFound:
		hint = ": check --from-url, and --project for Convoy"
	}
	return fmt.Sprintf("GET %s answers %d %s%s", e.path, e.status, http.StatusText(e.status), hint)
}

func isNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

func hasStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == code
}

// get decodes the response to a GET request. It tries again while the system is busy or unreachable.
func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	wait := firstWait
	for n := 1; ; n++ {
		after, err := c.once(ctx, path, query, into)
		if err == nil || !isTemporary(err) || n == tries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(wait, after)):
			wait *= 2
		}
	}
}

func isTemporary(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status == http.StatusTooManyRequests ||
			status.status >= http.StatusInternalServerError && status.status != http.StatusNotImplemented
	}
	var unreachable *url.Error
	return errors.As(err, &unreachable)
}

func (c *client) once(ctx context.Context, path string, query url.Values, into any) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return 0, errors.New("invalid --from-url: use http://… or https://…")
	}
	maps.Copy(request.Header, c.header)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := c.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return min(time.Duration(seconds)*time.Second, maxWait), &statusError{path, response.StatusCode}
	}
	limited := &io.LimitedReader{R: response.Body, N: maxResponse}
	if err := json.NewDecoder(limited).Decode(into); err != nil {
		if limited.N == 0 {
			err = fmt.Errorf("the response is over %d MiB, which is too large", maxResponse>>20)
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = errors.New("the response isn't JSON: check --from-url")
		}
		var mistyped *json.UnmarshalTypeError // its text has no value
		if errors.As(err, &mistyped) {
			err = fmt.Errorf("field %s has an unexpected type", mistyped.Field)
		}
		var mistimed *time.ParseError
		if errors.As(err, &mistimed) {
			err = errors.New("a time isn't in RFC 3339")
		}
		return 0, fmt.Errorf("GET %s: %w", path, err)
	}
	return 0, nil
}

// join joins the segments of a path, each of which may have any characters.
func join(segments ...string) (path string) {
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}

func durationOf(seconds uint64) event.Duration {
	const most = 10 * 365 * 24 * 3600
	return event.Duration(time.Duration(min(seconds, most)) * time.Second)
}

func quoted(text string) string {
	out, _ := json.Marshal(text) //nolint:errchkjson // it is text
	return string(out)
}
