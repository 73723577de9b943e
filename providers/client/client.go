// Package client reads pages of providers' lists of events, and the state of what an event names, over HTTPS.
//
// It must not choose when to read, nor at which rate: that is the caller's. It keeps nothing but bearer tokens.
package client

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/recovery"
)

// pageTimeout is for one page, from the request to the last byte.
const pageTimeout = 60 * time.Second

// Client reads pages. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	secrets auth.Secrets
	tokens  tokens
	now     func() time.Time
}

// New returns a client. The transport must refuse internal addresses; the first secret of a name is used. While it is
// auth.Unreadable, requests fail as while the provider does.
func New(transport http.RoundTripper, secrets auth.Secrets) *Client {
	c := &Client{
		http: &http.Client{
			Transport:     transport,
			Timeout:       pageTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		secrets: secrets, now: time.Now,
	}
	c.tokens.http = c.http
	return c
}

// Page reads the next page of a walk. The error is a *recovery.Error, or the context's.
func (c *Client) Page(ctx context.Context, l *recovery.List, w recovery.Walk) (recovery.Page, error) {
	request, err := l.Request(w, c.secret)
	if err != nil {
		return recovery.Page{}, err
	}
	answer, err := c.do(ctx, l, request)
	if err != nil {
		if ctx.Err() != nil {
			return recovery.Page{}, fmt.Errorf("read a page: %w", ctx.Err())
		}
		return recovery.Page{}, err
	}
	return l.Read(w, answer)
}

// Fetch gets the state that an event names; nil if the provider no longer has it. The error is a *recovery.Error, or that of the
// context.
func (c *Client) Fetch(ctx context.Context, f *recovery.Fetch, values map[string]string) ([]byte, error) {
	request, err := f.Request(values, c.secret)
	if err != nil {
		return nil, err
	}
	answer, err := c.do(ctx, f, request)
	if failed, ok := errors.AsType[*recovery.Error](err); ok && isGone(failed) {
		return nil, nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("fetch a state: %w", ctx.Err())
		}
		return nil, err
	}
	return f.Read(answer)
}

// Detail gets the body of a missed event. The error is a *recovery.Error, or the context's.
func (c *Client) Detail(ctx context.Context, f *recovery.FollowUp, target, path string) ([]byte, error) {
	answer, err := c.followUp(ctx, f, target, path)
	if err != nil {
		return nil, err
	}
	return f.Read(answer)
}

// Redeliver asks the provider to send a missed event again. The error is a *recovery.Error, or the context's.
func (c *Client) Redeliver(ctx context.Context, f *recovery.FollowUp, target, path string) error {
	_, err := c.followUp(ctx, f, target, path)
	return err
}

func (c *Client) followUp(ctx context.Context, f *recovery.FollowUp, target, path string) (recovery.Answer, error) {
	request, err := f.Request(path, target, c.secret)
	if err != nil {
		return recovery.Answer{}, err
	}
	answer, err := c.do(ctx, f, request)
	if err != nil && ctx.Err() != nil {
		return answer, fmt.Errorf("follow a missed event up: %w", ctx.Err())
	}
	return answer, err
}

func isGone(e *recovery.Error) bool {
	return e.Kind == recovery.KindRefused && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}

// CanFetch reports whether host and credential of a fetch are configured; it sends nothing. A credential whose file can't be read
// any more is: until it can be, the fetch fails.
func (c *Client) CanFetch(f *recovery.Fetch) bool {
	_, err := f.Request(nil, c.secret)
	return err == nil || isTemporary(err)
}

func isTemporary(err error) bool {
	failed, ok := errors.AsType[*recovery.Error](err)
	return ok && failed.IsTemporary()
}

// Check returns the error of a list whose host or credential isn't configured; it sends nothing. The error is a *recovery.Error.
func (c *Client) Check(l *recovery.List) error {
	_, err := l.Request(recovery.Walk{}, c.secret)
	if isTemporary(err) {
		return nil
	}
	return err
}

func (c *Client) secret(name string) string {
	for _, one := range c.secrets(name) {
		return strings.TrimSpace(one)
	}
	return ""
}

// named says what a request is for: a list, a follow-up of one of its events, or a fetch.
type named interface {
	String() string
	SecretNames() []string
}

func (c *Client) do(ctx context.Context, l named, r recovery.Request) (recovery.Answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return recovery.Answer{}, recovery.Errorf(recovery.KindUnconfigured, "%s: the address isn't a URL", l)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	request.Header.Set("accept-encoding", "gzip") // so that the size is limited here, whatever the transport does
	if r.User != "" {
		request.SetBasicAuth(r.User, r.Password)
	}
	if r.Token != nil {
		token, err := c.tokens.of(*r.Token)
		if err != nil {
			return recovery.Answer{}, err
		}
		request.Header.Set("authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return recovery.Answer{}, unanswered(at(l, request), err)
	}
	defer func() { _ = response.Body.Close() }() // unread data doesn't matter
	if r.AnySuccess && response.StatusCode/100 == 2 {
		return recovery.Answer{}, nil
	}
	if response.StatusCode != http.StatusOK {
		if r.Token != nil && response.StatusCode == http.StatusUnauthorized {
			c.tokens.forget(*r.Token)
		}
		return recovery.Answer{}, c.refused(at(l, request), response, l.SecretNames())
	}
	body, err := read(response, cmp.Or(r.MaxAnswer, recovery.MaxAnswer))
	if err != nil {
		return recovery.Answer{}, unanswered(at(l, request), err)
	}
	return recovery.Answer{Links: response.Header.Values("link"), Body: body}, nil
}

// at names what a request is for, and its host if a variable has a part of it.
func at(l named, request *http.Request) string {
	if what := l.String(); strings.Contains(what, request.URL.Host) {
		return what
	}
	return l.String() + " at " + request.URL.Host
}

// read returns the body, and one byte more than the limit of a longer one.
func read(response *http.Response, limit int) ([]byte, error) {
	var body io.Reader = response.Body
	switch encoding := response.Header.Get("content-encoding"); encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	default:
		return nil, errors.New("the answer has an encoding that wasn't asked for")
	}
	return io.ReadAll(io.LimitReader(body, int64(limit)+1))
}

// unanswered returns the error of a request without an answer, or with part of one. The URL, which an error of http.Client
// repeats, is left out.
func unanswered(what string, err error) *recovery.Error {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	reason := err.Error()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		reason = "no complete answer in time"
	}
	return recovery.Errorf(recovery.KindUnavailable, "%s: %s", what, reason).Because(err)
}

// refused returns the error of an answer with another status than 200.
func (c *Client) refused(what string, response *http.Response, secrets []string) *recovery.Error {
	status, verb := response.StatusCode, "read"
	if response.Request.Method == http.MethodPost {
		verb = "do"
	}
	var e *recovery.Error
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e = recovery.Errorf(recovery.KindUnauthorized, "%s: %d, the credential is refused: check that %s may %s this",
			what, status, strings.Join(secrets, ", "), verb)
	case status == http.StatusTooManyRequests:
		e = recovery.Errorf(recovery.KindLimited,
			"%s: 429, the provider's rate limit is reached: if it happens often, set a lower `api.rate`, such as "+
				"{requests: 5, per: 1s}", what)
	case status >= http.StatusInternalServerError, status == http.StatusRequestTimeout:
		e = recovery.Errorf(recovery.KindUnavailable, "%s: %d, the provider failed", what, status)
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		e = recovery.Errorf(recovery.KindRefused, "%s: %d, a redirect, which isn't followed: correct api.host", what, status)
	default:
		e = recovery.Errorf(recovery.KindRefused,
			"%s: %d, the request is refused: its cursor may have expired, or the definition is wrong", what, status)
	}
	e.Status, e.RetryAfter = status, retryAfter(response.Header.Get("retry-after"), c.now())
	return e
}

// retryAfter parses seconds or a date; 0 for neither.
func retryAfter(text string, now time.Time) time.Duration {
	const longest = 24 * time.Hour
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(min(seconds, int(longest/time.Second)))*time.Second, longest)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), longest)
	}
	return 0
}
