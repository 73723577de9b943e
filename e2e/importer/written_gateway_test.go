package importer

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// writtenGateway starts a server with the answers of a file of internal/movein/testdata, and returns its URL. The files were written
// by hand after a gateway's client or sources.
func writtenGateway(t *testing.T, file string) string {
	t.Helper()
	left := &atomic.Int64{}
	left.Store(math.MaxInt64)
	return gatewayThatFails(t, file, left)
}

// gatewayThatFails is a writtenGateway that refuses requests once none is left.
func gatewayThatFails(t *testing.T, file string, left *atomic.Int64) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "internal", "movein", "testdata", file))
	require.NoError(t, err)
	var answers []struct {
		Path, Query string
		Answer      json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &answers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s changes something", r.Method, r.URL.Path)
		}
		if left.Add(-1) < 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, a := range answers {
			if a.Path == r.URL.Path && strings.Contains(r.URL.RawQuery, a.Query) {
				_, _ = w.Write(a.Answer)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A plan says what isn't imported, an import can be repeated, and no output has a secret.
func TestASvixMovesIn(t *testing.T) {
	t.Parallel()
	i := start(t)
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN=token-of-svix-0123456789")
	from := []string{"--from", "svix", "--from-url", writtenGateway(t, "svix.json"), "--since", "3000d"}
	sends := append(from, "--undelivered", "--failed")

	plan := i.mustRun(t, append([]string{"import", "--dry-run"}, sends...)...)
	require.Contains(t, plan, "2 endpoints: 4 destinations and subscriptions to create")
	require.Contains(t, plan, "2 deliveries to send")
	require.Contains(t, plan, "header x-api-key")
	require.Zero(t, i.count(t, "SELECT count(*) FROM destinations"), "a plan changes nothing")
	out, err := i.run(append([]string{"compare"}, sends...)...)
	require.Error(t, err)
	require.Contains(t, out, "undelivered there, without a delivery here   2")

	done := i.mustRun(t, append([]string{"import", "--yes"}, sends...)...)
	require.Contains(t, done, "deliveries queued  2")
	again := i.mustRun(t, append([]string{"import", "--yes"}, sends...)...)
	require.Contains(t, again, "deliveries queued  0")
	require.Contains(t, again, "existing           2")
	require.Equal(t, 2, i.count(t, "SELECT (SELECT count(*) FROM delivery_queue) + (SELECT count(*) FROM deliveries)"))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events"))
	compared := i.mustRun(t, append([]string{"compare"}, sends...)...)

	// After a roll-back, which cancels deliveries, what the gateway still hasn't delivered is queued again.
	i.mustRun(t, "delivery", "cancel", "--destination", "svix-ep_1", "--yes")
	out, err = i.run(append([]string{"compare"}, sends...)...)
	require.Error(t, err)
	require.Contains(t, out, "undelivered there, without a delivery here   2")
	require.Regexp(t, `deliveries queued +2`, i.mustRun(t, append([]string{"import", "--yes"}, sends...)...))
	require.Regexp(t, `deliveries queued +0`, i.mustRun(t, append([]string{"import", "--yes"}, sends...)...))

	// An operator's decision stays.
	i.mustRun(t, "destination", "resume", "svix-ep_2")
	i.mustRun(t, append([]string{"import", "--yes"}, from...)...)
	shown := i.mustRun(t, "destination", "show", "svix-ep_1") + i.mustRun(t, "destination", "show", "svix-ep_2")
	require.Contains(t, shown, "paused")
	require.Contains(t, shown, "imported without its header x-api-key")
	require.NotContains(t, shown, "disabled in Svix")
	for _, secret := range []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "C2FVsBQIhrscChlQIMV", "token-of-svix"} {
		require.NotContains(t, plan+done+again+compared+shown+out, secret)
	}
}

// An import that stops anywhere is repeated: nothing is missing then, and nothing is there twice.
func TestAnInterruptedMoveGoesOn(t *testing.T) {
	t.Parallel()
	i := start(t)
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN=token-of-svix-0123456789")
	left := &atomic.Int64{}
	line := []string{
		"import", "--yes", "--from", "svix", "--from-url", gatewayThatFails(t, "svix.json", left), "--since", "3000d", "--undelivered",
		"--failed",
	}
	const step = 5
	stopped := 0
	for requests := int64(step); ; requests += step {
		require.Less(t, requests, int64(1000), "the import never ends")
		left.Store(requests)
		out, err := i.run(line...)
		if err == nil {
			break
		}
		require.Contains(t, out, "answers 400")
		stopped++
	}
	require.Greater(t, stopped, 3)
	require.Equal(t, 2, i.count(t, "SELECT (SELECT count(*) FROM delivery_queue) + (SELECT count(*) FROM deliveries)"))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM events"))
	require.Contains(t, i.mustRun(t, "destination", "show", "svix-ep_1"), "paused")
}

// A delivery without a destination here, such as one to a queue, is named, and the others are sent.
func TestADeliveryWithoutADestinationStopsNoOther(t *testing.T) {
	t.Parallel()
	i := start(t)
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN=token-of-outpost-0123456789")
	written := writtenGateway(t, "outpost.json")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/attempts" { // none has succeeded
			_, _ = w.Write([]byte(`{"models": [], "pagination": {"next": null}}`))
			return
		}
		response, err := client.Get(written + r.URL.String())
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(server.Close)
	from := []string{"--from", "outpost", "--from-url", server.URL, "--since", "3000d", "--undelivered"}

	plan := i.mustRun(t, append([]string{"import", "--dry-run"}, from...)...)
	require.Contains(t, plan, "1 deliveries to send")
	require.Contains(t, plan, "1 deliveries can't be sent")
	for _, queued := range []string{"1", "0"} {
		out, err := i.run(append([]string{"import", "--yes"}, from...)...)
		require.Error(t, err)
		require.Regexp(t, `deliveries queued +`+queued, out)
		require.Regexp(t, `without a destination here +1`, out)
		require.Contains(t, out, "such as outpost-des_2-")
	}
	out, err := i.run(append([]string{"compare"}, from...)...)
	require.Error(t, err)
	require.Contains(t, out, "undelivered there, without a delivery here   1")
	require.Equal(t, 1, i.count(t, "SELECT (SELECT count(*) FROM delivery_queue) + (SELECT count(*) FROM deliveries)"))

}

func TestAHookdeckMovesIn(t *testing.T) {
	t.Parallel()
	i := start(t)
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN=token-of-hookdeck-0123456789")
	from := []string{"--from", "hookdeck", "--from-url", writtenGateway(t, "hookdeck.json")}
	out := i.mustRun(t, append([]string{"import", "--dry-run"}, from...)...)
	require.Contains(t, out, "give it with --signing-secret-file")
	from = append(from, "--signing-secret-file", i.write(t, "signing", []byte("signing-secret-of-hookdeck\n")))
	out = i.mustRun(t, append([]string{"import", "--yes"}, from...)...)
	require.Contains(t, out, "transformation")
	compared := i.mustRun(t, append([]string{"compare"}, from...)...)
	require.Contains(t, compared, "destinations and subscriptions missing here  0")
	require.NotContains(t, out+compared, "signing-secret-of-hookdeck")
	require.NotContains(t, out+compared, "bearer-secret")
}

// A line names the gateway completely, and has no flag that would be ignored.
func TestAGatewayIsNamedCompletely(t *testing.T) {
	t.Parallel()
	i := start(t)
	for line, want := range map[string]string{
		"import x.ndjson --undelivered":                                          "--undelivered needs --from",
		"compare x.ndjson --since 3d":                                            "--since needs --from",
		"import --from svix --from-url http://127.0.0.1:1 --since 5d --until 2d": "unknown flag: --until",
		"import --from svix --from-url http://127.0.0.1:1 --record event":        "--record can't be combined with --from",
		"compare --from svix --from-url http://127.0.0.1:1 --in-flight":          "unknown flag: --in-flight",
		"import --from svix --from-url http://127.0.0.1:1 --failed --detach":     "--detach can't be combined with --undelivered or --failed",
		"import": "give a FILE, or --from",
		"import x.ndjson --from svix --from-url http://127.0.0.1:1": "not both",
		"compare --from svix":                                "invalid --from-url",
		"import --from convoy --from-url http://127.0.0.1:1": "needs --project",
	} {
		out, err := i.run(strings.Fields(line)...)
		require.Error(t, err, line)
		require.Contains(t, out, want, line)
	}
}
