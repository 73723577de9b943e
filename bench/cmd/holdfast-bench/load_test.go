package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/bench/loadgen"
	"holdfast/internal/ledger"
)

// Without a database nothing is checked, but the ledger is kept.
func TestLoadAnyReceiver(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	file := filepath.Join(t.TempDir(), "ledger")
	out, err := run(t, "load", "stripe:customer.updated=2", "github", "--count", "200", "--duplicates", "30%",
		"--bad-signatures", "5%", "--connections", "8", "--rate", "5000/s", "--seed", "7", "--url", r.URL, "--secret", secretOfTests,
		"--ledger", file)
	require.NoError(t, err)
	for _, line := range []string{
		`requests +200 in .*`, `acknowledged .*/s`, `202 Accepted +\d+`, `401 Unauthorized +\d+`, `accepted +\d+`, `duplicates +\d+`,
		`sent as bad_signature +\d+`, `latency +p50 .* p90 .* p99 .* p99.9 .* max .*`,
	} {
		require.Regexp(t, `(?m)^ *`+line+`$`, out)
	}
	require.NotContains(t, out, "INVARIANT")
	l, err := ledger.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, uint64(7), l.Runs[0].Seed)
	acknowledged := map[string]int{}
	for _, e := range l.Entries {
		if e.Outcome() == ledger.OutcomeOK {
			acknowledged[e.WorkflowID()]++
		}
	}
	require.Equal(t, r.keys, acknowledged)

	out, err = run(t, "load", "stripe", "--count", "3", "--json", "--url", r.URL, "--secret", secretOfTests)
	require.NoError(t, err)
	var result loadResult
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&result))
	require.Equal(t, int64(3), result.Load.OK)
	require.Nil(t, result.Check)
}

// An interrupted load prints what it has sent, says so, and fails.
func TestLoadInterrupted(t *testing.T) {
	r := newEndpoint(t, secretOfTests)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	answer := r.Config.Handler
	var left atomic.Int64
	left.Store(20)
	r.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if left.Add(-1) == 0 {
			interrupt()
		}
		answer.ServeHTTP(w, request)
	})
	load := []string{"load", "stripe", "--duration", "1h", "--url", r.URL, "--secret", secretOfTests}
	out, err := runUntil(ctx, load...)
	require.ErrorContains(t, err, "interrupted: nothing was checked")
	require.Contains(t, out, "interrupted: these figures cover what was sent so far, and nothing was checked\n")
	require.Regexp(t, `(?m)^requests +\d\d in `, out)
	require.Regexp(t, `(?m)^latency +p50 `, out)
	require.NotContains(t, out, "no answer", "what was in flight is waited for")

	out, err = runUntil(ctx, append(load, "--json")...)
	require.Error(t, err)
	var result loadResult
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&result))
	require.True(t, result.Interrupted)
}

// If more events are accepted than were sent once, the output explains why.
func TestLoadExplainsSpooledEvents(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	counts := loadgen.Counts{Accepted: 60, Spooled: 21, Duplicates: 19}
	require.NoError(t, writeLoad(&out, &loadgen.Result{Counts: counts}))
	require.Regexp(t, `(?m)^spooled +21 \(Temporal was slow; duplicates among them are detected`, out.String())
}

// A load fails if none of its events arrives.
func TestLoadNobody(t *testing.T) {
	_, err := run(t, "load", "stripe", "--count", "3", "--url", "http://127.0.0.1:1", "--secret", secretOfTests)
	require.ErrorContains(t, err, "nothing was acknowledged")
}

func TestLoadRefusals(t *testing.T) {
	for wanted, args := range map[string][]string{
		"STRIPE_WEBHOOK_SECRET set":   {"stripe"},
		"provider list` lists all":    {"nobody"},
		"has no sample of":            {"stripe:nothing", "--secret", "s"},
		"invalid address":             {"stripe", "--url", "ftp://x", "--secret", "s"},
		"connections: want":           {"stripe", "--connections", "5000", "--secret", "s"},
		`invalid --rate "fast"`:       {"stripe", "--rate", "fast"},
		`invalid --ramp "1/d"`:        {"stripe", "--ramp", "1/d"},
		`invalid --duplicates "300%"`: {"stripe", "--duplicates", "300%"},
		"with a weight above 0":       {"stripe=none"},
		"expected PROVIDER[:TYPE]":    {},
		"needs one to begin with":     {"stripe", "--ramp", "5", "--secret", "s"},
		"no provider of the mix has":  {"stripe", "--batch", "5", "--secret", "s"},
	} {
		_, err := run(t, append([]string{"load"}, args...)...)
		require.ErrorContains(t, err, wanted)
	}
	_, err := run(t, "load", "rentprog:car_update", "--count", "1", "--url", "http://127.0.0.1:1", "--secret", "s3cret-token")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "s3cret-token")
}
