package ledger_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

var noon = time.Date(2025, 11, 21, 12, 0, 0, 1000, time.UTC)

func stripe(key string) ledger.Event {
	return ledger.Event{Provider: "stripe", Key: key, SHA256: sha256.Sum256([]byte(key))}
}

func open(t *testing.T, path, run string) *ledger.Writer {
	t.Helper()
	w, err := ledger.Open(path, ledger.Run{ID: run, Started: noon, Seed: 7})
	require.NoError(t, err)
	return w
}

func read(t *testing.T, path string) ledger.Ledger {
	t.Helper()
	l, err := ledger.ReadFile(path)
	require.NoError(t, err)
	return l
}

func TestWrittenValuesAreReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	w := open(t, path, "r1")
	require.NoError(t, w.Sending(1, noon, ledger.KindEvent, []ledger.Event{stripe("evt_1")}))
	require.NoError(t, w.Sending(2, noon, "odd \"kind\"\n", []ledger.Event{stripe("a"), stripe("é \\")}))
	require.NoError(t, w.Answered(2, 202, time.Millisecond))
	require.NoError(t, w.Answered(1, ledger.NoAnswer, time.Second))
	require.NoError(t, w.Close())
	w = open(t, path, "r2")
	require.NoError(t, w.Sending(1, noon, ledger.KindDuplicate, []ledger.Event{stripe("evt_1")}))
	require.NoError(t, w.Answered(1, 401, time.Millisecond))
	require.NoError(t, w.Close())

	require.Equal(t, ledger.Ledger{
		Runs: []ledger.Run{{ID: "r1", Started: noon, Seed: 7}, {ID: "r2", Started: noon, Seed: 7}},
		Entries: []ledger.Entry{
			{Event: stripe("evt_1"), Seq: 1, Kind: "event", At: noon, Took: time.Second},
			{Event: stripe("a"), Seq: 2, Kind: "odd \"kind\"\n", At: noon, Status: 202, Took: time.Millisecond},
			{Event: stripe("é \\"), Seq: 2, Kind: "odd \"kind\"\n", At: noon, Status: 202, Took: time.Millisecond},
			{Event: stripe("evt_1"), Seq: 1, Kind: "duplicate", At: noon, Status: 401, Took: time.Millisecond},
		},
	}, read(t, path))
}

// A request is in the file before it is sent, whatever happens to its sender then.
func TestASenderThatIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	w := open(t, path, "r1")
	require.NoError(t, w.Sending(1, noon, ledger.KindEvent, []ledger.Event{stripe("evt_1")}))
	require.NoError(t, w.Answered(1, 202, time.Millisecond))
	require.Equal(t, ledger.OutcomeInfo, read(t, path).Entries[0].Outcome(), "its answer was in memory")
	require.NoError(t, w.Sending(2, noon, ledger.KindEvent, []ledger.Event{stripe("evt_2")}))
	require.Equal(t, ledger.OutcomeOK, read(t, path).Entries[0].Outcome())

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := len(whole) - len("}\n"); whole[cut-1] != '\n'; cut-- {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		require.Len(t, read(t, path).Entries, 1, "cut at %d", cut)
	}
	// Another run begins on a new line.
	w = open(t, path, "r2")
	require.NoError(t, w.Close())
	l := read(t, path)
	require.Len(t, l.Runs, 2)
	require.Len(t, l.Entries, 1)
}

func TestFilesThatAreNotLedgers(t *testing.T) {
	const run, sent = `{"run":"r"}` + "\n", `{"seq":1,"at":"2025-11-21T12:00:00Z","kind":"event","provider":"p","key":"k","sha256":"`
	sum := strings.Repeat("ab", 32)
	for text, wanted := range map[string]string{
		"":                                "doesn't begin with a run",
		"once upon a time\n":              "this isn't a ledger",
		`{"seq":1,"status":202}` + "\n\n": "before any run",
		run + "garbage\n" + sent + sum:    "line 2 isn't a ledger line",
		run + sent + sum + "00\"}\n" + sent + sum + "\"}\n": "no SHA-256",
		run + `{"seq":9,"status":202}` + "\n{}\n":           "request 9 was not sent",
		run + `{"seq":9}` + "\n{}\n":                        "names no event",
	} {
		_, err := ledger.Read(strings.NewReader(text))
		require.ErrorContains(t, err, wanted, text)
	}
}

func TestOutcomes(t *testing.T) {
	for status, outcome := range map[int]ledger.Outcome{
		200: "ok", 202: "ok", 204: "ok", 400: "fail", 401: "fail", 429: "fail",
		ledger.NoAnswer: "info", 302: "info", 500: "info", 503: "info", 504: "info",
	} {
		require.Equal(t, outcome, ledger.OutcomeOf(status), status)
	}
}

func BenchmarkWriter(b *testing.B) {
	w, err := ledger.Open(filepath.Join(b.TempDir(), "ledger"), ledger.Run{ID: "r"})
	require.NoError(b, err)
	events := []ledger.Event{stripe("evt_7e57a0c4000000001")}
	for i := range b.N {
		_ = w.Sending(int64(i), noon, ledger.KindEvent, events)
		_ = w.Answered(int64(i), 202, time.Millisecond)
	}
	require.NoError(b, w.Close())
}
