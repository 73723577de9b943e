package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/ingress/intake"
	"holdfast/providers"
)

// The last minute drops older entries and has the latencies of its answers.
func TestAMinuteCountsAMinute(t *testing.T) {
	t.Parallel()
	var m lastMinute
	start := time.Unix(1_700_000_000, 0)
	m.events(start, 2, 1)
	for range 98 {
		m.answer(start, 4*time.Millisecond, "")
	}
	m.answer(start.Add(30*time.Second), 300*time.Millisecond, "unavailable")
	m.answer(start.Add(30*time.Second), time.Hour, "unavailable")

	sum := m.sum(start.Add(59 * time.Second))
	require.EqualValues(t, 2, sum.Accepted)
	require.EqualValues(t, 1, sum.Duplicate)
	require.EqualValues(t, 100, sum.Requests)
	require.Equal(t, map[string]int64{"unavailable": 2}, sum.Refused)
	require.Equal(t, []float64{5, 5, 500, 5000}, []float64{sum.quantile(.5), sum.quantile(.97), sum.quantile(.98), sum.quantile(.99)})
	require.InDelta(t, (98*4+300+3_600_000)/100., sum.average(), .001)

	sum = m.sum(start.Add(60 * time.Second))
	require.Zero(t, sum.Accepted)
	require.EqualValues(t, 2, sum.Requests)
	m.answer(start.Add(60*time.Second), time.Millisecond, "") // replaces the first second
	require.EqualValues(t, 3, m.sum(start.Add(60*time.Second)).Requests)
	require.Zero(t, m.sum(start.Add(time.Hour)).Requests)
	require.Zero(t, m.sum(start.Add(time.Hour)).latencies())
}

func newTestServer(t *testing.T, o Options) *Server {
	t.Helper()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	o.Catalogue, o.BodyLimit, o.MaxConns = catalogue, 1<<10, 16
	o.Intake = newIntake(t, intake.Options{})
	s, err := New(o)
	require.NoError(t, err)
	return s
}

func ask(t *testing.T, s *Server, method, path string) (status int, body []byte) {
	t.Helper()
	response, err := s.app.Test(httptest.NewRequest(method, path, http.NoBody), 5000)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, body
}

// The self-test reports what is up, and checks once a second however often it is called.
func TestTheSelfTestIsCheap(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	up := func(context.Context) error { looks.Add(1); return nil }
	down := func(context.Context) error { return errors.New("hush") }
	queues := func(context.Context) ([]oversight.QueueStats, error) {
		return []oversight.QueueStats{{Queue: "events", Backlog: 7}}, nil
	}
	now := time.Now()
	s := newTestServer(t, Options{SelfTest: &SelfTest{
		Stores: map[string]func(context.Context) error{"temporal": up, "database": down}, Queues: queues,
	}})
	s.now = func() time.Time { return now }

	for range 5 {
		status, body := ask(t, s, "GET", selfTestPath)
		require.Equal(t, 200, status, "without a database webhooks are still accepted")
		require.NotContains(t, string(body), "hush")
		var r selfTestResult
		require.NoError(t, json.Unmarshal(body, &r))
		require.True(t, r.Stores["temporal"].Up)
		require.False(t, r.Stores["database"].Up)
		require.EqualValues(t, 7, r.Queues[0].Backlog)
		require.Zero(t, r.Inflight)
		require.Zero(t, r.LastMinute.Requests, "a self-test is no webhook")
		require.Equal(t, 1<<10, r.Limits.BodyBytes)

		status, body = ask(t, s, "GET", healthPath)
		require.Equal(t, `200 {"status":"ok"}`, fmt.Sprint(status, " ", string(body)))
	}
	require.EqualValues(t, 1, looks.Load())
	now = now.Add(1001 * time.Millisecond)
	ask(t, s, "GET", selfTestPath)
	require.EqualValues(t, 2, looks.Load())
}

// The self-test reports the workers, the request rate, and that the process is about to stop.
func TestTheSelfTestTellsOfWorkersAndOfAStop(t *testing.T) {
	t.Parallel()
	failures, err := int64(0), error(nil)
	now := time.Now()
	up := func(context.Context) error { return nil }
	s := newTestServer(t, Options{SelfTest: &SelfTest{
		Stores: map[string]func(context.Context) error{"temporal": up},
		Queues: noQueues, Failures: func(context.Context) (int64, error) { return failures, err },
	}})
	s.now = func() time.Time { return now }
	for range 90 {
		s.lastMinute.answer(now, time.Millisecond, "")
	}
	look := func() (r map[string]any) {
		now = now.Add(2 * time.Second)
		_, body := ask(t, s, "GET", selfTestPath)
		require.NoError(t, json.Unmarshal(body, &r))
		return r
	}
	first := look()
	require.Equal(t, map[string]any{"shutting_down": false}, first["readiness"])
	require.EqualValues(t, 0, first["worker_failures"])
	require.InDelta(t, 1.5, first["last_minute"].(map[string]any)["rate_rps"], 0)
	failures = 7
	health := func() string {
		status, body := ask(t, s, "GET", healthPath)
		return fmt.Sprint(status, " ", string(body))
	}
	require.Equal(t, `200 {"status":"ok"}`, health())
	s.Drain()
	require.Equal(t, `503 {"status":"stopping"}`, health(), "a load balancer must look away before the server stops, at once")
	second := look()
	require.Equal(t, map[string]any{"shutting_down": true}, second["readiness"])
	require.EqualValues(t, 7, second["worker_failures"])
	err = errors.New("away")
	require.NotContains(t, look(), "worker_failures")
}

func TestASelfTestFailsWithoutTemporal(t *testing.T) {
	t.Parallel()
	down := func(context.Context) error { return errors.New("away") }
	queues := func(context.Context) ([]oversight.QueueStats, error) { return nil, errors.New("away") }
	s := newTestServer(t, Options{SelfTest: &SelfTest{
		Stores: map[string]func(context.Context) error{"temporal": down}, Queues: queues,
	}})
	status, body := ask(t, s, "GET", selfTestPath)
	require.Equal(t, 503, status)
	require.Contains(t, string(body), `"ok":false`)
	require.Contains(t, string(body), `"queues":[]`)
	status, body = ask(t, s, "GET", healthPath)
	require.Equal(t, `503 {"status":"unavailable"}`, fmt.Sprint(status, " ", string(body)))
}

// If it is turned off, its path is answered like an unknown provider's; and POST is never allowed.
func TestTheSelfTestIsNotAProvider(t *testing.T) {
	t.Parallel()
	off := newTestServer(t, Options{})
	status, _ := ask(t, off, "GET", selfTestPath)
	require.Equal(t, 405, status)
	on := newTestServer(t, Options{SelfTest: &SelfTest{}})
	status, _ = ask(t, on, "POST", selfTestPath)
	require.Equal(t, 404, status)
}

// A forger learns no more from the self-test than from the answer, in particular not how far the forgery got.
func TestTheSelfTestSaysNotWhyARequestWasRefused(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.SelfTest = &SelfTest{Queues: noQueues} })
	now := strconv.FormatInt(time.Now().Unix(), 10)
	for _, signature := range []string{"", "t=" + now + ",v1=00", "t=1,v1=00", "t=x", "v1=00", strings.Repeat("v1=00,", 50)} {
		got := d.deliver(t, "stripe", "/webhooks/stripe", note, false, "stripe-signature", signature)
		require.Equal(t, 401, got.status)
	}
	response, err := http.Get(d.url + selfTestPath)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var r selfTestResult
	require.NoError(t, json.NewDecoder(response.Body).Decode(&r))
	require.Equal(t, map[string]int64{string(codeUnauthenticated): 6}, r.LastMinute.Refused)
}

func noQueues(context.Context) ([]oversight.QueueStats, error) { return nil, nil }
