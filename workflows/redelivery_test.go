package workflows_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/activities/background"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/internal/devstack/fakeapi"
	"holdfast/internal/devstack/stacktest"
)

// GitHub is asked to send a missed event again only once an operator has allowed it. The event then arrives as any webhook, once,
// even if the process is killed after the request and sends it again. The schedule doesn't ask another time.
func TestAMissedDeliveryArrivesOnce(t *testing.T) {
	t.Parallel()
	stacktest.SkipIfShort(t)
	store, sql := openStore(t)
	fake, at := fakeapi.New(fakeapi.Styles()["github"]), time.Now().Add(-time.Hour)
	fake.Add(fakeapi.Event{ID: "arrived", Time: at, IsDelivered: true}, fakeapi.Event{ID: "missed", Time: at},
		fakeapi.Event{ID: "again", Time: at}, fakeapi.Event{ID: "again", Time: at.Add(time.Minute), IsDelivered: true})
	w := &shopWorld{store: store}
	var posts atomic.Int64
	reader := newShopReader(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		fake.ServeHTTP(out, r)
		if r.Method == http.MethodPost { // the webhook
			posts.Add(1)
			_, err := store.Inbox.NewInboxWriter().Spool(r.Context(), event.LaneOverflow, event.Receipt{
				ID: uuid.NewString(), Provider: "github", Key: "missed:hash", KeyFrom: event.KeyFromBody, Type: "push", ReceivedAt: time.Now(),
			}, []byte("{}"), true)
			if err != nil {
				t.Error(err)
			}
		}
	}))
	all := &background.Activities{Recoveries: dying{store.Recoveries, w}, Lists: reader, Starter: wakeless{shopWorld: w}, Inbox: w}
	target, hours := fakeapi.Targets()["github"], time.Now().Add(-3*time.Hour)
	runToEnd := func(id string) operation.Recovery {
		return runRecovery(t, all, id, func(r operation.Recovery) { require.NotEqual(t, operation.Paused, r.State, r.Problem) })
	}
	recoverIt := func(dryRun bool) operation.Recovery {
		one := operation.Recovery{
			Base: operation.New(1000), Provider: "github", Target: target, DryRun: dryRun, AskedSince: hours, AcceptDuplicates: true,
		}
		_, err := store.Recoveries.Create(t.Context(), one, oversight.Actor{Name: "ada"})
		require.NoError(t, err)
		return runToEnd(one.ID)
	}
	for _, dryRun := range []bool{true, false} {
		r := recoverIt(dryRun)
		require.Equal(t, []int64{1, 1, 0, 1}, []int64{r.Missed, r.Redeliverable, r.Asked, r.Unasked()})
		require.Contains(t, r.GapText(), "1 can only be sent again by the provider")
	}
	require.Zero(t, posts.Load())

	reader.MayRedeliver = []string{"github"}
	require.Zero(t, recoverIt(true).Asked)
	require.Zero(t, posts.Load(), "a dry run asks for nothing")
	w.kills = []int{0, 0, 1} // before the request is counted
	r := recoverIt(false)
	require.Equal(t, []int64{1, 1, 0}, []int64{r.Missed, r.Asked, r.Recovered})
	require.Equal(t, []string{"missed", "missed"}, fake.Asked(), "the killed process has asked as well")
	var here int
	require.NoError(t, sql.QueryRow(t.Context(), `SELECT count(*) FROM inbox WHERE workflow_id = 'github:missed:hash'`).Scan(&here))
	require.Equal(t, 1, here)

	scheduled := operation.RecoveryMark{Provider: "github", Target: target}.Due(time.Now())
	_, err := sql.Exec(t.Context(), `UPDATE recovery_marks SET switched_on = switched_on - interval '2 hours'`)
	require.NoError(t, err)
	isNew, err := store.Recoveries.Schedule(t.Context(), scheduled)
	require.NoError(t, err)
	require.True(t, isNew)
	r = runToEnd(scheduled.ID)
	require.EqualValues(t, 4, r.Listed, "the log still has the failed attempt")
	require.Zero(t, r.Missed)
	require.EqualValues(t, 2, posts.Load())
}
