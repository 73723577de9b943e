package operator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/operator"
)

// serve starts a server on a real listener and returns its base URL.
func serve(t *testing.T, o operator.Options) (*operator.Server, string) {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	server := operator.New(o)
	return server, listen(t, server)
}

// listen serves until the test ends.
func listen(t *testing.T, server *operator.Server) string {
	t.Helper()
	server.Started()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
		require.NoError(t, <-done)
	})
	return "http://" + listener.Addr().String()
}

// A process that is stopped while it starts doesn't wait for its own server.
func TestAServerThatIsShutDownBeforeItServes(t *testing.T) {
	server := operator.New(operator.Options{Log: slog.New(slog.DiscardHandler)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, server.Shutdown(t.Context()))
	require.NoError(t, server.Serve(listener))
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	return do(t, http.MethodGet, url)
}

func do(t *testing.T, method, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	res := send(t, req)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res, string(body)
}

// send sends a request and repeats it if the connection broke: a server that refuses a request responds and closes the
// connection before it has read all of it, and a client that is still writing can miss the response.
func send(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	for tries := 1; ; tries++ {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			return res
		}
		require.Less(t, tries, 20, err)
		require.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF), err)
		if req.GetBody != nil {
			req.Body, err = req.GetBody()
			require.NoError(t, err)
		}
	}
}

func ok(context.Context) error { return nil }

func TestAProcessThatCanDoItsWorkIsReady(t *testing.T) {
	t.Parallel()
	_, url := serve(t, operator.Options{Checks: []operator.Check{{"database", ok}, {"temporal", ok}}})
	res, body := get(t, url+"/readyz")
	require.Equal(t, 200, res.StatusCode)
	require.JSONEq(t, `{"ready":true,"checks":[{"name":"database","ok":true},{"name":"temporal","ok":true}]}`, body)
}

func TestAProcessThatCannotSaysWhyAndStillLives(t *testing.T) {
	t.Parallel()
	down := func(context.Context) error { return errors.New("connection refused") }
	panics := func(context.Context) error { panic("whoops") }
	_, url := serve(t, operator.Options{Checks: []operator.Check{{"database", down}, {"disk", panics}, {"temporal", ok}}})
	res, body := get(t, url+"/readyz")
	require.Equal(t, 503, res.StatusCode)
	require.JSONEq(t, `{"ready":false,"checks":[
		{"name":"database","ok":false,"error":"connection refused"},
		{"name":"disk","ok":false,"error":"the check panicked"},
		{"name":"temporal","ok":true}]}`, body)

	res, _ = get(t, url+"/healthz")
	require.Equal(t, 200, res.StatusCode)
}

// A check that ignores its deadline must neither block the response nor accumulate goroutines.
func TestACheckThatHangsIsReportedAndRunsOnlyOnce(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	release := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	hangs := func(context.Context) error {
		runs.Add(1)
		<-release
		return nil
	}
	_, url := serve(t, operator.Options{
		CheckTimeout: 100 * time.Millisecond,
		Checks:       []operator.Check{{"database", hangs}, {"temporal", ok}},
	})
	for range 3 {
		res, body := get(t, url+"/readyz")
		require.Equal(t, 503, res.StatusCode)
		require.Contains(t, body, `{"name":"database","ok":false,"error":"no answer within 100ms"}`)
		require.Contains(t, body, `{"name":"temporal","ok":true}`)
	}
	require.EqualValues(t, 1, runs.Load())
}

func TestChecksRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(2)
	waitsForTheOther := func(ctx context.Context) error {
		together.Done()
		met := make(chan struct{})
		go func() { together.Wait(); close(met) }()
		select {
		case <-met:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, url := serve(t, operator.Options{Checks: []operator.Check{{"a", waitsForTheOther}, {"b", waitsForTheOther}}})
	res, _ := get(t, url+"/readyz")
	require.Equal(t, 200, res.StatusCode)
}

// The operator server listens first, so a process that waits for its database can report why.
func TestAProcessIsNotReadyBeforeItHasStarted(t *testing.T) {
	t.Parallel()
	server := operator.New(operator.Options{
		Log: slog.New(slog.DiscardHandler), Checks: []operator.Check{{Name: "database", Probe: ok}},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Shutdown(context.Background())) })
	url := "http://" + listener.Addr().String()

	res, body := get(t, url+"/readyz")
	require.Equal(t, 503, res.StatusCode)
	require.JSONEq(t, `{"ready":false,"checks":[
		{"name":"database","ok":true},{"name":"process","ok":false,"error":"starting"}]}`, body)

	server.Started()
	res, body = get(t, url+"/readyz")
	require.Equal(t, 200, res.StatusCode)
	require.JSONEq(t, `{"ready":true,"checks":[{"name":"database","ok":true}]}`, body)
}

func TestADrainingProcessIsNotReadyButStillServes(t *testing.T) {
	t.Parallel()
	server, url := serve(t, operator.Options{Checks: []operator.Check{{"database", ok}}})
	server.Drain()
	res, body := get(t, url+"/readyz")
	require.Equal(t, 503, res.StatusCode)
	require.Contains(t, body, `"ready":false`)
	require.Contains(t, body, `{"name":"process","ok":false,"error":"draining"}`)
	server.Started()
	res, _ = get(t, url+"/readyz")
	require.Equal(t, 503, res.StatusCode, "there is no way back")
	res, _ = get(t, url+"/healthz")
	require.Equal(t, 200, res.StatusCode)
}

func TestMetricsAreServedAsTheyAreGiven(t *testing.T) {
	t.Parallel()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "up 1\n")
	})
	_, url := serve(t, operator.Options{Metrics: metrics})
	res, body := get(t, url+"/metrics")
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "up 1\n", body)
	require.Equal(t, "text/plain; version=0.0.4", res.Header.Get("Content-Type"))
}

func TestTheIndexListsServedMetrics(t *testing.T) {
	t.Parallel()
	_, url := serve(t, operator.Options{Version: "v1.2.3"})
	res, body := get(t, url+"/")
	require.Equal(t, 200, res.StatusCode)
	var index struct {
		Version string
		Routes  []struct{ Method, Path, About string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &index))
	require.Equal(t, "v1.2.3", index.Version)
	require.Len(t, index.Routes, 3, "no route for metrics that nobody gave")
	for _, r := range index.Routes {
		res, _ := do(t, r.Method, url+r.Path)
		require.Equalf(t, 200, res.StatusCode, "%s %s", r.Method, r.Path)
	}
}

func TestErrorsComeFromTheTableAndNowhereElse(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("inside information") })
	_, url := serve(t, operator.Options{Metrics: panics, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for name, c := range map[string]struct {
		method, path string
		status       int
		code         string
	}{
		"an unknown path":     {http.MethodGet, "/nothing", 404, "not_found"},
		"another case":        {http.MethodGet, "/Healthz", 404, "not_found"},
		"a method too many":   {http.MethodPost, "/healthz", 405, "method_not_allowed"},
		"a handler's panic":   {http.MethodGet, "/metrics", 500, "internal"},
		"headers beyond 16KB": {http.MethodGet, "/?" + strings.Repeat("x", 20<<10), 431, "headers_too_large"},
	} {
		res, body := do(t, c.method, url+c.path)
		require.Equal(t, c.status, res.StatusCode, name)
		var answer struct {
			Error struct {
				Code, Message string
				RequestID     string `json:"request_id"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &answer), name)
		require.Equal(t, c.code, answer.Error.Code, name)
		require.NotEmpty(t, answer.Error.Message, name)
		require.Equal(t, res.Header.Get("X-Request-Id"), answer.Error.RequestID, name)
		require.NotContains(t, body, "inside information", name)
		require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"), name)
	}
	require.Contains(t, log.String(), "operator.panicked")
}

func TestAnswersAreUselessToAForeignPage(t *testing.T) {
	t.Parallel()
	_, url := serve(t, operator.Options{})
	res, _ := get(t, url+"/healthz")
	require.Equal(t, "default-src 'none'; frame-ancestors 'none'", res.Header.Get("Content-Security-Policy"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", res.Header.Get("Referrer-Policy"))
	require.Equal(t, "same-origin", res.Header.Get("Cross-Origin-Resource-Policy"))
	require.Empty(t, res.Header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, res.Header.Get("Server"))
}

func TestShutdownLetsARequestFinish(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	server := operator.New(operator.Options{Metrics: slow, Log: slog.New(slog.DiscardHandler)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + listener.Addr().String() + "/metrics")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	require.NoError(t, <-served, "nothing new is accepted")
	close(release)
	require.NoError(t, <-stopped)
	require.Equal(t, "done", <-answer)
}
