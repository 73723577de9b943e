package importer

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/stacktest"
)

// The variables that name programs of other gateways, built from their sources. Without them their tests are skipped: a build of
// Convoy takes many CPU minutes. docs/internals/testing.md has the commands.
const (
	convoyVariable  = "MOVING_CONVOY"
	outpostVariable = "MOVING_OUTPOST"
	// scaleVariable is the number of endpoints and of undelivered messages: 500x10000.
	scaleVariable = "MOVING_SCALE"
)

// commandTimeout bounds a command, which imports up to 10,000 messages.
const commandTimeout = 20 * time.Minute

// bounded returns the context of a command.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTimeout)
	t.Cleanup(cancel)
	return ctx
}

// scale returns how many endpoints and undelivered messages a test has.
func scale(t *testing.T) (endpoints, messages int) {
	t.Helper()
	text := os.Getenv(scaleVariable)
	if text == "" {
		return 10, 100
	}
	_, err := fmt.Sscanf(text, "%dx%d", &endpoints, &messages)
	require.NoError(t, err, scaleVariable)
	return endpoints, messages
}

// programsOf returns the folder with another gateway's programs.
func programsOf(t *testing.T, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s doesn't name a folder with built programs: see docs/internals/testing.md", variable)
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is missing")
	}
	return dir
}

// runProgram starts a program and waits until its page answers, or its port if the page is "". The returned function stops it.
func runProgram(t *testing.T, name, page, port string, env []string, command string, args ...string) (stop func()) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	require.NoError(t, err)
	c := exec.Command(command, args...)
	c.Env, c.Stdout, c.Stderr, c.Dir = env, log, log, filepath.Dir(log.Name())
	require.NoError(t, c.Start())
	exited := make(chan struct{})
	go func() { _ = c.Wait(); close(exited) }()
	stop = sync.OnceFunc(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(30 * time.Second):
			_ = c.Process.Kill()
			<-exited
		}
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("the end of %s's log:\n%s", name, text[max(0, len(text)-3000):])
		}
	})
	t.Cleanup(stop)
	eventually(t, name+" is ready", func() error {
		select {
		case <-exited:
			require.FailNow(t, name+" has ended")
		default:
		}
		if page != "" {
			response, err := client.Get(page)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s answers %s", page, response.Status)
			}
			return nil
		}
		return reachable(port)
	})
	return stop
}

func reachable(port string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(child.Loopback, port), time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// startRedis starts a Redis with an append-only file, and returns its port.
func startRedis(t *testing.T) (port string) {
	t.Helper()
	ports, err := stacktest.FreePorts(1)
	require.NoError(t, err)
	runProgram(t, "redis", "", ports[0], os.Environ(), "redis-server", "--port", ports[0], "--bind", child.Loopback, "--appendonly", "yes",
		"--save", "")
	return ports[0]
}

// oldDatabase creates a database for another gateway.
func oldDatabase(t *testing.T, prefix string) (url string) {
	t.Helper()
	name := fmt.Sprintf("%s_%d", prefix, time.Now().UnixNano())
	conn, err := pgx.Connect(t.Context(), cluster.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	return cluster.URL(name)
}

// ask sends JSON to another gateway's API, and decodes the answer.
func ask(t *testing.T, method, url, token string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 2, response.StatusCode/100, "%s %s: %d %s", method, url, response.StatusCode, answer)
	if into != nil {
		require.NoError(t, json.Unmarshal(answer, into), string(answer))
	}
}

// customers have the endpoints, which stay as they are while the gateway is replaced. Each endpoint verifies requests as its
// gateway's documentation says, with the secrets that it has.
type customers struct {
	*httptest.Server

	verify func(r *http.Request, endpoint int, body []byte) error

	mu sync.Mutex
	// down are the endpoints that answer 503.
	down map[int]bool
	// got counts the accepted requests by endpoint and ID in the body: "3:old-17".
	got     map[string]int
	refused []string
}

func startCustomers(t *testing.T, verify func(r *http.Request, endpoint int, body []byte) error) *customers {
	t.Helper()
	all := &customers{verify: verify, down: map[int]bool{}, got: map[string]int{}}
	all.Server = httptest.NewServer(all)
	t.Cleanup(all.Close)
	return all
}

func (all *customers) url(endpoint int) string { return fmt.Sprintf("%s/e/%d", all.URL, endpoint) }

func (all *customers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	endpoint, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/e/"))
	var data struct {
		N string `json:"n"`
	}
	_ = json.Unmarshal(body, &data)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.down[endpoint] {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err == nil {
		err = all.verify(r, endpoint, body)
	}
	if err != nil {
		all.refused = append(all.refused, fmt.Sprintf("endpoint %d: %v", endpoint, err))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	all.got[fmt.Sprintf("%d:%s", endpoint, data.N)]++
}

// setDown makes endpoints answer 503, or accept again.
func (all *customers) setDown(down map[int]bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.down = down
}

// counts returns how many wanted requests are missing, how many came more than once, and the refused ones.
func (all *customers) counts(wanted map[string]bool) (missing, doubled []string, refused []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		switch n := all.got[k]; {
		case n == 0:
			missing = append(missing, k)
		case n > 1:
			doubled = append(doubled, k)
		}
	}
	return missing, doubled, slices.Clone(all.refused)
}

// awaitAll waits until every wanted request has come, and checks that each came once and none was refused.
func (all *customers) awaitAll(t *testing.T, wanted map[string]bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for {
		missing, doubled, refused := all.counts(wanted)
		require.Empty(t, refused)
		if len(missing) == 0 {
			require.Empty(t, doubled)
			return
		}
		require.True(t, time.Now().Before(deadline), "%d of %d are missing, such as %s", len(missing), len(wanted), missing[0])
		time.Sleep(200 * time.Millisecond)
	}
}

// publishAlways publishes events to a Holdfast until stop is called, and returns what its endpoints must get.
func (i *installation) publishAlways(t *testing.T, of func(n int) (source string, endpoint int)) (stop func() map[string]bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wanted := map[string]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			source, endpoint := of(n)
			id := fmt.Sprintf("new-%d", n)
			body := fmt.Sprintf(`{"id":%q,"type":"order.paid","source":%q,"data":{"n":%q}}`, id, source, id)
			request, _ := http.NewRequest(http.MethodPost, i.ingress+"/events", strings.NewReader(body))
			request.Header.Set("Authorization", "Bearer "+publisherToken)
			response, err := client.Do(request)
			if err == nil {
				response.Body.Close()
				if response.StatusCode/100 == 2 {
					wanted[fmt.Sprintf("%d:%s", endpoint, id)] = true
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() map[string]bool {
		cancel()
		<-done
		return wanted
	}
}

const publisherToken = "publisher-token-of-the-tests"

func hexHMAC(secret string, text []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil))
}
