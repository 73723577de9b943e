package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"holdfast/providers/recovery"
)

// tokens keeps bearer tokens until they expire.
type tokens struct {
	http *http.Client
	mu   sync.Mutex
	// sources are by the request, so that a rotated secret gets a new token.
	sources map[recovery.Token]oauth2.TokenSource
}

// of returns a token. The error is a *recovery.Error.
func (t *tokens) of(r recovery.Token) (string, error) {
	token, err := t.source(r).Token()
	if err == nil {
		return token.AccessToken, nil
	}
	const what = "the token for the API"
	var answer *oauth2.RetrieveError // whose text repeats the answer
	var request *url.Error
	switch {
	case errors.As(err, &request):
		return "", unanswered(what, err)
	case !errors.As(err, &answer) || answer.Response == nil:
		return "", recovery.Errorf(recovery.KindUnreadable, "%s: the answer has none", what)
	}
	status := answer.Response.StatusCode
	kind, text := recovery.KindUnauthorized, "%s: %d, the client or its secret is refused"
	switch {
	case status == http.StatusTooManyRequests:
		kind, text = recovery.KindLimited, "%s: %d, the provider's rate limit is reached"
	case status >= http.StatusInternalServerError:
		kind, text = recovery.KindUnavailable, "%s: %d, the provider failed"
	}
	e := recovery.Errorf(kind, text, what, status)
	e.Status = status
	return "", e
}

func (t *tokens) source(r recovery.Token) oauth2.TokenSource {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sources[r]; ok {
		return s
	}
	config := clientcredentials.Config{
		ClientID: r.Client, ClientSecret: r.Secret, TokenURL: r.URL, Scopes: strings.Fields(r.Scope),
	}
	s := config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, t.http))
	if t.sources == nil {
		t.sources = map[recovery.Token]oauth2.TokenSource{}
	}
	t.sources[r] = s
	return s
}

// forget drops a token that the provider no longer accepts.
func (t *tokens) forget(r recovery.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sources, r)
}
