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
)

// TokenVariable holds the token that commands show to the operator port of a running Holdfast. Names that begin so are nobody
// else's.
const TokenVariable = "HOLDFAST_SECRET_TOKEN"

const (
	// answerTimeout bounds each request but a stream.
	answerTimeout = 30 * time.Second
	maxAnswer     = 16 << 20 // in bytes
)

// NewHTTPClient has no proxy, since both ends are named, and follows nobody elsewhere.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: nil, ResponseHeaderTimeout: answerTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// API is the operator API of a running Holdfast: for what only a process knows, and for who has a token and no database.
type API struct {
	// URL has no slash at its end.
	URL, Token string
	// NamedBy is what has named the URL: see the function of that name.
	NamedBy string
	Client  *http.Client
}

// APIFlags say where the operator API answers, and what opens it.
type APIFlags struct{ url, tokenFile string }

// Add adds --operator and --token-file.
func (f *APIFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "operator", "",
		"the operator port of a running Holdfast (default: http:// and HOLDFAST_OPERATOR_ADDR)")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "a file with the token (default: it is in "+TokenVariable+")")
	Alias(c, "url", "operator")
}

// API is the one that the flags name, or else that of the configuration.
func (f *APIFlags) API(c *cobra.Command, cfg config.Config) (*API, error) {
	api := &API{
		URL: strings.TrimSuffix(f.url, "/"), Token: os.Getenv(TokenVariable), Client: NewHTTPClient(),
		NamedBy: NamedBy(c, "operator", "HOLDFAST_OPERATOR_ADDR"),
	}
	if api.URL == "" {
		api.URL = "http://" + cfg.Operator.Addr
	}
	if !IsURL(api.URL) {
		return nil, Misuse(c, fmt.Errorf("--operator %q: want http://… or https://…", api.URL))
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

// IsURL says whether a text names a place that HTTP reaches.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// RefusalError is an answer that is none of those that are wanted.
type RefusalError struct {
	Status int
	// By is where it comes from, and Said what it says.
	By, Said string
}

// Error says what to do, where that is known.
func (r *RefusalError) Error() string {
	switch r.Status {
	case http.StatusUnauthorized:
		return "the token is wrong, or there is none: make one with `holdfast token new NAME operator`, and put it into " +
			TokenVariable
	case http.StatusForbidden:
		return "the role of the token is not enough: this needs an operator's"
	}
	return Printable(fmt.Sprintf("%s answers %d %s", r.By, r.Status, r.Said))
}

// IsFinal says whether to ask again is of no use.
func (r *RefusalError) IsFinal() bool {
	return r.Status >= 400 && r.Status < 500 && r.Status != http.StatusRequestTimeout && r.Status != http.StatusTooManyRequests
}

// Get asks for a path. The caller closes the body. The error is a *RefusalError where the answer is not 200.
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
		return nil, Nobody(err, a.URL, a.NamedBy)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	var answer struct {
		Error struct{ Code, Message string }
	}
	_ = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer) // a proxy may answer something else
	said := strings.TrimSpace(answer.Error.Code + " " + answer.Error.Message)
	return nil, &RefusalError{response.StatusCode, a.URL, said}
}

// Read reads the answer of a route into a value.
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
