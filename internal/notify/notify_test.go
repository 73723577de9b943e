package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sink starts a generic webhook that records its messages.
func sink(t *testing.T, messages chan<- string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		messages <- string(text)
	}))
	t.Cleanup(server.Close)
	return "generic+" + server.URL + "/hook?token=hush-hush"
}

// A message reaches every working channel; a dead one is named, without its URL.
func TestADeadChannelDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	messages := make(chan string, 1)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	t.Cleanup(refuses.Close)
	n, err := New("generic://127.0.0.1:1/hush-hush?disabletls=yes", sink(t, messages), "generic+"+refuses.URL+"/hush-hush")
	require.NoError(t, err)

	accepted, err := n.Send(t.Context(), "hello")
	require.Equal(t, 1, accepted)
	require.Equal(t, "hello", <-messages)
	require.ErrorContains(t, err, "channel 1 (generic) did not take the message: connection refused")
	require.ErrorContains(t, err, "channel 3 (generic+http) did not take the message: 503")
	require.NotContains(t, err.Error(), "hush")
}

// A hanging channel gets one message, however many are sent: messages don't pile up.
func TestAChannelThatHangsHoldsOneMessage(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-release
	}))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	n, err := New("generic+" + hangs.URL)
	require.NoError(t, err)
	n.limit = 100 * time.Millisecond

	for range 3 {
		_, err = n.Send(t.Context(), "hello")
		require.Error(t, err)
	}
	require.ErrorContains(t, err, "still hangs")
	require.EqualValues(t, 1, asked.Load())
}

func TestAWrongURLIsNamedByItsPlaceOnly(t *testing.T) {
	t.Parallel()
	_, err := New("generic://127.0.0.1/x", "telegram://hush-hush", "nonsense://hush-hush")
	require.ErrorContains(t, err, "notification URL 2")
	require.ErrorContains(t, err, "notification URL 3")
	require.NotContains(t, err.Error(), "hush")
}

func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	messages := make(chan string, 1)
	n, err := New(sink(t, messages))
	require.NoError(t, err)
	_, err = n.Send(t.Context(), strings.Repeat("ä", maxText))
	require.NoError(t, err)
	text := <-messages
	require.LessOrEqual(t, len(text), maxText)
	require.True(t, strings.HasSuffix(text, "ä…"))
}

func TestWithoutChannelsNothingIsSent(t *testing.T) {
	t.Parallel()
	var none *Notifier
	accepted, err := none.Send(t.Context(), "hello")
	require.NoError(t, err)
	require.Zero(t, accepted)
}

// An outage is reported once it has lasted, again after a while, and at its end; a flapping store isn't reported each time.
func TestOutagesAreReportedAtIntervals(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var o outage
	look := func(second int, up bool) string {
		return o.update("Temporal", up, start.Add(time.Duration(second)*time.Second), 30*time.Second, 15*time.Minute)
	}
	require.Empty(t, look(0, true))
	require.Empty(t, look(10, false))
	require.Empty(t, look(20, true), "a hiccup")
	require.Empty(t, look(30, false))
	require.Equal(t, "Temporal has not answered for 30s", look(60, false))
	require.Empty(t, look(90, false), "once is enough")
	require.Equal(t, "Temporal answers again, after 1m30s", look(120, true))
	require.Empty(t, look(130, false))
	require.Empty(t, look(200, false), "less than the pause after the first message")
	require.Empty(t, look(210, true), "what was not notified has no end to report")
	require.Empty(t, look(950, false))
	require.Equal(t, "Temporal has not answered for 50s", look(1000, false))
}

func TestTheWatchAsksAndTells(t *testing.T) {
	t.Parallel()
	messages := make(chan string, 1)
	n, err := New(sink(t, messages))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := Watch{Notifier: n, From: "ingress on host1", Every: 5 * time.Millisecond, After: 10 * time.Millisecond, Repeat: time.Hour}
	go w.Run(ctx, Store{Name: "Temporal", Probe: func(context.Context) error { return errors.New("away") }})
	require.Contains(t, <-messages, "ingress on host1: Temporal has not answered for")
}
