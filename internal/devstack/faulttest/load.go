package faulttest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/ledger"
)

// Rate is low enough that two cores, which also run everything else, process it.
const Rate = "20/s"

// Load sends events and records them in a ledger.
type Load struct {
	Name    string
	Ledger  string // the file
	command *exec.Cmd
	out     bytes.Buffer
	stopped bool
}

// Outcome says what happened to a load.
type Outcome struct {
	Name   string
	Note   string
	sent   sent
	report ledger.Report
}

// sent is the part of the result of holdfast-bench that tables show.
type sent struct {
	Requests   int64                 `json:"requests"`
	OK         int64                 `json:"ok"`
	NoAnswer   int64                 `json:"no_answer"`
	FirstError string                `json:"first_error"`
	Kinds      map[ledger.Kind]int64 `json:"kinds"`
	Statuses   map[int]int64         `json:"statuses"`
}

// LoadArgs are the arguments of holdfast-bench that send a load to an ingress and write the ledger.
func LoadArgs(url, secret, ledger string, duration time.Duration) []string {
	return []string{"load", "stripe", "--url", url, "--rate", Rate, "--duration", duration.String(), "--duplicates", "20%",
		"--bad-signatures", "5%", "--timeout", "10s", "--secret", secret, "--ledger", ledger, "--json"}
}

// Start runs the command of a load, which [LoadArgs] are for, and returns when it has begun to send.
func Start(t *testing.T, name, ledger string, command *exec.Cmd) *Load {
	t.Helper()
	l := &Load{Name: name, Ledger: ledger, command: command}
	l.command.Stdout = &l.out
	require.NoError(t, l.command.Start())
	t.Cleanup(func() { _ = l.command.Process.Kill() })
	Await(t, 30*time.Second, "the load to begin", func() bool {
		info, err := os.Stat(ledger)
		return err == nil && info.Size() > 4096
	})
	return l
}

// Stop ends a load before its time.
func (l *Load) Stop(t *testing.T) {
	t.Helper()
	require.NoError(t, l.command.Process.Signal(os.Interrupt), "%s", &l.out)
	l.stopped = true
}

// Finish waits until the load ends. verify runs verify-ledger --json and returns its output: nothing may be lost or duplicated.
func (l *Load) Finish(t *testing.T, verify func() string) Outcome {
	t.Helper()
	o := Outcome{Name: l.Name}
	err := l.command.Wait()
	var result struct {
		Load        sent
		Interrupted bool
	}
	require.NoError(t, json.Unmarshal(l.out.Bytes(), &result), l.out.String())
	require.Equal(t, l.stopped, result.Interrupted)
	require.True(t, l.stopped || err == nil, "%v: %s", err, &l.out)
	o.sent = result.Load
	if o.sent.FirstError != "" {
		t.Logf("%s: the first request without an answer: %s", l.Name, o.sent.FirstError)
	}
	require.NoError(t, os.Chmod(l.Ledger, 0o644))
	raw := verify()
	require.NoError(t, json.Unmarshal([]byte(raw), &o.report), raw)
	require.True(t, o.report.Holds(), raw)
	require.Positive(t, o.report.Acknowledged)
	require.GreaterOrEqual(t, o.report.Processed, o.report.Acknowledged)
	require.Zero(t, o.report.Dead)
	return o
}

// RequireOnlyBadSignaturesRefused checks that exactly the requests with an invalid signature got a 401.
func (o Outcome) RequireOnlyBadSignaturesRefused(t *testing.T) {
	t.Helper()
	require.Equal(t, o.sent.Kinds[ledger.KindBadSignature], o.sent.Statuses[http.StatusUnauthorized])
}

func (o Outcome) failed() (n int64) {
	for status, count := range o.sent.Statuses {
		if status >= 500 {
			n += count
		}
	}
	return n
}
