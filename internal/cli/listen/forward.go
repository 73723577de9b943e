package listen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/providers"
	"holdfast/providers/auth"
)

// eventHeader carries the event's ID in forwarded requests.
const eventHeader = "Holdfast-Event-Id"

// forwarder sends events to a developer.
type forwarder struct {
	to     string
	secret string
	// lookup finds the provider that signs; nil forwards without signing.
	lookup func(provider string) (*providers.Provider, bool)
	client *http.Client
}

// forward sends an event unchanged and returns the status of the response.
func (f *forwarder) forward(ctx context.Context, s sent) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := f.request(ctx, s)
	if err != nil {
		return 0, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is reused
	return response.StatusCode, nil
}

// own are connection headers, which the client sets itself.
var own = map[string]bool{
	"host": true, "content-length": true, "connection": true, "transfer-encoding": true, "te": true, "trailer": true,
	"upgrade": true, "keep-alive": true, "proxy-connection": true, "accept-encoding": true, "expect": true,
}

func (f *forwarder) request(ctx context.Context, s sent) (*http.Request, error) {
	r := &auth.Request{
		Method: http.MethodPost, Body: s.Body, PathParams: s.Path, URL: f.to,
		Header: map[string][]string{}, Query: map[string][]string{},
	}
	for name, value := range s.Headers {
		if !own[strings.ToLower(name)] {
			r.Header[strings.ToLower(name)] = []string{value}
		}
	}
	for name, value := range s.Query {
		r.Query[name] = []string{value}
	}
	if f.lookup != nil {
		if err := f.sign(r, s.Provider); err != nil {
			return nil, err
		}
	}
	target, err := url.Parse(f.to)
	if err != nil {
		return nil, err
	}
	query := target.Query()
	for name, values := range r.Query {
		query[name] = values
	}
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, target.String(), bytes.NewReader(s.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set(eventHeader, s.ID)
	return request, nil
}

// sign signs the request with the provider's own scheme.
func (f *forwarder) sign(r *auth.Request, provider string) error {
	p, ok := f.lookup(provider)
	if !ok {
		return fmt.Errorf(
			"no definition of %s, which says how to sign: pass its folder, such as --providers-dir ./my-providers", provider)
	}
	if err := p.Sign(r, f.secret, time.Now()); err != nil {
		return fmt.Errorf("sign as %s: %w", provider, err)
	}
	return nil
}
