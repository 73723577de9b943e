package console

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack"
	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/program"
	"holdfast/internal/devstack/stacktest"
	"holdfast/operator/access"
)

// stack is a `holdfast dev` with tokens of each role.
type stack struct {
	dir      string
	data     string // directory of its servers
	ingress  string // base URL of the public port
	operator string // base URL of the operator port
	guest    string // an origin whose pages may read the change feed
	env      []string
	tokens   map[access.Role]string
	log      string // a file
}

// secret signs what the tests send.
const secret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz"

// homemade is a provider of notes in JSON with a secret that viewers must not see.
const homemade = `
name: homemade
extends: standard-webhooks
type: .body.type // "note"
occurred_at: []
redact: [.body.secret]
entities:
  - kind: note
    when: .body.id != null
    id: .body.id
    op: patch
    state: .body
`

func startStack() (*stack, error) {
	dir, err := os.MkdirTemp("", "holdfast-console-")
	if err != nil {
		return nil, err
	}
	s := &stack{dir: dir, tokens: map[access.Role]string{}, log: filepath.Join(dir, "log")}
	stacktest.StopAtExit(s.remove)
	if s.data, err = stacktest.TempDir("console"); err != nil {
		return nil, err
	}
	if err := s.configure(); err != nil {
		return nil, err
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	err = s.start()
	return s, err
}

// remove deletes everything, unless it is kept for debugging.
func (s *stack) remove() {
	if os.Getenv("HOLDFAST_KEEP") == "" {
		_ = os.RemoveAll(s.dir)
		_ = os.RemoveAll(s.data)
	}
}

func (s *stack) configure() error {
	ports, err := stacktest.FreePorts(5)
	if err != nil {
		return err
	}
	var entries []string
	for _, role := range access.Roles() {
		text, token, err := access.NewToken("the-"+string(role), role)
		if err != nil {
			return err
		}
		s.tokens[role], entries = text, append(entries, token.String())
	}
	providers := filepath.Join(s.dir, "providers")
	if err := os.Mkdir(providers, 0o755); err != nil {
		return err
	}
	for name, definition := range map[string]string{"homemade": homemade, "broken": broken, "fixable": fixable, "unkeyed": unkeyed} {
		if err := os.WriteFile(filepath.Join(providers, name+".yaml"), []byte(definition), 0o644); err != nil {
			return err
		}
	}
	s.ingress, s.operator = "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
	s.guest = "http://127.0.0.1:" + ports[4]
	s.env = append(cleanEnvironment(),
		"HOLDFAST_DEV_DIR="+s.data,
		"HOLDFAST_INGRESS_ADDR=127.0.0.1:"+ports[0], "HOLDFAST_OPERATOR_ADDR=127.0.0.1:"+ports[1],
		"HOLDFAST_DEV_TEMPORAL_PORT="+ports[2], "HOLDFAST_DEV_TEMPORAL_UI_PORT="+ports[3],
		"HOLDFAST_OPERATOR_TOKENS="+strings.Join(entries, ","), "HOLDFAST_PROVIDERS_DIR="+providers,
		"STANDARD_WEBHOOKS_SECRET="+secret, "HOLDFAST_INGRESS_ACK_BUDGET=15s", "HOLDFAST_INGRESS_START_TIMEOUT=20s",
		"HOLDFAST_INGRESS_HANDLER_BUDGET=25s", "HOLDFAST_INGRESS_SHUTDOWN_GRACE=30s", "HOLDFAST_INGRESS_BODY_LIMIT=1MiB",
		"HOLDFAST_OPERATOR_CHANGES_ORIGINS="+s.guest,
		"HOLDFAST_OPERATOR_TRACE_URL=http://traces.example/{trace_id}",
	)
	return nil
}

// cleanEnvironment returns the tests' environment without variables that would point Holdfast elsewhere.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "DATABASE_URL" || strings.HasPrefix(name, "TEMPORAL_") || strings.HasPrefix(name, "HOLDFAST_") ||
			strings.HasPrefix(name, "OTEL_")
	})
}

// build compiles the program. `holdfast dev` looks for the temporal program next to itself.
func (s *stack) build() error {
	root, err := stacktest.RepositoryRoot()
	if err != nil {
		return err
	}
	temporal, err := stacktest.TemporalBinary()
	if err != nil {
		return err
	}
	if err := os.Symlink(temporal, filepath.Join(s.dir, "temporal")); err != nil {
		return err
	}
	return program.Build(context.Background(), root, filepath.Join(s.dir, "holdfast"))
}

func (s *stack) start() error {
	log, err := os.Create(s.log)
	if err != nil {
		return err
	}
	command := exec.Command(filepath.Join(s.dir, "holdfast"), "dev")
	command.Env, command.Stdout, command.Stderr = s.env, log, log
	if err := command.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = command.Wait(); close(exited) }()
	stacktest.StopAtExit(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(time.Minute):
			_ = command.Process.Kill()
		}
		_ = log.Close()
	})
	return s.await(exited)
}

// reload makes all its roles read the definitions again.
func (s *stack) reload(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "lock"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGHUP))
}

func (s *stack) await(exited <-chan struct{}) error {
	deadline := time.Now().Add(3 * time.Minute)
	for time.Now().Before(deadline) {
		text, _ := os.ReadFile(s.log)
		if bytes.Contains(text, []byte("Holdfast is running")) {
			return nil
		}
		select {
		case <-exited:
			text, _ = os.ReadFile(s.log)
			return fmt.Errorf("holdfast dev has ended:\n%s", text)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("holdfast dev does not start; its log is in %s", s.log)
}

// form posts a page's form with a role's token, without following redirects.
func (s *stack) form(t *testing.T, role access.Role, path string, form url.Values) (status int, location, page string) {
	t.Helper()
	return s.ask(t, role, http.MethodPost, path, form)
}

// look requests a page with a role's token.
func (s *stack) look(t *testing.T, role access.Role, path string) (status int, page string) {
	t.Helper()
	status, _, page = s.ask(t, role, http.MethodGet, path, nil)
	return status, page
}

func (s *stack) ask(t *testing.T, role access.Role, method, path string, form url.Values) (status int, location, page string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.operator+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.tokens[role])
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := stays.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header.Get("Location"), string(text)
}

// configured returns what dev has configured, by the names of variables.
func (s *stack) configured(t *testing.T) map[string]string {
	t.Helper()
	given, err := os.ReadFile(filepath.Join(s.data, "env"))
	require.NoError(t, err)
	all := map[string]string{}
	for _, variable := range strings.Fields(string(given)) {
		name, value, _ := strings.Cut(variable, "=")
		all[name] = value
	}
	return all
}

// execOn runs a statement on a database.
func execOn(t *testing.T, database, sql string, args ...any) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer connection.Close(context.WithoutCancel(t.Context()))
	_, err = connection.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// run runs a command of the program against the stack.
func (s *stack) run(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.Command(filepath.Join(s.dir, "holdfast"), args...)
	command.Env = s.env
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

var (
	client = &http.Client{Timeout: time.Minute}
	// stays doesn't follow redirects.
	stays = &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	serial atomic.Int64
)

// uniqueID returns an ID unique across tests and runs.
func uniqueID(prefix string) string {
	return fmt.Sprintf("%s_%x_%d", prefix, time.Now().UnixNano(), serial.Add(1))
}

// send sends an event of homemade, and returns its ID.
func (s *stack) send(t *testing.T, key, body string) (eventID string) {
	t.Helper()
	return s.sendTo(t, "homemade", key, body)
}

func (s *stack) sendTo(t *testing.T, provider, key, body string) (eventID string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.ingress+"/webhooks/"+provider, strings.NewReader(body))
	require.NoError(t, err)
	request.Header = standardWebhook(t, key, body)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, 300, string(text))
	var answer struct {
		Events []struct {
			EventID string `json:"event_id"`
		} `json:"events"`
	}
	require.NoError(t, json.Unmarshal(text, &answer), string(text))
	require.Len(t, answer.Events, 1, string(text))
	return answer.Events[0].EventID
}

// standardWebhook returns the headers that sign a body for providers that extend standard-webhooks.
func standardWebhook(t *testing.T, key, body string) http.Header {
	t.Helper()
	at := fmt.Sprint(time.Now().Unix())
	signingKey, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	require.NoError(t, err)
	mac := hmac.New(sha256.New, signingKey)
	mac.Write([]byte(key + "." + at + "." + body))
	return http.Header{
		"Webhook-Id": {key}, "Webhook-Timestamp": {at},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
}

// poison is signed but isn't JSON, so that its event becomes a dead letter of the step parse.
const poison = "{signed, but no JSON"

// eventOf is an event as the API shows it to an admin.
type eventOf struct {
	Status      string `json:"status"`
	DeadLetters []struct {
		ID       int64  `json:"id"`
		State    string `json:"state"`
		Failures int    `json:"failures"`
	} `json:"dead_letters"`
	Deliveries []struct {
		Subscription string `json:"subscription"`
		Status       string `json:"status"`
		Attempts     int    `json:"attempts"`
	} `json:"deliveries"`
}

// sent is send, and waits until the event has the status.
func (s *stack) sent(t *testing.T, key, body, status string) (eventID string) {
	t.Helper()
	eventID = s.send(t, key, body)
	s.awaitEvent(t, eventID, "status "+status, func(e eventOf) bool { return e.Status == status })
	return eventID
}

// awaitEvent waits until isSo accepts the event.
func (s *stack) awaitEvent(t *testing.T, eventID, what string, isSo func(eventOf) bool) (e eventOf) {
	t.Helper()
	eventually(t, what+" of event "+eventID, func() error {
		e = eventOf{}
		if status := s.api(t, "GET", "/events/"+eventID, &e); status != http.StatusOK || !isSo(e) {
			return fmt.Errorf("it is %d %+v", status, e)
		}
		return nil
	})
	return e
}

// api calls the API as an admin.
func (s *stack) api(t *testing.T, method, path string, into any) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.operator+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+s.tokens[access.RoleAdmin])
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	if into != nil {
		require.NoError(t, json.NewDecoder(response.Body).Decode(into))
	}
	return response.StatusCode
}

// eventually polls until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(t, "not yet: "+what, "%v\n%s\n%s", err, child.LogTail(holdfast.log),
				child.LogTail(filepath.Join(holdfast.data, devstack.TemporalDir, "temporal.log")))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
