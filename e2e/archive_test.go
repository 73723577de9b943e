package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"holdfast/event/operation"
	"holdfast/event/retention"
)

// asStored reads all events and dead letters of an installation, except for the numbers of dead letters, which are its own.
const asStored = `
SELECT coalesce((SELECT json_agg(row_to_json(e) ORDER BY e.id) FROM (
                 SELECT id, provider, source, key, key_from, type, status, outcome, encode(raw_body, 'hex') AS body, headers, receipt,
                        payload, occurred_at, received_at, persisted_at, processed_at, workflow_id, run_id, request_id
                   FROM events) AS e)::text, '')
    || coalesce((SELECT json_agg(row_to_json(d) ORDER BY d.event_id) FROM (
                 SELECT event_id, key, type, receipt, encode(raw_body, 'hex') AS body, state, step, error_class, error_code, error_message,
                        attempts, failures, first_failed_at, last_failed_at, workflow_id, run_id, resolved_at, resolved_run_id,
                        discarded_at, discarded_by, discard_reason
                   FROM dead_letters) AS d)::text, '')`

// Rows removed by retention go to an archive, which another installation imports:
//   - doctor reports whether the archive can be written; if it can't, nothing is removed
//   - events and dead letters are imported as they were stored, and entities are folded from them
//   - a redelivery is a duplicate there
//   - events expunged later are no longer in the archive
func TestPurgedEventsMoveToAnotherInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(acme), 0o600))
	archive := filepath.Join(dir, "archive")
	definitions := []string{"HOLDFAST_PROVIDERS_DIR=" + dir, "ACME_TOKEN=token-of-the-test"}
	i := newInstallation(t, append(definitions, "HOLDFAST_ARCHIVE=file://"+archive, "HOLDFAST_RETENTION_EVENTS=1ms",
		"HOLDFAST_RETENTION_DEAD_LETTERS=1ms")...)
	n := i.start(t, "serve")
	send := func(n *node, body string) {
		a, err := n.post("/webhooks/acme", []byte(body), "X-Acme-Token", "token-of-the-test")
		require.NoError(t, err)
		require.Equal(t, 202, a.status)
	}
	bodyOf := func(k int) string {
		return fmt.Sprintf("{\"id\":\"evt%d\",  \"type\":\"order.paid\",\r\n\"order\":\"o%d\",\"total\":%d.50}", k, k%2, k)
	}
	for k := range 3 {
		send(n, bodyOf(k))
	}
	send(n, `{"id":"poison","type":"order.paid","order":7,`)
	i.awaitCount(t, time.Minute, 3, processedEvents)
	i.awaitCount(t, time.Minute, 1, openDeadLetters)
	out, err := i.run(t, "dlq", "discard", fmt.Sprint(i.count(t, "SELECT id FROM dead_letters")), "--reason", "no JSON")
	require.NoError(t, err, out)
	i.age(t, 26*time.Hour)
	was, entities := "", i.entities(t)
	i.query(t, asStored, nil, &was)

	require.NoError(t, os.WriteFile(archive, nil, 0o600))
	found, _ := i.doctor(t)
	require.Equal(t, "fail", found.of("archive"))
	out, err = i.run(t, "purge")
	require.Error(t, err)
	require.Contains(t, out, "nothing was removed")
	require.Equal(t, 3, i.count(t, processedEvents))
	require.NoError(t, os.Remove(archive))

	out, err = i.run(t, "purge", "--json", "--reason", "disk")
	require.NoError(t, err, out)
	var removed map[retention.Kind]int64
	require.NoError(t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &removed), out)
	require.EqualValues(t, 3, removed[retention.Events])
	require.EqualValues(t, 1, removed[retention.DeadLetters])
	require.Zero(t, i.count(t, "SELECT count(*) FROM events")+i.count(t, "SELECT count(*) FROM dead_letters"))
	files := filesBelow(t, archive)
	require.Len(t, files, 3, "one of each, and the mark")
	found, _ = i.doctor(t)
	require.Equal(t, "ok", found.of("archive"))

	fresh := newInstallation(t, definitions...)
	m := fresh.start(t, "serve")
	done := fresh.imports(t, "file://"+archive)
	require.Equal(t, operation.ImportCounts{operation.ImportEvent: {New: 3}, operation.ImportDeadLetter: {New: 1}}, done.Counts)
	is := ""
	fresh.query(t, asStored, nil, &is)
	require.Equal(t, was, is)
	require.Equal(t, entities, fresh.entities(t))
	send(m, bodyOf(0))
	fresh.awaitStatus(t, "acme:evt0", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 3, fresh.count(t, processedEvents))
	require.Equal(t, entities, fresh.entities(t))
	out, err = fresh.run(t, "compare", "file://"+archive)
	require.NoError(t, err, out)

	out, err = i.run(t, "purge", "--expunge", "acme:evt1", "--reason", "INC-1")
	require.NoError(t, err, out)
	require.Contains(t, out, "file(s) of the archive for it")
	require.Equal(t, files, filesBelow(t, archive))
	out, err = newInstallation(t, definitions...).run(t, "import", "file://"+archive, "--dry-run", "--json")
	require.NoError(t, err, out)
	require.Contains(t, strings.Join(strings.Fields(out), ""), `"event":{"new":2,`)
}

func filesBelow(t *testing.T, root string) (files []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	return files
}
