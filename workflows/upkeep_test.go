package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"holdfast/activities"
	"holdfast/activities/background"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/retention"
	"holdfast/workflows"
)

// household is a store with data to purge and notifications to send, which fails as scripted.
type household struct {
	rows    map[retention.Kind]int64
	batches []error
	alerts  []oversight.Alert
	told    []oversight.Alert
	send    []error
	settle  []error
	texts   []string
	// asked are the periods that reports were about, and died says that a worker dies while it sends.
	asked         []time.Duration
	failureDetail bool
	// fails says that the run does.
	fails bool
	// bounds are for how long activities are tried.
	bounds map[retention.Kind]time.Duration
	// unwritable says why something cannot be purged now; nil is never.
	unwritable func(retention.Kind) error
}

func (h *household) PurgeBatch(ctx context.Context, kind retention.Kind, _ time.Time) (int64, error) {
	if h.bounds != nil {
		h.bounds[kind] = activity.GetInfo(ctx).ScheduleToCloseTimeout
	}
	if len(h.batches) > 0 {
		err := h.batches[0]
		h.batches = h.batches[1:]
		return 0, err
	}
	if h.unwritable != nil {
		if err := h.unwritable(kind); err != nil {
			return 0, err
		}
	}
	n := min(h.rows[kind], 500)
	h.rows[kind] -= n
	return n, nil
}

func (h *household) ClaimAlerts(context.Context) (int64, []oversight.Alert, error) {
	claimed := h.alerts
	h.alerts = nil
	return 1, claimed, nil
}

func (h *household) SettleAlerts(_ context.Context, _ int64, alerts []oversight.Alert, told bool) error {
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

func (h *household) Retention(context.Context) (time.Duration, error) { return 72 * time.Hour, nil }

func (h *household) Enabled() bool { return true }

func (h *household) Report(_ context.Context, since, until time.Time) (oversight.Report, error) {
	if len(h.batches) > 0 {
		err := h.batches[0]
		h.batches = h.batches[1:]
		return oversight.Report{}, err
	}
	h.asked = append(h.asked, until.Sub(since))
	return oversight.Report{Since: since, Until: until, Received: []oversight.Trend{{Name: "stripe", Count: 3, Before: 2}}}, nil
}

func (h *household) Send(_ context.Context, text string) (int, error) {
	h.texts = append(h.texts, text)
	if h.failureDetail {
		panic("the worker dies")
	}
	if err := next(h.send, len(h.texts)-1); err != nil {
		return 0, err
	}
	return 1, nil
}

// sink keeps what an error log would.
type sink struct{ entries []oversight.ErrorEntry }

func (s *sink) Record(e oversight.ErrorEntry) { s.entries = append(s.entries, e) }

func (h *household) run(t *testing.T, workflow string, keep retention.Times, log *sink, result any) {
	t.Helper()
	classify := activities.NewInterceptor(log)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{classify}})
	workflows.Register(env)
	env.RegisterActivity(&background.Upkeep{Retention: h, Keep: keep, Runs: h, Alerts: h, Notifier: h, From: "holdfast test",
		Reports: h, ReportPeriod: 24 * time.Hour})
	env.ExecuteWorkflow(workflow)
	require.True(t, env.IsWorkflowCompleted())
	if h.failureDetail || h.fails {
		require.Error(t, env.GetWorkflowError())
		return
	}
	require.NoError(t, env.GetWorkflowError())
	require.NoError(t, env.GetWorkflowResult(result))
}

// An archive that cannot be written stops nothing but what has to go there: what needs none goes first.
func TestUnarchivedDataIsPurgedFirst(t *testing.T) {
	t.Parallel()
	h := &household{rows: map[retention.Kind]int64{}}
	for _, kind := range retention.All() {
		h.rows[kind] = 1
	}
	h.unwritable = func(kind retention.Kind) error {
		if kind != retention.Events || h.rows[retention.Errors]+h.rows[retention.Audit]+h.rows[retention.Keys]+h.rows[retention.Changes] == 0 {
			return nil
		}
		return errors.New("no space left in the archive")
	}
	keep := retention.Times{}
	for _, kind := range retention.All() {
		keep[kind] = time.Hour
	}
	log := &sink{}
	var removed map[retention.Kind]int64
	h.run(t, workflows.TypePurgeExpired, keep, log, &removed)
	require.Len(t, removed, len(retention.All()))
	require.Empty(t, log.entries)
}

// A purge whose store is away at first:
//   - it goes on until nothing is left, and says how much of each has gone
//   - what is kept for ever is not touched
//   - the failures stand in the error log
func TestAPurgeContinuesUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	h := &household{
		rows:    map[retention.Kind]int64{retention.Events: 1700, retention.Errors: 3, retention.Audit: 9, retention.Keys: 1},
		batches: []error{errOutage, errOutage},
	}
	log := &sink{}
	var removed map[retention.Kind]int64
	h.run(t, workflows.TypePurgeExpired, retention.Times{retention.Events: time.Hour, retention.Errors: time.Hour}, log, &removed)
	require.Equal(t, map[retention.Kind]int64{retention.Events: 1700, retention.Errors: 3, retention.Keys: 1,
		retention.Audit: 0, retention.DeadLetters: 0, retention.Changes: 0}, removed)
	require.EqualValues(t, 9, h.rows[retention.Audit])
	require.Len(t, log.entries, 2)
	require.Equal(t, event.PhaseUpkeep, log.entries[0].Phase)
}

// A storm of two kinds: one message, with counts; what no channel took is not marked as told.
func TestADigestIsSentOrKept(t *testing.T) {
	t.Parallel()
	h := &household{send: []error{errors.New("channel 1 is dead")}}
	for range 1000 {
		h.alerts = append(h.alerts, oversight.Alert{DeadLetter: 1, Failures: 1, AlertGroup: oversight.AlertGroup{
			Provider: "stripe", Class: event.ClassRejected, Code: "malformed_json", Count: 1, Example: "stripe:evt_1",
			First: time.Unix(0, 0), Last: time.Unix(60, 0),
		}})
	}
	h.alerts = append(h.alerts, oversight.Alert{Entry: 1, AlertGroup: oversight.AlertGroup{
		Phase: event.PhaseDeadLetter, Class: event.ClassFailed, Code: "insufficient_privilege", Count: 40,
	}})
	var digest background.Digest
	h.run(t, workflows.TypeNotify, nil, &sink{}, &digest)
	require.Equal(t, background.Digest{Failures: 1040, Kinds: 2, Error: "channel 1 is dead"}, digest)
	require.Empty(t, h.told)
	require.Len(t, h.texts, 1, "a dead channel is not tried again at once")

	h.run(t, workflows.TypeNotify, nil, &sink{}, &digest)
	require.Equal(t, 1, digest.Channels)
	require.Len(t, h.told, 1001)
	require.Contains(t, h.texts[1], "holdfast test: 1040 failed\n"+
		"stripe · rejected · malformed_json × 1000, Jan 1 00:00:00 to 00:01:00 UTC, e.g. stripe:evt_1\n"+
		"dead_letter · failed · insufficient_privilege × 40, ")
	require.True(t, strings.HasSuffix(h.texts[1], "\nSee: holdfast dlq list · holdfast error list"), h.texts[1])
	h.alerts = h.told[1000:]
	h.run(t, workflows.TypeNotify, nil, &sink{}, &digest)
	require.True(t, strings.HasSuffix(h.texts[2], "\nSee: holdfast error list"), h.texts[2])
}

// The store takes no notes any more after a message was sent: it is sent once, however often the step is tried.
func TestAnUnrecordedDigestIsSentOnce(t *testing.T) {
	t.Parallel()
	h := &household{settle: []error{errOutage, errOutage}, alerts: []oversight.Alert{{DeadLetter: 1, Failures: 1}}}
	log := &sink{}
	var digest background.Digest
	for range 3 {
		h.run(t, workflows.TypeNotify, nil, log, &digest)
	}
	require.Len(t, h.texts, 1)
	require.Len(t, log.entries, 1, "the note has failed")
}

// A report whose store is away at first, and whose channel is dead for two tries:
//   - it is about one period, however often it is tried, and told until a channel takes it
//   - the text is the same each time
func TestAReportIsRetriedUntilAChannelAcceptsIt(t *testing.T) {
	t.Parallel()
	h := &household{batches: []error{errOutage, errOutage}, send: []error{errors.New("dead"), errors.New("dead")}}
	var told background.Notification
	h.run(t, workflows.TypeReportHealth, nil, &sink{}, &told)
	require.Equal(t, background.Notification{Channels: 1}, told)
	require.Equal(t, []time.Duration{24 * time.Hour}, h.asked)
	require.Len(t, h.texts, 3)
	require.Equal(t, h.texts[0], h.texts[2])
	require.Contains(t, h.texts[0], "holdfast test: ")
	require.Contains(t, h.texts[0], "Received: 3 events (+50 %): stripe 3 (+50 %)")
}

// An archive that is away for days holds up one run, for less than the time until the next: that one purges what needs no archive
// again. Dead letters are tried whatever becomes of events.
func TestAPurgeEndsWhereAnArchiveIsAway(t *testing.T) {
	t.Parallel()
	h := &household{rows: map[retention.Kind]int64{retention.DeadLetters: 7}, fails: true, bounds: map[retention.Kind]time.Duration{}}
	h.unwritable = func(kind retention.Kind) error {
		if kind == retention.Events {
			return errOutage
		}
		return nil
	}
	keep := retention.Times{retention.Events: time.Hour, retention.DeadLetters: time.Hour}
	h.run(t, workflows.TypePurgeExpired, keep, &sink{}, nil)
	require.Zero(t, h.rows[retention.DeadLetters])
	require.Equal(t, 30*time.Minute, h.bounds[retention.Events])
	require.Equal(t, 30*time.Minute, h.bounds[retention.DeadLetters])
}

// If no channel accepts a report for twelve hours, the run fails: otherwise the broken channel would go unnoticed.
func TestAReportWithoutAnAcceptingChannelFails(t *testing.T) {
	t.Parallel()
	h := &household{send: slices.Repeat([]error{errors.New("dead")}, 25), fails: true}
	h.run(t, workflows.TypeReportHealth, nil, &sink{}, nil)
	require.Len(t, h.texts, 24)
}

// What a worker has died with may have arrived: it is not told again.
func TestAReportIsNotSentTwice(t *testing.T) {
	t.Parallel()
	h := &household{failureDetail: true}
	h.run(t, workflows.TypeReportHealth, nil, &sink{}, nil)
	require.Len(t, h.texts, 1)
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
	classify := activities.NewInterceptor(log)
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
