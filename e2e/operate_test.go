package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast/workflows"
)

// get requests a URL and decodes its JSON.
func get(t *testing.T, url string, into any, accept ...string) (status int) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", strings.Join(accept, ","))
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), string(text))
	return response.StatusCode
}

type findings struct {
	OK       bool
	Findings []struct{ Check, Result, Detail, Advice string }
}

func (f findings) of(check string) string {
	for _, one := range f.Findings {
		if one.Check == check {
			return one.Result
		}
	}
	return "none"
}

func (f findings) failed() (checks []string) {
	for _, one := range f.Findings {
		if one.Result == "fail" {
			checks = append(checks, one.Check)
		}
	}
	return checks
}

func (i *installation) doctor(t *testing.T) (f findings, err error) {
	t.Helper()
	out, err := i.run(t, "doctor", "--json")
	end := strings.LastIndex(out, "}")
	require.Positive(t, end, out)
	require.NoError(t, json.Unmarshal([]byte(out[:end+1]), &f), out)
	return f, err
}

// awaitHealthy waits until every check passes but two: the tests' PostgreSQL trades durability for speed, and the doctor reports it.
func (i *installation) awaitHealthy(t *testing.T) (f findings) {
	t.Helper()
	eventually(t, time.Minute, "the doctor finds nothing else", func() error {
		f, _ = i.doctor(t)
		if failed := f.failed(); !slices.Equal(failed, []string{"fsync", "full_page_writes"}) {
			return fmt.Errorf("%v", failed)
		}
		return nil
	})
	for _, one := range f.Findings {
		if one.Check == "database" || one.Check == "Temporal" {
			t.Logf("%s: %s", one.Check, one.Detail)
		}
	}
	return f
}

// The doctor of a healthy installation, and after each of several faults:
//   - each is found, with what to do, and the exit code reports it
func TestTheDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	f, err := i.doctor(t)
	require.Error(t, err)
	require.Equal(t, "fail", f.of("queues"), "no worker polls any")
	require.Equal(t, "none", f.of("queue events"), "one finding names them all")

	i.start(t, "serve")
	f = i.awaitHealthy(t)
	for _, check := range []string{
		"database", "migrations", "connections", "synchronous_commit", "data checksums", "clock of the database", "Temporal",
		"search attributes", "schedule holdfast-replay-due", "schedule holdfast-sweep-runs", "schedule holdfast-purge-expired",
		"queue events", "queue events-bulk", "queue events-critical", "queue events-dead-letter", "queue events-fetch", "queue events-large", "queue events-replay", "queue operations",
		"clock of Temporal", "providers",
	} {
		require.Equal(t, "ok", f.of(check), "%s: %+v", check, f)
	}
	require.Equal(t, "warn", f.of("retention"), "the tests' namespaces keep runs for a day")
	require.Equal(t, "warn", f.of("notifications"))

	i.runTool(t, "temporal", "schedule", "toggle", "--schedule-id", "holdfast-sweep-runs", "--pause", "--reason", "test")
	i.runTool(t, "temporal", "schedule", "delete", "--schedule-id", "holdfast-replay-due")
	i.exec(t, `DELETE FROM goose_db_version WHERE version_id = 1008`)
	f, err = i.doctor(t)
	require.Error(t, err)
	require.Equal(t, "fail", f.of("migrations"))
	require.Equal(t, "warn", f.of("schedule holdfast-sweep-runs"))
	require.Equal(t, "fail", f.of("schedule holdfast-replay-due"))
	out, err := i.run(t, "migrate")
	require.Error(t, err, "the tables of migration 1008 are there already: %s", out)

	i.env = append(i.env, "HOLDFAST_NOTIFY_URLS=nonsense://hush", "DATABASE_URL=postgres://nobody@127.0.0.1:1/none")
	f, err = i.doctor(t)
	require.Error(t, err)
	require.Equal(t, "fail", f.of("database"))
	require.NotContains(t, fmt.Sprintf("%+v", f), "hush")
}

// Dead letters and definitions in the doctor's report:
//   - an open dead letter is a warning; one that is exhausted, or has waited for a day, is a failure
//   - a definition whose own samples fail is found; a reload refuses it and keeps the old one
//   - a restart reports that it has accepted it, and serves the other providers
func TestTheDoctorLooksAtEventsThatDie(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "homemade.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	samples := "samples:\n  note: {headers: {webhook-id: 'msg_{id}'}, body: '{id: .id}'}\n"
	write(definitionOf("json") + samples)
	i := newInstallation(t, "HOLDFAST_PROVIDERS_DIR="+dir)
	n := i.start(t, "serve")
	results := func() [2]string {
		f, _ := i.doctor(t)
		return [2]string{f.of("dead letters"), f.of("samples")}
	}
	require.Equal(t, [2]string{"ok", "ok"}, results())

	i.awaitStatus(t, i.sendPoison(t, n), enumspb.WORKFLOW_EXECUTION_STATUS_FAILED)
	require.Equal(t, [2]string{"warn", "ok"}, results())
	i.exec(t, "UPDATE dead_letters SET first_failed_at = now() - interval '25 hours'")
	require.Equal(t, [2]string{"fail", "ok"}, results())
	i.exec(t, "UPDATE dead_letters SET first_failed_at = now(), state = 'exhausted'")
	require.Equal(t, [2]string{"fail", "ok"}, results())
	i.exec(t, "UPDATE dead_letters SET state = 'discarded', discarded_at = now(), discard_reason = 'test'")

	write(strings.Replace(definitionOf("json"), `'"note"'`, ".body.id.type", 1) + samples)
	require.Equal(t, [2]string{"ok", "fail"}, results())
	n.reload(t, "providers.rejected")
	require.Contains(t, n.log.String(), `homemade.yaml: samples[\"note\"]: becomes a dead letter`)
	send := func(want int) {
		a := n.sendStandard(t, "/webhooks/homemade", uniqueID("msg"), []byte(`{"id":"7"}`))
		require.Equal(t, 202, a.status, string(a.body))
		i.awaitCount(t, time.Minute, want, processedEvents)
	}
	send(1)
	n.terminate(t)
	n = i.start(t, "serve")
	require.Contains(t, n.log.String(), "providers.sample_fails")
	require.Equal(t, 202, n.send(t, customerUpdated(uniqueID("evt"), uniqueID("cus"), "Ada", time.Now())).status)
	i.awaitCount(t, time.Minute, 2, processedEvents)

	write(definitionOf("json") + samples)
	n.reload(t, "providers.reloaded")
	send(3)
}

// Settings of PostgreSQL with which commits can be lost are named, with the correction. The text ends with a count.
func TestTheDoctorLooksAtDurability(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$`)
	f, err := i.doctor(t)
	require.Error(t, err)
	require.Equal(t, "ok", f.of("synchronous_commit"), "each connection raises it")
	require.Equal(t, "fail", f.of("fsync"), "the tests' PostgreSQL gives up durability for speed")
	out, err := i.run(t, "doctor")
	require.Error(t, err)
	require.Contains(t, out, "→ set fsync = on")
	require.Regexp(t, `(?m)^\d+ of \d+ checks need attention, \d+ healthy$`, out)
}

// The doctor finds no problems in what `make run` starts, and exits with 0.
func TestTheDevStackIsWell(t *testing.T) {
	t.Parallel()
	d := newDev(t)
	d.start(t)
	eventually(t, time.Minute, "all is well", func() error {
		out, err := d.run(t, "doctor")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		require.Contains(t, out, "ok    fsync")
		return nil
	})
}

// What an operator sees while events are processed: self-test, metrics in each form, statistics.
func TestAnInstallationTellsHowItIsDoing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := customerUpdated(id, uniqueID("cus"), "Ada", time.Now())
	n.send(t, body)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	n.send(t, body)
	_, err := n.post("/webhooks/stripe", body)
	require.NoError(t, err)

	var self struct {
		OK         bool
		Stores     map[string]struct{ Up bool }
		Queues     []struct{ Queue string }
		LastMinute struct {
			Accepted, Duplicate, Requests int
			Refused                       map[string]int
		} `json:"last_minute"`
	}
	require.Equal(t, 200, get(t, n.ingress+"/webhooks/_selftest", &self))
	require.True(t, self.OK)
	require.True(t, self.Stores["temporal"].Up)
	require.True(t, self.Stores["database"].Up)
	require.Len(t, self.Queues, 9)
	require.Equal(t, []int{1, 1, 3}, []int{self.LastMinute.Accepted, self.LastMinute.Duplicate, self.LastMinute.Requests})
	require.Len(t, self.LastMinute.Refused, 1)

	var metrics struct{ Metrics []struct{ Name string } }
	require.Equal(t, 200, get(t, n.operator+"/metrics.json", &metrics))
	require.Equal(t, 200, get(t, n.operator+"/metrics", &metrics, "application/json"))
	require.Contains(t, fmt.Sprint(metrics), "holdfast_events_received_total")
	require.Contains(t, n.metrics(t), "holdfast_events_received_total{")
	var history struct {
		Points int
		Series []struct{ Name string }
	}
	require.Equal(t, 200, get(t, n.operator+"/metrics/history?name=holdfast_", &history))
	require.Positive(t, history.Points)

	out, err := i.run(t, "stats", "--json")
	require.NoError(t, err, out)
	var stats struct {
		Events []struct {
			Provider, Status string
			Count            int
		}
		Queues []struct {
			Queue           string
			WorkflowPollers int `json:"workflow_pollers"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &stats), out)
	require.Len(t, stats.Events, 1)
	require.Equal(t, 1, stats.Events[0].Count)
	require.Len(t, stats.Queues, 9)
	out, err = i.run(t, "stats")
	require.NoError(t, err, out)
	require.Contains(t, out, "stripe")
	require.Contains(t, out, "events-critical")
	out, err = i.run(t, "error", "list", "--phase", "receive")
	require.NoError(t, err, out)
	require.Contains(t, out, "none", "a request that was refused for its sender's sake leaves no row")
}

// examine runs doctor, and returns an error if a check's result differs or its detail lacks a text.
func (i *installation) examine(t *testing.T, check, result, detail string) error {
	t.Helper()
	found, _ := i.doctor(t)
	for _, f := range found.Findings {
		if f.Check == check && f.Result == result && strings.Contains(f.Detail, detail) {
			return nil
		}
	}
	return fmt.Errorf("%+v", found)
}

// age makes all events older by this much: their IDs contain their time.
func (i *installation) age(t *testing.T, by time.Duration) {
	t.Helper()
	i.exec(t, fmt.Sprintf(`
CREATE TABLE aged AS
SELECT id AS was, (left(stamp, 8) || '-' || substr(stamp, 9) || substr(id::text, 14))::uuid AS now
  FROM (SELECT id, lpad(to_hex(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint - %d), 12, '0') AS stamp
          FROM events) AS stamped;
UPDATE idempotency_keys SET event_id = a.now FROM aged AS a WHERE event_id = a.was;
UPDATE event_entities SET event_id = a.now FROM aged AS a WHERE event_id = a.was;
UPDATE entities SET last_event_id = a.now FROM aged AS a WHERE last_event_id = a.was;
UPDATE entities SET reset_id = a.now FROM aged AS a WHERE reset_id = a.was;
UPDATE events SET id = a.now, receipt = replace(receipt::text, a.was::text, a.now::text)::json,
       processed_at = processed_at - interval '%d ms' FROM aged AS a WHERE id = a.was;
DROP TABLE aged`, by.Milliseconds(), by.Milliseconds()))
}

// Retention has its limits:
//   - an event stays until Temporal, which could reset its run, has deleted that run: a start and doctor report for how long
//   - then the schedule purges it; the entity and the key stay, and a redelivery is a duplicate
func TestOldEventsArePurgedOnSchedule(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "HOLDFAST_RETENTION_EVENTS=1s", "HOLDFAST_RETENTION_INTERVAL=1s")
	n := i.start(t, "serve")
	id, customer := uniqueID("evt"), uniqueID("cus")
	body := customerUpdated(id, customer, "Ada", time.Now())
	n.send(t, body)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	const purges = "WorkflowType = 'PurgeExpired' AND ExecutionStatus = 'Completed'"
	before := i.runsOf(t, purges)
	eventually(t, time.Minute, "it is purged again", func() error { return atLeast(i.runsOf(t, purges), before+3) })
	require.Equal(t, 1, i.count(t, processedEvents), "its run can be reset for 24 hours")
	require.Contains(t, n.log.tail(1000), "retention.extended")
	require.NoError(t, i.examine(t, "retention of events", "warn", "Temporal keeps runs for 24h0m0s: events stay for 25h0m0s"))
	i.age(t, 26*time.Hour)
	i.awaitCount(t, time.Minute, 0, "SELECT count(*) FROM events")
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM idempotency_keys"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM entities WHERE external_id = $1 AND state ->> 'name' = 'Ada'", customer))
	out, err := i.run(t, "purge")
	require.NoError(t, err, out)
	require.Contains(t, out, "events")
	require.Zero(t, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'purge'"), "it came too late to remove anything")

	n.awaitProcessed(t, body)
	i.replay(t, "purge_expired", i.latestOf(t, workflows.TypePurgeExpired, "Completed"))
}

// One event is expunged:
//   - no table and no history has its content any more; a redelivery is accepted, without effect, and refers to the tombstone
func TestAnEventIsExpungedEverywhere(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "serve")
	id, customer := uniqueID("evt"), uniqueID("cus")
	body := customerUpdated(id, customer, "hush-hush", time.Now())
	a := n.send(t, body)
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)

	out, err := i.run(t, "purge", "--expunge", a.Events[0].EventID)
	require.Error(t, err, "it wants a reason: %s", out)
	out, err = i.run(t, "purge", "--expunge", "stripe:"+id, "--reason", "asked by the customer")
	require.NoError(t, err, out)
	for _, table := range []string{"events", "entities", "event_entities", "dead_letters", "audit_log", "error_log"} {
		require.Zero(t, i.count(t, "SELECT count(*) FROM "+table+" AS t WHERE t::text LIKE '%hush-hush%'"), table)
	}
	require.Zero(t, i.count(t, "SELECT count(*) FROM entities"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM idempotency_keys"))
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM audit_log WHERE action = 'event.expunge' AND reason <> ''"+
		" AND detail ->> 'events' = '1' AND detail ->> 'changes' = '1' AND detail ->> 'runs' = '1'"))
	for _, name := range []string{a.Events[0].EventID, "stripe:" + id} {
		out, err = i.run(t, "event", "show", name)
		require.NoError(t, err, out)
		require.Contains(t, out, "asked by the customer")
	}
	out, err = i.run(t, "purge", "--expunge", a.Events[0].EventID, "--reason", "once more")
	require.NoError(t, err, out)
	require.Contains(t, out, "was expunged by cli:")
	c := i.dial(t)
	eventually(t, time.Minute, "Temporal has forgotten the run", func() error {
		if _, err := c.DescribeWorkflowExecution(context.Background(), "stripe:"+id, ""); err == nil {
			return errors.New("not yet")
		}
		return nil
	})

	again := n.send(t, body)
	require.Equal(t, "accepted", again.state())
	i.awaitStatus(t, "stripe:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	out, err = i.run(t, "event", "show", again.Events[0].WorkflowID)
	require.NoError(t, err, out)
	require.Contains(t, out, "asked by the customer", "the answer leads to what was decided")
	require.Zero(t, i.count(t, "SELECT count(*) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM entities"))
	found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Query: `WorkflowType = "Doctor"`})
	require.NoError(t, err)
	require.Zero(t, found.GetCount())
}
