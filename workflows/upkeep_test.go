package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/activities/operations"
	"holdfast/event"
	"holdfast/workflows"
)

// household is a store with something to purge and somebody to tell, which fails as its scripts say.
type household struct {
	rows    map[event.Kept]int64
	batches []error
	alerts  []event.Alert
	told    []event.Alert
	send    []error
	settle  []error
	texts   []string
}

func (h *household) PurgeBatch(_ context.Context, kept event.Kept, _ time.Time) (int64, error) {
	if len(h.batches) > 0 {
		err := h.batches[0]
		h.batches = h.batches[1:]
		return 0, err
	}
	n := min(h.rows[kept], 500)
	h.rows[kept] -= n
	return n, nil
}

func (h *household) ClaimAlerts(context.Context) (int64, []event.Alert, error) {
	claimed := h.alerts
	h.alerts = nil
	return 1, claimed, nil
}

func (h *household) SettleAlerts(_ context.Context, _ int64, alerts []event.Alert, told bool) error {
	if len(h.settle) > 0 {
		err := h.settle[0]
		h.settle = h.settle[1:]
		return err
	}
	if told {
		h.told = append(h.told, alerts...)
	} else {
		h.alerts = alerts
	}
	return nil
}

func (h *household) Enabled() bool { return true }

func (h *household) Send(_ context.Context, text string) (int, error) {
	h.texts = append(h.texts, text)
	if err := next(h.send, len(h.texts)-1); err != nil {
		return 0, err
	}
	return 1, nil
}

// sink keeps what an error log would.
type sink struct{ entries []event.ErrorEntry }

func (s *sink) Record(e event.ErrorEntry) { s.entries = append(s.entries, e) }

func (h *household) run(t *testing.T, workflow string, keep event.Retention, log *sink, result any) {
	t.Helper()
	classify, err := activities.NewInterceptor(log)
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	workflows.Register(env)
	env.RegisterActivity(&operations.Upkeep{Retention: h, Keep: keep, Alerts: h, Notifier: h, From: "holdfast test"})
	env.ExecuteWorkflow(workflow)
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, env.GetWorkflowResult(result))
}

// A purge whose store is away at first:
//   - it goes on until nothing is left, and says how much of each has gone
//   - what is kept for ever is not touched
//   - the failures stand in the error log
func TestAPurgeGoesOnUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	h := &household{
		rows:    map[event.Kept]int64{event.KeptEvents: 1700, event.KeptErrors: 3, event.KeptAudit: 9, event.KeptKeys: 1},
		batches: []error{errOutage, errOutage},
	}
	log := &sink{}
	var removed map[event.Kept]int64
	h.run(t, workflows.TypePurgeExpired, event.Retention{event.KeptEvents: time.Hour, event.KeptErrors: time.Hour}, log, &removed)
	require.Equal(t, map[event.Kept]int64{event.KeptEvents: 1700, event.KeptErrors: 3, event.KeptKeys: 1,
		event.KeptAudit: 0, event.KeptDeadLetters: 0}, removed)
	require.EqualValues(t, 9, h.rows[event.KeptAudit])
	require.Len(t, log.entries, 2)
	require.Equal(t, event.PhaseUpkeep, log.entries[0].Phase)
}

// A storm of two kinds: one message, with counts; what no channel took is not marked as told.
func TestADigestIsToldOrKept(t *testing.T) {
	t.Parallel()
	h := &household{send: []error{errors.New("channel 1 is dead")}}
	for range 1000 {
		h.alerts = append(h.alerts, event.Alert{DeadLetter: 1, Failures: 1, AlertGroup: event.AlertGroup{
			Provider: "stripe", Class: event.ClassRejected, Code: "malformed_json", Count: 1, Example: "stripe:evt_1",
			First: time.Unix(0, 0), Last: time.Unix(60, 0),
		}})
	}
	h.alerts = append(h.alerts, event.Alert{Entry: 1, AlertGroup: event.AlertGroup{
		Phase: event.PhaseDeadLetter, Class: event.ClassFailed, Code: "insufficient_privilege", Count: 40,
	}})
	var digest operations.Digest
	h.run(t, workflows.TypeNotify, nil, &sink{}, &digest)
	require.Equal(t, operations.Digest{Failures: 1040, Kinds: 2, Error: "channel 1 is dead"}, digest)
	require.Empty(t, h.told)
	require.Len(t, h.texts, 1, "a dead channel is not tried again at once")

	h.run(t, workflows.TypeNotify, nil, &sink{}, &digest)
	require.Equal(t, 1, digest.Told)
	require.Len(t, h.told, 1001)
	require.Contains(t, h.texts[1], "holdfast test: 1040 failed\n"+
		"stripe · rejected · malformed_json × 1000, Jan 1 00:00:00 to 00:01:00 UTC, e.g. stripe:evt_1\n"+
		"dead_letter · failed · insufficient_privilege × 40, ")
}

// The store takes no notes any more after a message was sent: it is sent once, however often the step is tried.
func TestADigestIsToldOnceIfItCannotBeNoted(t *testing.T) {
	t.Parallel()
	h := &household{settle: []error{errOutage, errOutage}, alerts: []event.Alert{{DeadLetter: 1, Failures: 1}}}
	log := &sink{}
	var digest operations.Digest
	for range 3 {
		h.run(t, workflows.TypeNotify, nil, log, &digest)
	}
	require.Len(t, h.texts, 1)
	require.Len(t, log.entries, 1, "the note has failed")
}

// Each failure of a step is an entry: which event, phase, class, lane and attempt. A dead letter that cannot be recorded for
// long is an alert.
func TestEveryFailureIsLogged(t *testing.T) {
	t.Parallel()
	store := &scriptedStore{
		persist: []error{errOutage, errPanic, errRejected},
		record:  []error{errUnknown, errUnknown, errUnknown},
	}
	log := &sink{}
	classify, err := activities.NewInterceptor(log)
	require.NoError(t, err)
	process(t, store, customerUpdated, outcome{
		errorType: workflows.ErrorDeadLettered, persists: 3, deadLetters: 4,
	}, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	})
	var got []string
	for _, e := range log.entries {
		require.Equal(t, receipt().ID, e.EventID)
		require.Equal(t, "stripe", e.Provider)
		require.NotContains(t, e.Message, "CANARY")
		alert := ""
		if e.Alert {
			alert = " alert"
		}
		got = append(got, string(e.Phase)+" "+string(e.Class)+" "+e.Code+" "+e.Meta["lane"]+" "+e.Meta["attempt"]+alert)
	}
	require.Equal(t, []string{
		"persist transient connection_refused fast 1",
		"persist failed panic fast 2",
		"persist rejected not_null_violation durable 1",
		"dead_letter failed unclassified durable 1",
		"dead_letter failed unclassified durable 2",
		"dead_letter failed unclassified durable 3 alert",
	}, got)
}
