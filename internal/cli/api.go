package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/config"
	"holdfast/internal/process/operatorapi"
	"holdfast/internal/telemetry"
	"holdfast/operator/httpapi"
)

// TokenVariable names the variable with the token for the operator API of a running Holdfast. No setting has this prefix.
const TokenVariable = "HOLDFAST_SECRET_TOKEN"

const (
	// answerTimeout bounds the time until a response begins. Some take long: see httpapi.SlowDetails.
	answerTimeout = 30 * time.Second
	maxAnswer     = 64 << 20 // in bytes
	// askAbove is the size in bytes of a body that is sent only once the server, or a proxy, has agreed to read it: one that refuses
	// it closes the connection. Without an answer, the body is sent after askFor.
	askAbove = 32 << 10
	askFor   = 2 * time.Second
)

// NewHTTPClient uses no proxy, since both ends are known, and follows no redirects.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: nil, ResponseHeaderTimeout: answerTimeout, ExpectContinueTimeout: askFor},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// API is a client of the operator API: that of a running Holdfast, or the one inside this process. Every command that reads or
// changes an installation goes through it.
type API struct {
	// URL has no trailing slash.
	URL, Token string
	// NamedBy is the setting that the URL comes from: see the function of that name.
	NamedBy string
	Client  *http.Client
	// Cfg is the configuration that the command has read.
	Cfg config.Config

	// local is set if the API is in this process.
	local *operatorapi.Local
}

// APIFlags hold the operator API's URL and token file.
type APIFlags struct{ url, tokenFile string }

// Add adds --operator and --token-file.
func (f *APIFlags) Add(c *cobra.Command) { f.add(c, "http:// and HOLDFAST_OPERATOR_ADDR") }

func (f *APIFlags) add(c *cobra.Command, usual string) {
	c.Flags().StringVar(&f.url, "operator", "", "the operator port of a running Holdfast (default: "+usual+")")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "a file with the token (default: "+TokenVariable+")")
}

// API returns a client for the flags' URL, or else the configuration's.
func (f *APIFlags) API(c *cobra.Command, cfg config.Config) (*API, error) {
	api := &API{
		URL: strings.TrimSuffix(f.url, "/"), Token: os.Getenv(TokenVariable), Client: NewHTTPClient(),
		NamedBy: NamedBy(c, "operator", "HOLDFAST_OPERATOR_ADDR"), Cfg: cfg,
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

// open returns a client for the URL of --operator, or else one of an API in this process.
func (f *APIFlags) open(c *cobra.Command) (*API, error) {
	cfg, _, err := config.LoadBesideDev()
	if err != nil {
		return nil, err
	}
	if f.url != "" {
		return f.API(c, cfg)
	}
	telemetry.SetLogger(slog.LevelWarn, true, os.Stderr)
	local, err := operatorapi.OpenLocal(c.Context(), cfg, actorName())
	if err != nil {
		return nil, withoutDatabase(c, err)
	}
	return &API{URL: "http://holdfast", Token: local.Token, Client: local.Client, Cfg: cfg, local: local}, nil
}

// WithAPI adds --operator and --token-file to a command and lets it run with the operator API. A request that was refused because
// of a flag's value becomes a usage error.
func WithAPI(c *cobra.Command, run func(*cobra.Command, *API, []string) error) *cobra.Command {
	var flags APIFlags
	flags.add(c, "none: the command itself connects to DATABASE_URL and Temporal")
	c.RunE = func(c *cobra.Command, args []string) error {
		api, err := flags.open(c)
		if err != nil {
			return err
		}
		defer api.close()
		return explain(c, api, run(c, api, args))
	}
	return c
}

// IsURL reports whether a text is an HTTP URL.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// Get requests a path. The caller closes the body. If the status isn't 2xx, the error is a *RefusalError.
func (a *API) Get(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	return a.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, accept)
}

// Read decodes a route's response into a value.
func (a *API) Read(ctx context.Context, path string, query url.Values, into any) error {
	return a.call(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil, into)
}

// Change sends a body as JSON, and decodes the response into a value unless that is nil. See Reasoned for the reason.
func (a *API) Change(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return a.call(ctx, method, path, mediaJSON, text, into)
}

// Upload posts a body of any media type, and decodes the response into a value.
func (a *API) Upload(ctx context.Context, path string, query url.Values, mediaType string, body []byte, into any) error {
	return a.call(ctx, http.MethodPost, path+"?"+query.Encode(), mediaType, body, into)
}

const mediaJSON = "application/json"

func (a *API) call(ctx context.Context, method, path, mediaType string, body []byte, into any) error {
	response, err := a.send(ctx, method, path, mediaType, body, mediaJSON)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if into == nil || response.StatusCode == http.StatusNoContent {
		return nil
	}
	var answer json.RawMessage
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("read answer of %s: %w", a.URL, err)
	}
	var late httpapi.ErrorResponse // of a slow route that failed after its status was sent
	if json.Unmarshal(answer, &late) == nil && late.Error.Code != "" {
		return &RefusalError{Status: response.StatusCode, ErrorBody: late.Error, By: a.by()}
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read answer of %s: %w", a.URL, err)
	}
	return nil
}

func (a *API) close() {
	if a.local != nil {
		a.local.Close()
	}
}

// by names the server in errors; "" for the API in this process.
func (a *API) by() string {
	if a.local != nil {
		return ""
	}
	return a.URL
}

func (a *API) send(ctx context.Context, method, path, mediaType string, body []byte, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	if body != nil {
		request.Header.Set("Content-Type", mediaType)
		if len(body) > askAbove {
			request.Header.Set("Expect", "100-continue")
		}
	}
	if a.Token != "" {
		request.Header.Set("Authorization", "Bearer "+a.Token)
	}
	response, err := a.Client.Do(request)
	if err != nil {
		return nil, Unreachable(err, a.URL, a.NamedBy)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	var answer httpapi.ErrorResponse
	_ = json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer) // a proxy may respond with something else
	return nil, &RefusalError{Status: response.StatusCode, ErrorBody: answer.Error, By: a.by()}
}

// Path joins the segments of a path, each of which may have any characters.
func Path(segments ...string) string {
	var path strings.Builder
	for _, s := range segments {
		path.WriteString("/" + httpapi.PathSegment(s))
	}
	return path.String()
}

// actorName returns the name for the audit log: that of the operating system's user.
func actorName() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return "cli:" + name
}

// WarnOfRenamed names the settings that have the name of the release before.
func WarnOfRenamed(c *cobra.Command, cfg config.Config) {
	for _, r := range cfg.Renamed() {
		fmt.Fprintf(c.ErrOrStderr(), "warning: %s is the former name of %s\n", r.Former, r.Name)
	}
}
