package persistence_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
)

// recovery creates a recovery of the list of acme and gives it a window of an hour before noon.
func (d *database) recovery(id string, change ...func(*operation.Recovery)) operation.Recovery {
	d.t.Helper()
	wanted := operation.Recovery{Base: operation.Base{ID: id, Rate: 50}, Provider: "acme"}
	for _, c := range change {
		c(&wanted)
	}
	_, err := d.Recoveries.Create(d.t.Context(), wanted, ada)
	require.NoError(d.t, err)
	_, err = d.Recoveries.Mark(d.t.Context(), "acme", wanted.Target, windows(time.Hour))
	require.NoError(d.t, err)
	window := operation.RecoveryWindow{Since: noon.Add(-time.Hour), Until: noon}
	r, err := d.Recoveries.Begin(d.t.Context(), id, window, json.RawMessage(`{"page":1}`))
	require.NoError(d.t, err)
	require.False(d.t, r.HasReadList())
	return r
}

// windows are the windows of a definition with one window, and of overrides.
func windows(all ...time.Duration) (w operation.DedupeWindows) {
	w.Shortest, w.Longest, w.All = event.Duration(all[0]), event.Duration(all[0]), fmt.Sprint(all)
	for _, d := range all[1:] {
		w.Shortest, w.Longest = min(w.Shortest, event.Duration(d)), max(w.Longest, event.Duration(d))
	}
	return w
}

// missing makes an item of the list.
func missing(key string, minutes int) operation.RecoveryItem {
	at := noon.Add(time.Duration(minutes) * time.Minute)
	return operation.RecoveryItem{
		Receipt: event.Receipt{
			ID: operation.ImportedID("acme", key, at), Provider: "acme", Key: key, KeyFrom: event.KeyFromEvent, Type: "thing.changed",
			ReceivedAt: at, Via: event.ViaRecover,
		},
		Body: []byte(key), At: at, AnyType: true,
	}
}

func (d *database) addPage(r operation.Recovery, p operation.RecoveryPage) operation.Recovery {
	d.t.Helper()
	after, err := d.Recoveries.AddPage(d.t.Context(), r, p)
	require.NoError(d.t, err)
	return after
}

// An event is known in whichever form it is here, and whatever an operator has decided about it: it must not come back.
func TestARecoveryKnowsEveryEventThatIsHere(t *testing.T) {
	t.Parallel()
	db := open(t)
	of := func(key string) event.Receipt {
		r := receipt()
		r.Provider, r.Key = "acme", key
		return r
	}
	processed, expunged, discarded, dead, waits := of("processed"), of("expunged"), of("discarded"), of("dead"), of("waits")
	db.process(processed, parsed(patch("1", `{}`)))
	db.process(expunged, parsed(patch("2", `{}`)))
	_, err := db.Upkeep.Expunge(t.Context(), expunged.ID, 0, ada)
	require.NoError(t, err)
	db.record(died(dead, noon))
	db.record(died(discarded, noon))
	letter := db.deadLetterOf(discarded)
	require.NoError(t, db.discardLetter(letter.ID))
	db.exec(`DELETE FROM dead_letters WHERE id = $1`, letter.ID) // it was cleaned up
	_, err = db.Inbox.NewInboxWriter().Spool(t.Context(), event.LaneOverflow, waits, body, false)
	require.NoError(t, err)
	large := of("large")
	large.Large = event.NewLargeBody(large.ID, body)
	_, err = db.Inbox.NewInboxWriter().KeepLarge(t.Context(), large, body, false, 0)
	require.NoError(t, err)
	db.exec(`INSERT INTO inbox (workflow_id, event_id, lane, provider, receipt, raw_body, received_at, reject)
SELECT 'large/other', gen_random_uuid(), 'large', 'acme', 'malformed', '', now(), false`)

	r := db.recovery("r1")
	page := operation.RecoveryPage{Listed: 10, Unwanted: 1, Unsafe: 1, Waiting: map[string]bool{"acme:in Temporal": true, "acme:missed": false}}
	for i, key := range []string{"processed", "expunged", "discarded", "dead", "waits", "missed", "in Temporal", "large"} {
		page.Items = append(page.Items, missing(key, -i))
	}
	page.Items[5].Retrying = true
	unknown, err := db.Recoveries.Unknown(t.Context(), r, page)
	require.NoError(t, err)
	require.Equal(t, []string{"acme:missed", "acme:in Temporal"}, unknown)
	r = db.addPage(r, page)
	require.True(t, r.HasReadList())
	require.Equal(t, []int64{10, 7, 1, 1, 1, 1}, []int64{r.Listed, r.Known, r.Unwanted, r.Unsafe, r.Missed, r.Retrying})
	require.Equal(t, []operation.MissedEvent{{WorkflowID: "acme:missed", Type: "thing.changed", At: noon.Add(-5 * time.Minute)}}, r.Examples)
}

// Types that have never arrived aren't wanted: the provider's settings leave them out.
func TestTypesThatNeverArrivedAreUnwanted(t *testing.T) {
	t.Parallel()
	db := open(t)
	arrived := receipt()
	arrived.Provider, arrived.Key = "acme", "k"
	p := parsed(patch("1", `{}`))
	p.Type = "thing.changed"
	db.process(arrived, p)
	dead := receipt()
	dead.Provider, dead.Key, dead.Type = "acme", "d", "only.dead"
	db.record(died(dead, noon))
	known, other, listed, died := missing("a", -1), missing("b", -2), missing("c", -3), missing("e", -4)
	known.AnyType, other.AnyType, died.AnyType = false, false, false
	other.Receipt.Type, listed.Receipt.Type, died.Receipt.Type = "other", "other", "only.dead"
	r := db.addPage(db.recovery("r1"), operation.RecoveryPage{Listed: 4, Items: []operation.RecoveryItem{known, other, listed, died}})
	require.EqualValues(t, 1, r.Unwanted)
	require.EqualValues(t, 3, r.Missed, "a type that has arrived only as a dead letter has arrived")
}

// Pages of a list that moves have an event twice, and an activity that was killed adds its page again: an event counts once.
func TestAMissedEventCountsOnce(t *testing.T) {
	t.Parallel()
	for _, dryRun := range []bool{false, true} {
		db := open(t)
		first := db.recovery("r1", func(r *operation.Recovery) { r.DryRun = dryRun })
		page := operation.RecoveryPage{Listed: 2, Items: []operation.RecoveryItem{missing("b", -1), missing("a", -2)}, Next: json.RawMessage(`{"page":2}`)}
		second := db.addPage(first, page)
		require.EqualValues(t, 2, second.Missed)
		require.Equal(t, second, db.addPage(first, page), "the position has moved")
		last := db.addPage(second, operation.RecoveryPage{Listed: 2, Items: []operation.RecoveryItem{missing("a", -2), missing("c", -30)}})
		require.EqualValues(t, 3, last.Missed)
		require.Len(t, last.Examples, 3)
		bodies := value[string](db, `SELECT coalesce(string_agg(convert_from(body, 'UTF8'), ' ' ORDER BY at), '') FROM recovery_items`)
		if dryRun {
			require.Equal(t, "  ", bodies, "a dry run needs none")
		} else {
			require.Equal(t, "c a b", bodies)
		}
	}
}

// The missed events are started oldest first, and removed as they are counted. The last one completes the recovery, and its
// watermark is the end of the window.
func TestMissedEventsLeaveOldestFirst(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.addPage(db.recovery("r1"), operation.RecoveryPage{Listed: 3, Items: []operation.RecoveryItem{
		missing("new", -1), missing("middle", -10), missing("old", -20),
	}})
	still, err := db.Recoveries.Finish(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, operation.Running, still.State)

	items, err := db.Recoveries.Next(t.Context(), r.ID, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"old", "middle"}, []string{items[0].Receipt.Key, string(items[1].Body)})
	require.Equal(t, event.ViaRecover, items[0].Receipt.Via)
	for range 2 { // the second time stands for an attempt that was killed after its commit
		r, err = db.Recoveries.Settle(t.Context(), r.ID, items, operation.RecoveryStart{Recovered: 1, Arrived: 1})
		require.NoError(t, err)
		require.EqualValues(t, 2, r.Started())
	}
	require.InDelta(t, 2./3, r.Share(), 0.01)
	items, err = db.Recoveries.Next(t.Context(), r.ID, 2)
	require.NoError(t, err)
	_, err = db.Recoveries.Settle(t.Context(), r.ID, items, operation.RecoveryStart{Failed: 1, Problem: "too large"})
	require.NoError(t, err)
	r, err = db.Recoveries.Finish(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, operation.Completed, r.State)
	require.Equal(t, "too large", r.Problem)
	mark, err := db.Recoveries.Mark(t.Context(), "acme", "", windows(time.Hour))
	require.NoError(t, err)
	require.Equal(t, noon, mark.Watermark)
}

// A watermark says that everything before it is here, so it doesn't move over a time that wasn't read, and a dry run doesn't
// move it at all.
func TestAWatermarkMovesOverNoGap(t *testing.T) {
	t.Parallel()
	db := open(t)
	watermark := func(id string, dryRun bool, since, until int, cut operation.RecoveryCut) time.Time {
		at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
		_, err := db.Recoveries.Create(t.Context(), operation.Recovery{Base: operation.Base{ID: id, Rate: 1}, Provider: "acme", DryRun: dryRun}, ada)
		require.NoError(t, err)
		_, err = db.Recoveries.Mark(t.Context(), "acme", "", windows(0))
		require.NoError(t, err)
		window := operation.RecoveryWindow{Since: at(since), Until: at(until), Cut: cut, Wanted: at(since - 30)}
		begun, err := db.Recoveries.Begin(t.Context(), id, window, nil)
		require.NoError(t, err)
		require.Equal(t, cut != "", begun.WantedSince.Equal(at(since-30)))
		_, err = db.Recoveries.Finish(t.Context(), id)
		require.NoError(t, err)
		mark, err := db.Recoveries.Mark(t.Context(), "acme", "", windows(0))
		require.NoError(t, err)
		return mark.Watermark
	}
	require.Zero(t, watermark("dry", true, -60, 0, ""))
	require.Equal(t, noon, watermark("first", false, -60, 0, ""), "recovery was switched on later")
	require.Equal(t, noon, watermark("gap", false, 10, 20, ""))
	require.Equal(t, noon, watermark("earlier", false, -120, -60, ""))
	require.Equal(t, noon.Add(20*time.Minute), watermark("next", false, -5, 20, ""))
	require.Equal(t, noon.Add(90*time.Minute), watermark("down for long", false, 60, 90, operation.CutReach),
		"what lies between can't be read by a later one either, and the recovery says so")
}

// Keys that were stored under a shorter window expire earlier, so a longer window, of whichever types, switches recovery on
// again.
func TestALongerWindowSwitchesRecoveryOnAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	var times []time.Time
	const hour, minute = time.Hour, time.Minute
	for _, dedupe := range [][]time.Duration{
		{hour}, {hour}, {minute}, {hour}, {0}, {hour}, {0}, {hour}, {hour, minute}, {hour, 2 * minute}, {hour, 2 * minute}, {minute, minute},
	} {
		require.NoError(t, db.Recoveries.SwitchOn(t.Context(), map[string]operation.DedupeWindows{"acme": windows(dedupe...)}))
		times = append(times, value[time.Time](db, `SELECT switched_on FROM recovery_marks`))
	}
	isNew := make([]bool, len(times))
	for i := 1; i < len(times); i++ {
		isNew[i] = times[i].After(times[i-1])
	}
	require.Equal(t, []bool{false, false, false, true, true, false, true, false, false, true, false, false}, isNew)
}

// An earlier start counts only for a list that has never been on.
func TestAnEarlierStartOfRecoveryCountsOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	dedupe := map[string]operation.DedupeWindows{"acme": windows(time.Hour)}
	for _, at := range []time.Time{noon, noon.Add(-time.Hour), {}} {
		require.NoError(t, db.Recoveries.SwitchOnSince(t.Context(), at, dedupe))
		require.Equal(t, noon.UTC(), value[time.Time](db, `SELECT switched_on FROM recovery_marks`).UTC())
	}
}

// The schedule starts no recovery of a list while another one has not ended, and removes those that have found nothing.
func TestTheScheduleStartsOneRecoveryOfAList(t *testing.T) {
	t.Parallel()
	db := open(t)
	schedule := func() (id string, isNew bool) {
		r := operation.RecoveryMark{Provider: "acme"}.Due(noon)
		isNew, err := db.Recoveries.Schedule(t.Context(), r)
		require.NoError(t, err)
		return r.ID, isNew
	}
	first, isNew := schedule()
	require.True(t, isNew)
	r, err := db.Recoveries.Read(t.Context(), first)
	require.NoError(t, err)
	require.True(t, r.Whole)
	require.Equal(t, operation.RecoverySchedule, r.StartedBy)
	require.Zero(t, value[int](db, `SELECT count(*) FROM audit_log`))
	_, err = db.Recoveries.Change(t.Context(), first, operation.Paused, ada)
	require.NoError(t, err)
	_, isNew = schedule()
	require.False(t, isNew, "an operator has paused it")

	db.exec(`UPDATE recoveries SET state = 'completed', ended_at = started_at, started_at = started_at - interval '3 hours'`)
	second, isNew := schedule()
	require.True(t, isNew)
	require.Equal(t, second, value[string](db, `SELECT string_agg(id, ' ') FROM recoveries`), "the first has found nothing")
	db.exec(`UPDATE recoveries SET state = 'completed', ended_at = started_at, missed = 1, started_at = started_at - interval '3 hours'`)
	schedule()
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM recoveries`))
}

// A recovery that an operator starts as paused stops the schedule of its list until it is resumed and has ended.
func TestAPausedRecoveryStopsTheScheduleOfItsList(t *testing.T) {
	t.Parallel()
	db := open(t)
	wanted := operation.Recovery{Base: operation.Base{ID: "held", Rate: 20, State: operation.Paused}, Provider: "acme"}
	r, err := db.Recoveries.Create(t.Context(), wanted, ada)
	require.NoError(t, err)
	require.Equal(t, operation.Paused, r.State)
	require.JSONEq(t, `true`, value[string](db, `SELECT detail ->> 'paused' FROM audit_log WHERE action = 'recovery.start'`))
	schedule := func(provider string) bool {
		isNew, err := db.Recoveries.Schedule(t.Context(), operation.RecoveryMark{Provider: provider}.Due(noon))
		require.NoError(t, err)
		return isNew
	}
	require.False(t, schedule("acme"))
	require.True(t, schedule("other"))
	r, err = db.Recoveries.Change(t.Context(), "held", operation.Running, ada)
	require.NoError(t, err)
	require.Equal(t, operation.Running, r.State)
	_, err = db.Recoveries.Change(t.Context(), "held", operation.Canceled, ada)
	require.NoError(t, err)
	require.True(t, schedule("acme"))
}

// A recovery that has read everything in the list says so.
func TestAWholeRecoveryIsRemembered(t *testing.T) {
	t.Parallel()
	db := open(t)
	for _, whole := range []bool{false, true} {
		r := operation.RecoveryMark{Provider: "acme"}.Due(noon)
		r.Whole = whole
		_, err := db.Recoveries.Schedule(t.Context(), r)
		require.NoError(t, err)
		_, err = db.Recoveries.Mark(t.Context(), "acme", "", windows(0))
		require.NoError(t, err)
		_, err = db.Recoveries.Begin(t.Context(), r.ID, operation.RecoveryWindow{Since: noon.Add(-time.Hour), Until: noon}, nil)
		require.NoError(t, err)
		_, err = db.Recoveries.Finish(t.Context(), r.ID)
		require.NoError(t, err)
		all, err := db.Recoveries.Marks(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, whole, !all[0].WalkedAt.IsZero())
	}
}

// One recovery of a list works at a time; it can be paused by a problem, resumed and canceled, and then nothing is left of it.
func TestOneRecoveryOfAListWorksAtATime(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.recovery("r1")
	db.recovery("r2", func(r *operation.Recovery) { r.Target = "acct_1" })
	_, err := db.Recoveries.Create(t.Context(), operation.Recovery{Base: operation.Base{ID: "r3", Rate: 1}, Provider: "acme"}, ada)
	require.Equal(t, "recovery_runs", event.CodeOf(err))

	items := make([]operation.RecoveryItem, 30)
	for i := range items {
		items[i] = missing(fmt.Sprint("k", i), -i)
	}
	r = db.addPage(r, operation.RecoveryPage{Listed: 30, Items: items, Next: json.RawMessage(`{"page":2}`)})
	require.Len(t, r.Examples, operation.MaxExamples)
	r, err = db.Recoveries.Fail(t.Context(), "r1", "429", noon)
	require.NoError(t, err)
	require.Equal(t, operation.Running, r.State)
	require.Equal(t, noon.UTC(), r.RetryAt)
	r = db.addPage(r, operation.RecoveryPage{Listed: 1, Next: json.RawMessage(`{"page":3}`)})
	require.Zero(t, r.RetryAt)
	r, err = db.Recoveries.Fail(t.Context(), "r1", "set ACME_API_KEY", time.Time{})
	require.NoError(t, err)
	require.Equal(t, operation.Paused, r.State)
	require.Equal(t, "set ACME_API_KEY", r.Problem)
	require.Equal(t, r, db.addPage(r, operation.RecoveryPage{Listed: 1}), "a paused one reads nothing")
	r, err = db.Recoveries.Change(t.Context(), "r1", operation.Running, ada)
	require.NoError(t, err)
	r = db.addPage(r, operation.RecoveryPage{Listed: 1})
	require.Empty(t, r.Problem)
	require.NoError(t, db.Recoveries.Cancel(t.Context(), "r1"))
	require.Zero(t, value[int](db, `SELECT count(*) FROM recovery_items`))
	_, err = db.Recoveries.Create(t.Context(), operation.Recovery{Base: operation.Base{ID: "r4", Rate: 1}, Provider: "acme"}, ada)
	require.NoError(t, err)
}

// A recovered event that isn't to be delivered creates no delivery; any other one does.
func TestRecoveredEventsAreDeliveredUnlessTheRecoverySaysNo(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.subscribe("all", delivery.Events{})
	for _, undelivered := range []bool{true, false} {
		r := receipt()
		r.Via, r.Undelivered = event.ViaRecover, undelivered
		before := value[int](db, `SELECT count(*) FROM delivery_queue`) + value[int](db, `SELECT count(*) FROM delivery_fanouts`)
		db.process(r, parsed(patch("1", `{}`)))
		after := value[int](db, `SELECT count(*) FROM delivery_queue`) + value[int](db, `SELECT count(*) FROM delivery_fanouts`)
		require.Equal(t, undelivered, after == before)
	}
}

// refuse counts requests that were refused at a minute.
func (d *database) refuse(provider string, at time.Time, n int) {
	d.t.Helper()
	for range 2 { // two processes
		c := d.Minutes.NewRefusedCounter()
		for range n / 2 {
			c.Count(provider, at, false)
		}
		require.NoError(d.t, c.Stop(d.t.Context()))
	}
}

// Processes add up what they have refused. Old counts are purged, but not since when there are any.
func TestRefusedRequestsAreCountedByMinute(t *testing.T) {
	t.Parallel()
	db := open(t)
	now := time.Now()
	db.refuse("acme", now, 4)
	db.refuse("acme", now.Add(-150*24*time.Hour), 2)
	require.Equal(t, []int{3, 6}, []int{
		value[int](db, `SELECT count(*) FROM refused_minutes`), value[int](db, `SELECT sum(requests) FROM refused_minutes`),
	})
	for removed := int64(1); removed > 0; {
		var err error
		removed, err = db.Upkeep.PurgeBatch(t.Context(), retention.Keys, now)
		require.NoError(t, err)
	}
	require.Equal(t, []int{2, 4}, []int{
		value[int](db, `SELECT count(*) FROM refused_minutes`), value[int](db, `SELECT sum(requests) FROM refused_minutes`),
	})
}

// A recovery says when the missed events happened, and how many requests of the provider were refused from then on. Of a time in
// which requests weren't counted it says nothing.
func TestARecoverySaysWhetherEventsWereRefused(t *testing.T) {
	t.Parallel()
	db := open(t)
	find := func(id string) operation.Recovery {
		r := db.recovery(id, func(r *operation.Recovery) { r.DryRun = true })
		r = db.addPage(r, operation.RecoveryPage{Listed: 1, Items: []operation.RecoveryItem{missing("b", -10)}, Next: json.RawMessage(`2`)})
		db.addPage(r, operation.RecoveryPage{Listed: 2, Items: []operation.RecoveryItem{missing("a", -40), missing("c", -20)}})
		r, err := db.Recoveries.Finish(t.Context(), id)
		require.NoError(t, err)
		return r
	}
	r := find("uncounted")
	require.Equal(t, noon.Add(-40*time.Minute), r.FirstMissed)
	require.Equal(t, noon.Add(-10*time.Minute), r.LastMissed)
	require.Nil(t, r.Refused, "requests are counted since the migration")
	db.exec(`UPDATE refused_minutes SET minute = $1`, noon.Add(-time.Hour))
	require.Zero(t, *find("none").Refused)
	db.refuse("acme", noon.Add(-50*time.Minute), 8)
	db.refuse("other", noon.Add(-30*time.Minute), 8)
	require.Zero(t, *find("none since").Refused)
	db.refuse("acme", noon.Add(-40*time.Minute), 2)
	db.refuse("acme", noon.Add(-5*time.Minute), 2)
	require.EqualValues(t, 4, *find("some").Refused)
}

// Operators see which lists have gaps, and which of them are blocked.
func TestTheHealthOfLists(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.recovery("missed")
	db.addPage(r, operation.RecoveryPage{Listed: 1, Items: []operation.RecoveryItem{missing("a", -10)}})
	db.recovery("blocked", func(r *operation.Recovery) { r.Target = "one" })
	_, err := db.Recoveries.Fail(t.Context(), "blocked", "set ACME_API_KEY", time.Time{})
	require.NoError(t, err)
	for name, cut := range map[string]operation.RecoveryCut{"reach": operation.CutReach, "none": ""} {
		_, err := db.Recoveries.Create(t.Context(), operation.Recovery{Base: operation.Base{ID: name, Rate: 1}, Provider: name}, ada)
		require.NoError(t, err)
		_, err = db.Recoveries.Mark(t.Context(), name, "", windows(0))
		require.NoError(t, err)
		window := operation.RecoveryWindow{Since: noon, Until: noon.Add(time.Hour), Cut: cut, Wanted: noon.Add(-5 * time.Hour)}
		_, err = db.Recoveries.Begin(t.Context(), name, window, nil)
		require.NoError(t, err)
		_, err = db.Recoveries.Finish(t.Context(), name)
		require.NoError(t, err)
	}
	all, err := db.Recoveries.Health(t.Context())
	require.NoError(t, err)
	gaps := map[string]string{}
	for _, h := range all {
		name := h.Provider + h.Target
		for _, gap := range h.Gaps {
			gaps[name] += gap.ID
		}
		if h.Blocked != nil {
			gaps[name] += h.Blocked.Problem
		}
	}
	require.Equal(t, map[string]string{"acme": "missed", "acmeone": "set ACME_API_KEY", "reach": "reach"}, gaps)
	require.Equal(t, 5*time.Hour, all[3].Gaps[0].Unknown())
	require.Equal(t, noon.Add(time.Hour), all[3].CompleteUntil())
	require.Equal(t, all[0].SwitchedOn, all[0].CompleteUntil(), "no recovery has ended")
}

// attempt makes an item of a log of deliveries.
func attempt(key string, minutes int, isDelivered bool) operation.RecoveryItem {
	item := missing(key, minutes)
	item.Body, item.Path, item.Redeliverable, item.IsDelivered = nil, "/deliveries/"+fmt.Sprint(-minutes)+"/attempts", true, isDelivered
	return item
}

// A delivery is missed if no attempt of it has succeeded: later attempts come first, on earlier pages.
func TestADeliveryIsMissedIfNoAttemptSucceeded(t *testing.T) {
	t.Parallel()
	db := open(t)
	r := db.addPage(db.recovery("r1"), operation.RecoveryPage{
		Listed: 4, Next: json.RawMessage(`{"page":2}`), Items: []operation.RecoveryItem{
			attempt("again", -1, true), attempt("failed", -2, false), attempt("both", -3, false), attempt("both", -4, true),
		},
	})
	r = db.addPage(r, operation.RecoveryPage{Listed: 3, Items: []operation.RecoveryItem{
		attempt("again", -5, false), attempt("failed", -6, false), attempt("never", -7, false),
	}})
	require.Equal(t, []int64{7, 3, 2, 2}, []int64{r.Listed, r.Known, r.Missed, r.Redeliverable})
	items, err := db.Recoveries.Next(t.Context(), "r1", 10)
	require.NoError(t, err)
	require.Len(t, items, 2)
	require.Equal(t, []string{"never /deliveries/7/attempts", "failed /deliveries/2/attempts"}, []string{
		items[0].Receipt.Key + " " + items[0].Path, items[1].Receipt.Key + " " + items[1].Path,
	}, "the last attempt is repeated")
	require.True(t, items[0].Redeliverable)

	became := operation.RecoveryStart{Asked: 2, Left: map[string]bool{"acme:never": true, "acme:failed": true}}
	for range 2 { // the second call stands for a process that was killed
		r, err = db.Recoveries.Settle(t.Context(), "r1", items, became)
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, r.Asked)
	r, err = db.Recoveries.Finish(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, operation.Completed, r.State)
	require.Zero(t, value[int](db, `SELECT count(*) FROM recovery_items`))
}

// The schedule reports an event once that a recovery couldn't start itself, and has it sent again once. An operator's recovery
// does both each time.
func TestTheScheduleAsksOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	run := func(mayRedeliver, isScheduled bool) (missed int64) {
		id := operation.NewID()
		if isScheduled {
			isNew, err := db.Recoveries.Schedule(t.Context(), operation.Recovery{Base: operation.Base{ID: id, Rate: 1}, Provider: "acme"})
			require.NoError(t, err)
			require.True(t, isNew)
			w := operation.RecoveryWindow{Since: noon.Add(-time.Hour), Until: noon}
			_, err = db.Recoveries.Begin(t.Context(), id, w, json.RawMessage(`{"page":1}`))
			require.NoError(t, err)
		} else {
			db.recovery(id)
		}
		r, err := db.Recoveries.Read(t.Context(), id)
		require.NoError(t, err)
		r = db.addPage(r, operation.RecoveryPage{
			Listed: 1, Items: []operation.RecoveryItem{attempt("a", -1, false)}, Redelivers: mayRedeliver,
		})
		items, err := db.Recoveries.Next(t.Context(), id, 10)
		require.NoError(t, err)
		_, err = db.Recoveries.Settle(t.Context(), id, items, operation.RecoveryStart{Left: map[string]bool{"acme:a": mayRedeliver}})
		require.NoError(t, err)
		_, err = db.Recoveries.Finish(t.Context(), id)
		require.NoError(t, err)
		return r.Missed
	}
	require.EqualValues(t, 1, run(false, true), "it is reported")
	require.Zero(t, run(false, true), "and not again")
	require.EqualValues(t, 1, run(true, true), "it is asked for")
	require.Zero(t, run(true, true), "and not again")
	require.Zero(t, run(false, true))
	require.EqualValues(t, 1, run(true, false), "an operator asks again")
	db.exec(`UPDATE recovery_remainders SET at = at - interval '101 days'`)
	require.EqualValues(t, 1, run(true, true), "which is longer than any log")
}

// The schedule's own problem ends with the next event, and a failed event's problem stays.
func TestATemporaryProblemEnds(t *testing.T) {
	t.Parallel()
	db := open(t)
	db.addPage(db.recovery("r1"), operation.RecoveryPage{Items: []operation.RecoveryItem{attempt("a", -2, false), attempt("b", -1, false)}})
	_, err := db.Recoveries.Fail(t.Context(), "r1", "the provider failed", noon)
	require.NoError(t, err)
	items, err := db.Recoveries.Next(t.Context(), "r1", 2)
	require.NoError(t, err)
	r, err := db.Recoveries.Settle(t.Context(), "r1", items[:1], operation.RecoveryStart{Asked: 1})
	require.NoError(t, err)
	require.Empty(t, r.Problem)
	require.True(t, r.RetryAt.IsZero())
	r, err = db.Recoveries.Settle(t.Context(), "r1", items[1:], operation.RecoveryStart{Failed: 1, Problem: "acme:b: 404"})
	require.NoError(t, err)
	require.Equal(t, "acme:b: 404", r.Problem)
}
