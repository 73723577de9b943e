package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/operator/httpapi"
)

// TokenVariable names the variable with the token for the operator API of a running Holdfast. No setting has this prefix.
const TokenVariable = "HOLDFAST_SECRET_TOKEN"

const (
	// answerTimeout bounds each request except streams.
	answerTimeout = 30 * time.Second
	maxAnswer     = 16 << 20 // in bytes
)

// NewHTTPClient uses no proxy, since both ends are known, and follows no redirects.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: nil, ResponseHeaderTimeout: answerTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// API is a client of a running Holdfast's operator API, for state that only a process has and for users who have a token but no
// database.
type API struct {
	// URL has no trailing slash.
	URL, Token string
	// NamedBy is the setting that the URL comes from: see the function of that name.
	NamedBy string
	Client  *http.Client
}

// APIFlags hold the operator API's URL and token file.
type APIFlags struct{ url, tokenFile string }

// Add adds --operator and --token-file.
func (f *APIFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "operator", "",
		"the operator port of a running Holdfast (default: http:// and HOLDFAST_OPERATOR_ADDR)")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "a file with the token (default: "+TokenVariable+")")
	Alias(c, "url", "operator")
}

// API returns a client for the flags' URL, or else the configuration's.
func (f *APIFlags) API(c *cobra.Command, cfg config.Config) (*API, error) {
	api := &API{
		URL: strings.TrimSuffix(f.url, "/"), Token: os.Getenv(TokenVariable), Client: NewHTTPClient(),
		NamedBy: NamedBy(c, "operator", "HOLDFAST_OPERATOR_ADDR"),
	}
	if api.URL == "" {
		api.URL = "http://" + cfg.Operator.Addr
	}
	if !IsURL(api.URL) {
		return nil, UsageError(c, fmt.Errorf("invalid --operator %q: use http://… or https://…", api.URL))
	}
	if f.tokenFile == "" {
		return api, nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read token: %w", err)
	}
	api.Token = strings.TrimSpace(string(text))
	return api, nil
}

// IsURL reports whether a text is an HTTP URL.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// RefusalError is an error response.
type RefusalError struct {
	Status int
	// By is the server, and Said the message of its response.
	By, Said string
}

// Error also says what to do, if that is known.
func (r *RefusalError) Error() string {
	switch r.Status {
	case http.StatusUnauthorized:
		return "the token is invalid or missing: create one with `holdfast token new NAME operator`, and set " +
			TokenVariable
	case http.StatusForbidden:
		return "the token's role isn't sufficient: this needs the role operator"
	}
	return Printable(fmt.Sprintf("%s responded %d %s", r.By, r.Status, r.Said))
}

// IsFinal reports whether retrying is pointless.
func (r *RefusalError) IsFinal() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests
}

// Get requests a path. The caller closes the body. If the status isn't 200, the error is a *RefusalError.
func (a *API) Get(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	response, err := a.Client.Do(request)
	if err != nil {
		return nil, Unreachable(err, a.URL, a.NamedBy)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	var answer httpapi.ErrorResponse
	_ = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer) // a proxy may respond with something else
	said := strings.TrimSpace(string(answer.Error.Code) + " " + answer.Error.Message)
	return nil, &RefusalError{response.StatusCode, a.URL, said}
}

// Read decodes a route's response into a value.
func (a *API) Read(ctx context.Context, path string, query url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	response, err := a.Get(ctx, path, query, "application/json")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read answer of %s: %w", a.URL, err)
	}
	return nil
}
