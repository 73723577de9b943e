package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event/operation"
	operatorapi "holdfast/operator/api"
)

// A company migrates to Holdfast, with a file from its previous system:
//   - a mistake in it is reported, and nothing is imported; nor by a dry run
//   - it is imported alongside live traffic; a redelivery of an old event is a duplicate, and an old dead letter can be
//     replayed
//   - an old event folds below a newer one, and an existing entity becomes complete
//   - its subscription exists, with its secret
//   - compare finds no differences, and the same file changes nothing
func TestACompanyMovesIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(acme), 0o600))
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir, "ACME_TOKEN=token-of-the-test")
	n := i.start(t, "serve")
	post := func(id string, total int) (answer, error) {
		return n.post("/webhooks/acme", fmt.Appendf(nil, `{"id":%q,"type":"order.paid","order":"o1","total":%d}`, id, total),
			"X-Acme-Token", "token-of-the-test")
	}
	send := func(id string, total, status int) answer {
		a, err := post(id, total)
		require.NoError(t, err)
		require.Equal(t, []any{status, status == 200}, []any{a.status, a.Duplicate})
		return a
	}
	send("new", 150, 202)
	i.awaitCount(t, time.Minute, 1, processedEvents)

	at := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	lines := []string{
		`{"record":"key","key":"known","first_seen":"` + at + `"}`,
		`{"record":"event","received_at":"` + at + `","body":"{\"id\":\"old\",\"type\":\"order.paid\",\"order\":\"o1\",\"total\":100}"}`,
		`{"record":"dead_letter","received_at":"` + at + `","attempts":4,"error":"refused","status":"permanently_failed",` +
			`"body":{"id":"dead","type":"order.paid","order":"o2","total":7}}`,
		`{"record":"entity","kind":"order","id":"o1","state":{"customer":"ada"}}`,
		`{"record":"subscription","name":"crm","url":"https://crm.example.com/hooks","event_types":["order.*"],` +
			`"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw","rate_limit":10}`,
	}
	file := filepath.Join(dir, "old.ndjson")
	write := func(all ...string) { require.NoError(t, os.WriteFile(file, []byte(strings.Join(all, "\n")), 0o600)) }
	write(append(lines, `{"record":"key","key":"later"}`)...)
	out, err := i.run(t, "import", file, "--default-provider", "acme", "--yes")
	require.Error(t, err)
	require.Contains(t, out, file+": line 6: first_seen: is missing")
	write(append(lines, `{"record":"entity","kind":"ordre","id":"o1","state":{}}`)...)
	out, err = i.run(t, "import", file, "--default-provider", "acme", "--yes")
	require.Error(t, err)
	require.Contains(t, out, file+`: line 6: kind: "ordre" is unknown: the definition acme has order`)
	write(lines...)
	out, err = i.run(t, "import", file, "--default-provider", "acme", "--dry-run")
	require.NoError(t, err, out)
	require.Contains(t, out, "+ subscription crm")
	for _, table := range []string{"import_rows", "imports", "subscriptions", "dead_letters"} {
		require.Zero(t, i.count(t, "SELECT count(*) FROM "+table), table)
	}

	first := i.imports(t, file)
	require.Equal(t, operation.Completed, first.State)
	require.Equal(t, operation.ImportCounts{
		operation.ImportKey: {New: 1}, operation.ImportEvent: {New: 1}, operation.ImportDeadLetter: {New: 1}, operation.ImportEntity: {New: 1},
	}, first.Counts)
	require.JSONEq(t, `{"customer":"ada","total":150}`, i.entity(t, "acme", "order", "o1"))
	i.awaitImported(t, dir, func(key string) bool { a, err := post(key, 1); return err == nil && a.Duplicate })
	repeatedKey, repeated := send("known", 1, 200), send("old", 1, 200)
	for _, key := range []string{"known", "old"} {
		i.awaitStatus(t, "acme:"+key, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	}
	require.Equal(t, 2, i.count(t, processedEvents), "they were duplicates")
	var original operatorapi.EventDetail
	api{url: n.operator}.call(t, "GET", "/events/"+repeated.Events[0].EventID, "", 200, &original)
	require.Equal(t, []string{"old", ""}, []string{original.Key, original.RedeliveredAs}, "the ID is the event's own")
	missing := api{url: n.operator}.call(t, "GET", "/events/"+repeatedKey.Events[0].EventID, "", 404, nil)
	require.Contains(t, string(missing.body), "of which only the key is known")
	out, err = i.run(t, "dlq", "replay", fmt.Sprint(i.count(t, "SELECT id FROM dead_letters")))
	require.NoError(t, err, out)
	i.awaitCount(t, time.Minute, 3, processedEvents)
	require.JSONEq(t, `{"total":7}`, i.entity(t, "acme", "order", "o2"))

	again := i.imports(t, file)
	require.EqualValues(t, 4, again.Counts.Sum().There)
	i.awaitStatus(t, "import/"+again.ID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "import_completed", "import/"+again.ID)
	write(lines[0], lines[1], lines[3], lines[4])
	out, err = i.run(t, "compare", file, "--default-provider", "acme")
	require.Error(t, err, "the file does not name it")
	require.Contains(t, out, "event acme dead is missing from the file")
	require.Contains(t, out, "0 to create, 0 to change")

	slow := i.imports(t, file, "--rate", "1/s", "--detach")
	for _, verb := range []string{"pause", "resume", "cancel"} {
		out, err := i.run(t, "import", verb, slow.ID)
		require.NoError(t, err, out)
	}
	i.awaitStatus(t, "import/"+slow.ID, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.replay(t, "import_canceled", "import/"+slow.ID)
	require.Zero(t, i.count(t, "SELECT count(*) FROM import_rows"))
}

// awaitImported waits until the ingress has noticed an import of keys: it answers their first repeats as duplicates.
func (i *installation) awaitImported(t *testing.T, dir string, isDuplicate func(key string) bool) {
	t.Helper()
	var lines []string
	for n := range 100 {
		lines = append(lines, fmt.Sprintf(`{"record":"key","key":"noticed-%d","first_seen":%q}`, n, time.Now().UTC().Format(time.RFC3339)))
	}
	file := filepath.Join(dir, "noticed.ndjson")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	i.imports(t, file)
	n := -1
	require.Eventually(t, func() bool { n++; return isDuplicate(fmt.Sprintf("noticed-%d", n)) }, time.Minute, 500*time.Millisecond)
}

func (i *installation) imports(t *testing.T, file string, args ...string) (done operation.Import) {
	t.Helper()
	out, err := i.run(t, append([]string{"import", file, "--default-provider", "acme", "--yes", "--json"}, args...)...)
	require.NoError(t, err, out)
	start := strings.Index(out, "{\n")
	require.GreaterOrEqual(t, start, 0, out)
	require.NoError(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&done), out)
	return done
}
