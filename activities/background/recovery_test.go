package background

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"holdfast/event"
	"holdfast/event/operation"
)

// recoveryIn is a store with one recovery, its list, and a Temporal, in memory.
type recoveryIn struct {
	RecoveryStore
	RunStarter

	row      operation.Recovery
	pages    []operation.RecoveryPage
	fails    *operation.ListError
	asked    int // how often that failed
	staged   []operation.RecoveryItem
	starts   []string
	startErr map[string]error
	known    string // the key of an event that has arrived meanwhile
	waits    string // the key of an event that waits in Temporal
	kept     map[string][]byte

	mayRedeliver bool
	requestErr   map[string]error
	posts        []string
	left         map[string]bool

	marks     []operation.RecoveryMark
	unended   map[string]bool // the lists of which a recovery has not ended
	scheduled []operation.Recovery
	woken     []string
}

func (s *recoveryIn) Marks(context.Context) ([]operation.RecoveryMark, error) { return s.marks, nil }

func (s *recoveryIn) Schedule(_ context.Context, r operation.Recovery) (bool, error) {
	if s.unended[r.Provider] {
		return false, nil
	}
	s.scheduled = append(s.scheduled, r)
	return true, nil
}

func (s *recoveryIn) Wake(_ context.Context, _ operation.Kind, id string) error {
	s.woken = append(s.woken, id)
	return nil
}

func (s *recoveryIn) Available() []string { return []string{"acme", "paused", "fresh", "targeted"} }

// The schedule starts a recovery of each list that it can read, also of targets that were recovered before, and leaves those
// alone that an operator or a problem has paused. The list that is furthest behind comes first.
func TestTheScheduleStartsDueReplays(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return time.Now().Add(-time.Duration(hours) * time.Hour) }
	s := &recoveryIn{unended: map[string]bool{"paused": true}, marks: []operation.RecoveryMark{
		{Provider: "acme", Watermark: at(1), WalkedAt: at(5)}, {Provider: "acme", Target: "one", Watermark: at(3), WalkedAt: at(30)},
		{Provider: "acme", Target: "never read"}, {Provider: "paused", Watermark: at(9)},
		{Provider: "targeted", Watermark: at(9)}, {Provider: "targeted", Target: "board", Watermark: at(2)}, {Provider: "no credential", Watermark: at(9)},
	}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	all := &Activities{Recoveries: s, Lists: lists{s}, Starter: s}
	env.RegisterActivity(all.RecoverDue)
	encoded, err := env.ExecuteActivity(all.RecoverDue)
	require.NoError(t, err)
	var ids, started []string
	require.NoError(t, encoded.Get(&ids))
	for _, r := range s.scheduled {
		started = append(started, fmt.Sprint(r.Provider, " ", r.Target, " ", r.Whole))
	}
	require.Equal(t, []string{"fresh  true", "acme one true", "targeted board true", "acme  false"}, started)
	require.Equal(t, s.woken, ids)
	require.Len(t, ids, 4, "a list that needs a target is read only with one")
}

func (s *recoveryIn) Read(context.Context, string) (operation.Recovery, error) { return s.row, nil }

func (s *recoveryIn) Mark(context.Context, string, string, operation.DedupeWindows) (operation.RecoveryMark, error) {
	return operation.RecoveryMark{SwitchedOn: time.Now().Add(-time.Hour)}, nil
}

func (s *recoveryIn) Begin(
	_ context.Context, _ string, w operation.RecoveryWindow, walk json.RawMessage,
) (operation.Recovery, error) {
	s.row.Since, s.row.Until, s.row.Cut, s.row.Walk = w.Since, w.Until, w.Cut, walk
	return s.row, nil
}

func (s *recoveryIn) AddPage(_ context.Context, _ operation.Recovery, p operation.RecoveryPage) (operation.Recovery, error) {
	for _, item := range p.Items {
		if p.Waiting[item.Receipt.WorkflowID()] {
			s.row.Known++
			continue
		}
		s.staged, s.row.Missed = append(s.staged, item), s.row.Missed+1
	}
	s.row.Walk = p.Next
	return s.row, nil
}

func (s *recoveryIn) Unknown(_ context.Context, _ operation.Recovery, p operation.RecoveryPage) (ids []string, err error) {
	for _, item := range p.Items {
		ids = append(ids, item.Receipt.WorkflowID())
	}
	return ids, nil
}

func (s *recoveryIn) LatestRun(_ context.Context, workflowID string) (operation.LatestRun, error) {
	return operation.LatestRun{Open: s.waits != "" && workflowID == event.WorkflowID("acme", s.waits)}, nil
}

func (s *recoveryIn) Fail(_ context.Context, _, problem string, retryAt time.Time) (operation.Recovery, error) {
	s.asked++
	if s.row.Problem, s.row.RetryAt = problem, retryAt; retryAt.IsZero() {
		s.row.State = operation.Paused
	}
	return s.row, nil
}

func (s *recoveryIn) Next(_ context.Context, _ string, n int) ([]operation.RecoveryItem, error) {
	slices.SortFunc(s.staged, func(a, b operation.RecoveryItem) int { return a.At.Compare(b.At) })
	return s.staged[:min(n, len(s.staged))], nil
}

func (s *recoveryIn) Settle(
	_ context.Context, _ string, items []operation.RecoveryItem, became operation.RecoveryStart,
) (operation.Recovery, error) {
	s.staged = s.staged[len(items):]
	s.row.Recovered, s.row.Arrived, s.row.Failed = s.row.Recovered+became.Recovered, s.row.Arrived+became.Arrived, s.row.Failed+became.Failed
	s.row.Asked += became.Asked
	if s.left == nil {
		s.left = map[string]bool{}
	}
	maps.Copy(s.left, became.Left)
	if became.Problem != "" {
		s.row.Problem = became.Problem
	}
	return s.row, nil
}

func (s *recoveryIn) Finish(context.Context, string) (operation.Recovery, error) {
	s.row.State = operation.Completed
	return s.row, nil
}

func (s *recoveryIn) Recover(_ context.Context, r event.Receipt, body []byte) (bool, error) {
	if err := s.startErr[r.Key]; err != nil {
		return false, err
	}
	if r.Large != nil {
		body = fmt.Appendf(body, " large %t", r.Large.Is(s.kept[r.ID]))
	}
	s.starts = append(s.starts, r.Key+string(body))
	return r.Key != s.known, nil
}

func (s *recoveryIn) KeepLarge(_ context.Context, r event.Receipt, body []byte, _ bool, _ time.Duration) (bool, error) {
	if s.kept[r.ID] != nil {
		return false, nil
	}
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.kept[r.ID] = body
	return true, nil
}

func (s *recoveryIn) Spool(_ context.Context, lane event.Lane, r event.Receipt, _ []byte, _ bool) (bool, error) {
	s.starts = append(s.starts, string(lane)+" "+r.Key)
	return true, nil
}

func (s *recoveryIn) Describe(provider string) (operation.EventList, error) {
	if provider == "without" {
		return operation.EventList{}, event.Rejectf("no_list", "without has no list")
	}
	return operation.EventList{Reach: 24 * time.Hour, Overlap: time.Hour, NeedsTarget: provider == "targeted"}, nil
}

// lists has Begin of EventLists, a name that the store has as well.
type lists struct{ *recoveryIn }

func (lists) Begin(string, string, time.Time, time.Time) (json.RawMessage, error) {
	return json.RawMessage(`1`), nil
}

func (l lists) Page(context.Context, operation.Recovery) (operation.RecoveryPage, error) {
	if l.fails != nil {
		return operation.RecoveryPage{}, l.fails
	}
	page := l.pages[0]
	l.pages = l.pages[1:]
	return page, nil
}

func (s *recoveryIn) Complete(
	_ context.Context, _ operation.Recovery, item operation.RecoveryItem,
) (operation.RecoveryItem, error) {
	if err := s.requestErr[item.Receipt.Key]; err != nil {
		return item, err
	}
	item.Body = []byte("from " + item.Path)
	return item, nil
}

func (s *recoveryIn) Redeliver(_ context.Context, _ operation.Recovery, item operation.RecoveryItem) (bool, error) {
	if !s.mayRedeliver {
		return false, nil
	}
	if err := s.requestErr[item.Receipt.Key]; err != nil {
		return false, err
	}
	s.posts = append(s.posts, item.Path)
	return true, nil
}

func (s *recoveryIn) run(t *testing.T) (r operation.Recovery, err error) {
	t.Helper()
	s.row.State, s.row.Rate, s.row.ID = operation.Running, 1000, "one"
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	all := &Activities{Recoveries: s, Lists: lists{s}, Starter: s, Inbox: s}
	env.RegisterActivity(all.RecoveryPage)
	encoded, err := env.ExecuteActivity(all.RecoveryPage, "one")
	if err != nil {
		return r, err
	}
	err = encoded.Get(&r)
	return r, err
}

func listed(key string, minutes int) operation.RecoveryItem {
	return operation.RecoveryItem{
		Receipt: event.Receipt{Provider: "acme", Key: key}, At: time.Date(2026, 5, 4, 12, minutes, 0, 0, time.UTC),
	}
}

// twoPages are the pages of a list that is newest first.
func twoPages() []operation.RecoveryPage {
	bulk := listed("b", 2)
	bulk.Lane = event.LaneBulk
	return []operation.RecoveryPage{
		{Items: []operation.RecoveryItem{listed("d", 4), listed("c", 3)}, Next: json.RawMessage(`2`)},
		{Items: []operation.RecoveryItem{bulk, listed("a", 1)}},
	}
}

// An accepted event whose run is open isn't in the database yet. It has arrived: it isn't reported, nor started again.
func TestAnEventThatWaitsInTemporalHasArrived(t *testing.T) {
	t.Parallel()
	s := &recoveryIn{pages: twoPages(), waits: "c"}
	s.row.DryRun = true
	r, err := s.run(t)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 3}, []int64{r.Known, r.Missed})
}

// Temporal can't hold a large event: its body is committed to the inbox, and the run gets only the receipt. Such an event never
// enters the bulk lane. If the inbox has its body already, from an attempt that was killed, the drain starts it.
func TestARecoveryKeepsLargeBodies(t *testing.T) {
	t.Parallel()
	items := twoPages()
	all := slices.Concat(items[0].Items, items[1].Items)
	for i := range all {
		all[i].Receipt.ID, all[i].Body = all[i].Receipt.Key, []byte{'{', '}'}
		if key := all[i].Receipt.Key; key != "a" {
			all[i].Body = bytes.Repeat([]byte(key), event.MaxInline+1)
		}
	}
	s := &recoveryIn{
		pages: []operation.RecoveryPage{{Items: all}}, known: "d", kept: map[string][]byte{"c": []byte("of the killed attempt")},
	}
	r, err := s.run(t)
	require.NoError(t, err)
	require.Equal(t, []string{"a{}", "b large true", "d large true"}, s.starts)
	require.Equal(t, "of the killed attempt", string(s.kept["c"]))
	require.Equal(t, []int64{3, 1, 0}, []int64{r.Recovered, r.Arrived, r.Failed})
}

// The list is read to its end before anything is started, oldest first. An event that has arrived meanwhile isn't counted as
// recovered, and one that can't be started is reported and doesn't block the others.
func TestARecoveryStartsTheOldestFirst(t *testing.T) {
	t.Parallel()
	s := &recoveryIn{
		pages: twoPages(), known: "a", startErr: map[string]error{"c": event.Rejectf("not_started", "too large")},
	}
	r, err := s.run(t)
	require.NoError(t, err)
	require.Equal(t, operation.Completed, r.State)
	require.Equal(t, []string{"a", "bulk b", "d"}, s.starts)
	require.Equal(t, []int64{4, 2, 1, 1}, []int64{r.Missed, r.Recovered, r.Arrived, r.Failed})
	require.Equal(t, "acme:c: not_started: too large", r.Problem)
}

// A dry run starts nothing.
func TestADryRunOfARecoveryStartsNothing(t *testing.T) {
	t.Parallel()
	s := &recoveryIn{pages: twoPages()}
	s.row.DryRun = true
	r, err := s.run(t)
	require.NoError(t, err)
	require.Equal(t, operation.Completed, r.State)
	require.EqualValues(t, 4, r.Missed)
	require.Empty(t, s.starts)
}

// While Temporal is down, what was started is counted, and the rest stays for the next attempt.
func TestAnOutageKeepsTheRest(t *testing.T) {
	t.Parallel()
	s := &recoveryIn{pages: twoPages(), startErr: map[string]error{"c": errors.New("no Temporal")}}
	_, err := s.run(t)
	require.ErrorContains(t, err, "no Temporal")
	require.EqualValues(t, 2, s.row.Recovered)
	require.Len(t, s.staged, 2)
	s.startErr = nil
	r, err := s.run(t)
	require.NoError(t, err)
	require.EqualValues(t, 4, r.Recovered)
	require.Equal(t, []string{"a", "bulk b", "c", "d"}, s.starts)
}

// A problem of the provider makes the recovery wait, at least half a minute; any other one pauses it.
func TestAProblemOfTheListPausesOrDelays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails    *operation.ListError
		provider string
		state    operation.State
		wait     time.Duration
	}{
		"unavailable":   {&operation.ListError{Text: "503", IsTemporary: true}, "acme", operation.Running, 30 * time.Second},
		"limited":       {&operation.ListError{Text: "429", IsTemporary: true, RetryAfter: time.Hour}, "acme", operation.Running, time.Hour},
		"no credential": {&operation.ListError{Text: "set ACME_API_KEY"}, "acme", operation.Paused, 0},
		"no list":       {nil, "without", operation.Paused, 0},
	} {
		s := &recoveryIn{fails: c.fails}
		s.row.Provider = c.provider
		r, err := s.run(t)
		require.NoError(t, err, name)
		require.Equal(t, c.state, r.State, name)
		require.NotEmpty(t, r.Problem, name)
		if c.wait == 0 {
			require.Zero(t, r.RetryAt, name)
			continue
		}
		require.WithinDuration(t, time.Now().Add(c.wait), r.RetryAt, 20*time.Second, name)
		_, err = s.run(t)
		require.NoError(t, err, name)
		require.Equal(t, 1, s.asked, "%s: the provider isn't asked again before its time, whatever ends the workflow's wait", name)
	}
}

// byProvider is an attempt that only the provider can repeat.
func byProvider(key string, minutes int) operation.RecoveryItem {
	item := listed(key, minutes)
	item.Path, item.Redeliverable = "/deliveries/"+key, true
	return item
}

// The provider is asked to send an event again only if an operator has allowed that, and never by a dry run.
func TestARedeliveryIsAskedForOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allowed, dry bool
		posts        []string
		left         map[string]bool
	}{
		{true, false, []string{"/deliveries/a", "/deliveries/b"}, map[string]bool{"acme:a": true, "acme:b": true}},
		{false, false, nil, map[string]bool{"acme:a": false, "acme:b": false}},
		{true, true, nil, nil},
	} {
		s := &recoveryIn{
			mayRedeliver: c.allowed, row: operation.Recovery{DryRun: c.dry},
			pages: []operation.RecoveryPage{{Items: []operation.RecoveryItem{byProvider("b", 2), byProvider("a", 1)}}},
		}
		r, err := s.run(t)
		require.NoError(t, err)
		require.Equal(t, operation.Completed, r.State)
		require.Equal(t, c.posts, s.posts)
		require.Equal(t, c.left, s.left)
		require.EqualValues(t, len(c.posts), r.Asked)
		require.Empty(t, s.starts)
		require.Zero(t, r.Recovered)
	}
}

// A missed event gets its body just before it starts. One that the provider no longer has fails alone.
func TestAnEventGetsItsBodyBeforeItStarts(t *testing.T) {
	t.Parallel()
	gone, whole := listed("a", 1), listed("b", 2)
	gone.Path, whole.Path = "/a", "/b"
	s := &recoveryIn{
		pages:      []operation.RecoveryPage{{Items: []operation.RecoveryItem{whole, gone}}},
		requestErr: map[string]error{"a": &operation.ListError{Text: "404", IsOfEvent: true}},
	}
	r, err := s.run(t)
	require.NoError(t, err)
	require.Equal(t, []string{"bfrom /b"}, s.starts)
	require.EqualValues(t, 1, r.Failed)
	require.Equal(t, "acme:a: 404", r.Problem)
	require.Equal(t, map[string]bool{"acme:a": true}, s.left)
}

// A problem of the provider makes a recovery wait, and one of the credential pauses it. What was asked for before isn't repeated.
func TestAProblemStopsRedeliveries(t *testing.T) {
	t.Parallel()
	for _, temporary := range []bool{true, false} {
		s := &recoveryIn{
			mayRedeliver: true, requestErr: map[string]error{"b": &operation.ListError{Text: "no", IsTemporary: temporary}},
			pages: []operation.RecoveryPage{{Items: []operation.RecoveryItem{byProvider("b", 2), byProvider("a", 1)}}},
		}
		r, err := s.run(t)
		require.NoError(t, err)
		require.Equal(t, []string{"/deliveries/a"}, s.posts)
		require.EqualValues(t, 1, r.Asked)
		require.Equal(t, "no", r.Problem)
		require.Equal(t, temporary, r.State == operation.Running)
		require.Equal(t, temporary, r.RetryAt.After(time.Now()))
		require.Len(t, s.staged, 1)
	}
}
