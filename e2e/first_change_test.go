package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/workflows"
)

// corrected returns two folders with definitions: that of the ingress, and one that gives events another type.
func corrected(t *testing.T) (of, now string) {
	t.Helper()
	const definition = "name: homemade\nextends: standard-webhooks\ndecode: [{as: text}]\ntype: '\"%s\"'\nentities: []\n"
	of, now = t.TempDir(), t.TempDir()
	for dir, kind := range map[string]string{of: "note", now: "memo"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "homemade.yaml"), fmt.Appendf(nil, definition, kind), 0o600))
	}
	return "HOLDFAST_PROVIDERS_DIR=" + of, "HOLDFAST_PROVIDERS_DIR=" + now
}

// shownType returns the type by which Temporal lists a run.
func (i *installation) shownType(t *testing.T, workflowID string) (text string) {
	t.Helper()
	shown := i.describe(t, workflowID).GetSearchAttributes().GetIndexedFields()[workflows.SearchEventType.GetName()]
	require.NoError(t, converter.GetDefaultDataConverter().FromPayload(shown, &text))
	return text
}

// The definition is corrected between the acceptance of an event and its parse step. Temporal lists the run by the type with which
// the event is stored.
func TestARunShowsItsCorrectedType(t *testing.T) {
	t.Parallel()
	older, newer := corrected(t)
	i := newInstallation(t)
	n := i.start(t, "ingress", older)
	i.start(t, "worker", newer)
	id := uniqueID("msg")
	require.Equal(t, "accepted", n.sendStandard(t, "/webhooks/homemade", id, []byte(note)).state())
	i.awaitStatus(t, "homemade:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM events WHERE type = 'memo' AND status = 'processed'"))
	require.Equal(t, "memo", i.shownType(t, "homemade:"+id))
	i.replay(t, "type_corrected", "homemade:"+id)
}

// A run that a worker of the previous release has finished replays, although the current code would correct its type.
func TestARunOfThePreviousReleaseKeepsItsType(t *testing.T) {
	t.Parallel()
	previous := buildPrevious(t)
	older, newer := corrected(t)
	i := newInstallation(t)
	n := i.start(t, "ingress", older)
	launchProgram(t, previous, "worker", i.environment(newer)).awaitReady(t)
	id := uniqueID("msg")
	require.Equal(t, "accepted", n.sendStandard(t, "/webhooks/homemade", id, []byte(note)).state())
	i.awaitStatus(t, "homemade:"+id, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	require.Equal(t, "note", i.shownType(t, "homemade:"+id))
	i.replay(t, "type_differs", "homemade:"+id)
}

// rollout sends events to whichever ingresses run, each until one of them accepts it, as a provider would.
type rollout struct {
	*installation

	mu        sync.Mutex
	ingresses []*node

	sent     []string // workflow IDs
	refused  atomic.Int64
	problems []string
	stopped  chan struct{}
	sender   sync.WaitGroup
}

func (r *rollout) use(ingresses ...*node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ingresses = ingresses
}

func (r *rollout) start() {
	r.sender.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-r.stopped:
				return
			case <-ticker.C:
				r.send(n)
			}
		}
	})
}

// send sends an event of Stripe and one whose type the workers correct; each fifth time, also a forged one.
func (r *rollout) send(n int) {
	id := uniqueID("evt")
	body := customerUpdated(id, fmt.Sprintf("cus_rollout_%d", n%7), "Ada", time.Now())
	r.deliver("stripe:"+id, func(to *node) (answer, error) {
		return to.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, secret, time.Now()))
	})
	r.deliver("homemade:"+id, func(to *node) (answer, error) {
		key, _ := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
		at := fmt.Sprint(time.Now().Unix())
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, note)
		return to.post("/webhooks/homemade", []byte(note), "Webhook-Id", id, "Webhook-Timestamp", at,
			"Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	})
	if n%5 == 0 {
		a, err := r.ingress(n).post("/webhooks/stripe", body, "Stripe-Signature", sign(body, "whsec_of_somebody", time.Now()))
		if err == nil && a.status == http.StatusUnauthorized {
			r.refused.Add(1)
		}
	}
}

func (r *rollout) ingress(attempt int) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ingresses[attempt%len(r.ingresses)]
}

func (r *rollout) deliver(workflowID string, send func(*node) (answer, error)) {
	for attempt := len(r.sent); ; attempt++ {
		a, err := send(r.ingress(attempt))
		switch {
		case err == nil && a.status/100 == 2:
			r.mu.Lock()
			r.sent = append(r.sent, workflowID)
			r.mu.Unlock()
			return
		case err == nil && a.status != http.StatusServiceUnavailable:
			r.mu.Lock()
			r.problems = append(r.problems, fmt.Sprintf("%s: %d %s", workflowID, a.status, a.body))
			r.mu.Unlock()
			return
		}
		select {
		case <-r.stopped:
			return
		case <-time.After(20 * time.Millisecond): // before the next attempt, as a provider does
		}
	}
}

// awaitMore waits until more events are processed than now.
func (r *rollout) awaitMore(t *testing.T, what string) {
	t.Helper()
	at := r.count(t, processedEvents)
	eventually(t, 2*time.Minute, what, func() error { return atLeast(r.count(t, processedEvents), at+15) })
}

// The first change after the release before: a column, a setting with another name, and another command of the workflow. It is rolled
// out under load, first the tables, then the worker, then the ingress; rolled back in the opposite order; and rolled out again:
//   - both programs run at the same time, and both understand the former name of the setting
//   - each accepted event is one processed row, and no dead letter; each refused request is counted
//   - no run stays open
func TestTheFirstChangeRollsOutAndBackUnderLoad(t *testing.T) {
	t.Parallel()
	previous := buildPrevious(t)
	older, newer := corrected(t)
	i := installationOn(t, emptyDatabase(t), "HOLDFAST_NOTIFY_EVERY=1s")
	launch := func(program, role, definitions string) *node {
		n := launchProgram(t, program, role, i.environment(definitions))
		n.awaitReady(t)
		return n
	}
	migrate := exec.Command(previous, "migrate")
	migrate.Env = i.environment()
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, string(out))
	oldIngress, oldWorker := launch(previous, "ingress", older), launch(previous, "worker", newer)
	r := &rollout{installation: i, stopped: make(chan struct{})}
	r.use(oldIngress)
	r.start()
	r.awaitMore(t, "the previous release works")

	text, err := i.run(t, "migrate")
	require.NoError(t, err, text)
	require.Contains(t, text, "warning: HOLDFAST_NOTIFY_EVERY is the former name of HOLDFAST_NOTIFY_INTERVAL")
	r.awaitMore(t, "the previous release works on the newer tables")
	newWorker := launch(holdfast, "worker", newer)
	r.awaitMore(t, "workers of both releases run")
	oldWorker.terminate(t)
	r.awaitMore(t, "the new worker works")
	newIngress := launch(holdfast, "ingress", older)
	r.use(oldIngress, newIngress)
	r.awaitMore(t, "ingresses of both releases run")
	r.use(newIngress)
	oldIngress.terminate(t)
	r.awaitMore(t, "the change is rolled out")
	require.Contains(t, newWorker.log.String(), `"msg":"setting.renamed"`)

	oldIngress = launch(previous, "ingress", older)
	r.use(oldIngress, newIngress)
	r.awaitMore(t, "an ingress of the previous release is back")
	r.use(oldIngress)
	newIngress.terminate(t)
	oldWorker = launch(previous, "worker", newer)
	r.awaitMore(t, "a worker of the previous release is back")
	newWorker.terminate(t)
	r.awaitMore(t, "the change is rolled back")

	launch(holdfast, "worker", newer)
	newIngress = launch(holdfast, "ingress", older)
	r.use(newIngress)
	oldIngress.terminate(t)
	oldWorker.terminate(t)
	r.awaitMore(t, "the change is rolled out again")
	close(r.stopped)
	r.sender.Wait()

	require.Empty(t, r.problems)
	eventually(t, 3*time.Minute, "each event is processed", func() error {
		return atLeast(i.count(t, processedEvents), len(r.sent))
	})
	require.Equal(t, len(r.sent), i.count(t, "SELECT count(*) FROM events AS e WHERE EXISTS"+
		" (SELECT FROM unnest($1::text[]) AS x (id) WHERE x.id = e.provider || ':' || e.key)", r.sent))
	require.Equal(t, len(r.sent), i.count(t, "SELECT count(*) FROM events"), "none twice")
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM events WHERE provider = 'homemade' AND type <> 'memo'"))
	eventually(t, time.Minute, "no run is open", func() error {
		return atLeast(-i.runsOf(t, "WorkflowType = 'ProcessEvent' AND ExecutionStatus = 'Running'"), 0)
	})
	i.awaitCount(t, time.Minute, int(r.refused.Load()), "SELECT coalesce(sum(requests), 0) FROM refused_minutes")
	counted := i.count(t, "SELECT sum(unauthenticated) FROM refused_minutes")
	t.Logf("%d events; %d requests refused, %d of them by the newer release", len(r.sent), r.refused.Load(), counted)
	require.Positive(t, counted)
	require.Less(t, counted, int(r.refused.Load()))
}
