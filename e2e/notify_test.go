package e2e

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
	"holdfast/workflows"
)

// sink is a generic webhook that records its messages.
type sink struct {
	url      string
	mu       sync.Mutex
	messages []string
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.messages = append(s.messages, string(text))
	}))
	t.Cleanup(server.Close)
	s.url = "generic+" + server.URL
	return s
}

func (s *sink) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.messages...)
}

// A storm of poison events, while one of two channels is down:
//   - one message reports it, with the count; the failing channel delays nothing
//   - the error log has a few rows that stand for all errors
func TestAStormIsOneMessage(t *testing.T) {
	t.Parallel()
	const storm = 80
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for range storm / 8 {
				n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
			}
		})
	}
	senders.Wait()
	i.awaitCount(t, 3*time.Minute, storm, openDeadLetters)
	n.terminate(t)

	s := newSink(t)
	n = i.start(t, "serve", "HOLDFAST_NOTIFY_INTERVAL=1s", "HOLDFAST_NOTIFY_URLS=generic://127.0.0.1:1/hush?disabletls=yes "+s.url)
	eventually(t, time.Minute, "somebody is told", func() error { return atLeast(len(s.told()), 1) })
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM dead_letters WHERE notified_failures < failures")
	require.Len(t, s.told(), 1)
	require.Contains(t, s.told()[0], "80 failed")
	require.Contains(t, s.told()[0], "homemade · rejected · malformed_json × 80")
	require.Contains(t, s.told()[0], "e.g. homemade:msg_")

	rows, failures := 0, 0
	i.query(t, "SELECT count(*), sum(count) FROM error_log WHERE phase = 'parse' AND provider = 'homemade'", nil, &rows, &failures)
	require.GreaterOrEqual(t, failures, storm) // a step that a busy machine repeats fails again
	require.Less(t, rows, 50)
	require.NotContains(t, n.log.String(), "hush")

	n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
	eventually(t, time.Minute, "the next failure is told", func() error { return atLeast(len(s.told()), 2) })
	require.Contains(t, s.told()[1], "1 failed")
}

// All channels are down:
//   - events are processed as usual, and doctor reports that no channel accepts messages
//   - nothing is dropped: the first channel that works gets all of it
func TestADeadChannelForgetsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), []byte(definitionOf("json")), 0o644))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "HOLDFAST_NOTIFY_INTERVAL=1s")
	n := i.start(t, "serve", "HOLDFAST_NOTIFY_URLS=generic://127.0.0.1:1/hush?disabletls=yes")
	for k := range 5 {
		n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(poison))
		i.awaitCount(t, 30*time.Second, k+1, openDeadLetters)
	}
	eventually(t, time.Minute, "the dead channel was tried", func() error {
		return atLeast(strings.Count(n.log.String(), "notification.failed"), 2)
	})
	require.NotContains(t, n.log.String(), "hush")
	eventually(t, time.Minute, "doctor says that no channel takes messages", func() error {
		out, err := i.runWith(t, []string{"HOLDFAST_NOTIFY_URLS=generic://127.0.0.1:1/hush?disabletls=yes"}, "doctor")
		require.NotContains(t, out, "hush")
		if err == nil || !strings.Contains(out, "no channel takes messages") {
			return errors.New(out)
		}
		return nil
	})
	rounds := strings.Count(n.log.String(), "notification.failed")
	eventually(t, time.Minute, "a round has ended, so that none is cut off", func() error {
		return atLeast(strings.Count(n.log.String(), "notification.failed"), rounds+1)
	})
	n.terminate(t)

	s := newSink(t)
	i.start(t, "serve", "HOLDFAST_NOTIFY_URLS="+s.url)
	eventually(t, time.Minute, "somebody is told", func() error { return atLeast(len(s.told()), 1) })
	require.Contains(t, s.told()[0], "5 failed")
	i.replay(t, "notify", i.latestOf(t, workflows.TypeNotify, "Completed"))
}

// Temporal goes down and comes back:
//   - the ingress itself reports both, once
func TestAnOutageIsReportedByTheProcess(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	s := newSink(t)
	i := newInstallation(t)
	i.start(t, "ingress", "TEMPORAL_ADDRESS="+alone.Address(), "TEMPORAL_NAMESPACE=default",
		"HOLDFAST_NOTIFY_URLS="+s.url, "HOLDFAST_NOTIFY_OUTAGE_AFTER=2s")
	require.NoError(t, alone.Stop())
	eventually(t, time.Minute, "the outage is told", func() error { return atLeast(len(s.told()), 1) })
	require.Contains(t, s.told()[0], "holdfast ingress on ")
	require.Contains(t, s.told()[0], "Temporal has not answered for")
	require.NoError(t, alone.Start())
	eventually(t, time.Minute, "its end is told", func() error { return atLeast(len(s.told()), 2) })
	require.Contains(t, s.told()[1], "Temporal answers again")
	require.Len(t, s.told(), 2)
}

// An ingress has an error log, and neither Temporal nor the inbox can commit:
//   - an authentic request that couldn't be accepted is a row
//   - an unauthenticated one leaves none
func TestTheErrorLogKnowsNoStrangers(t *testing.T) {
	t.Parallel()
	alone := stacktest.NewTemporal(t, stacktest.TemporalOptions{Durable: true})
	i := newInstallation(t, impatience...)
	n := i.start(t, "ingress", "TEMPORAL_ADDRESS="+alone.Address(), "TEMPORAL_NAMESPACE=default")
	require.NoError(t, alone.Stop())
	i.exec(t, "ALTER TABLE inbox RENAME TO inbox_away")
	a, err := n.post("/webhooks/stripe", []byte(`{"id":"evt_forged"}`), "Stripe-Signature", "t=1,v1=00",
		"X-Request-Id", "forged-request")
	require.NoError(t, err)
	require.Equal(t, 401, a.status)
	require.Equal(t, 503, n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())).status)

	i.awaitCount(t, 30*time.Second, 1, "SELECT count(*) FROM error_log")
	var row string
	i.query(t, "SELECT error_log::text FROM error_log", nil, &row)
	require.Contains(t, row, "receive,stripe,transient,")
	require.NotContains(t, row, "forged")
	require.NotContains(t, row, "Ada")
}
