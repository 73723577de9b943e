package background

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// healing fakes stores that differ: real ones would need a failover.
type healing struct {
	RunReader
	ReplayStore
	HealStore

	restored map[string]int64 // by code
	batched  []operation.BatchedEvent
	gone     map[string]bool
	open     int64

	created []operation.ReplayFilter
	audited []oversight.AuditEntry
}

func (h *healing) BatchedEvents(context.Context, operation.SweepPage) ([]operation.BatchedEvent, []byte, error) {
	return h.batched, nil, nil
}

func (h *healing) Gone(context.Context, []string) (map[string]bool, error) { return h.gone, nil }

func (h *healing) HoldOpen(context.Context, operation.AutomaticReplay, time.Time) (int64, error) {
	return h.open, nil
}

func (h *healing) Plan(_ context.Context, f operation.ReplayFilter) (operation.ReplayPlan, error) {
	return operation.ReplayPlan{Count: h.restored[f.Code]}, nil
}

func (h *healing) Create(_ context.Context, r operation.Replay, _ oversight.Actor) (operation.Replay, error) {
	h.created = append(h.created, r.Filter)
	return r, nil
}

func (h *healing) Audit(_ context.Context, e oversight.AuditEntry) error {
	h.audited = append(h.audited, e)
	return nil
}

func (h *healing) heal(t *testing.T, o HealOrder) (operation.Healed, *sink) {
	t.Helper()
	log := &sink{}
	o.Setback.NoticedAt = time.Now()
	healed, err := (&Activities{
		Runs: h, Replays: h, Healing: h, Audit: h, Errors: log, RestoreRate: 1,
		Automatic: func() operation.AutomaticReplay { return operation.AutomaticReplay{} },
	}).Heal(t.Context(), o)
	require.NoError(t, err)
	return healed, log
}

// Another server has taken over, and nothing is missing:
//   - nothing is replayed or held, there is no alert, and the audit log has no entry
func TestAPlannedSwitchoverIsSilent(t *testing.T) {
	t.Parallel()
	h := &healing{open: 5}
	healed, log := h.heal(t, HealOrder{First: true})
	require.Zero(t, healed)
	require.Empty(t, h.created)
	require.Empty(t, h.audited)
	require.Empty(t, log.entries)
}

// No sweep has left a mark, and events are missing:
//   - they are replayed and reported; no dead letter is held, since nothing says that a decision is lost
func TestTheFirstSweepOnlyRestores(t *testing.T) {
	t.Parallel()
	h := &healing{restored: map[string]int64{operation.CodeLost: 20}, open: 5}
	healed, log := h.heal(t, HealOrder{First: true, Setback: operation.Setback{Unmarked: true}})
	require.Equal(t, operation.Healed{Again: 20}, healed)
	require.Len(t, h.created, 1)
	require.Len(t, h.audited, 1)
	require.Len(t, log.entries, 1)
}

// The database was set back:
//   - what was lost is replayed, open dead letters are held, lost events of the bulk lane are named
//   - one audit entry and one alert report it
func TestAFailoverIsReported(t *testing.T) {
	t.Parallel()
	h := &healing{
		restored: map[string]int64{operation.CodeLost: 20, operation.CodeNoRun: 9}, open: 5,
		batched: []operation.BatchedEvent{{WorkflowID: "acme:1", EventID: "one"}, {WorkflowID: "acme:2", EventID: "two"}},
		gone:    map[string]bool{"two": true},
	}
	healed, log := h.heal(t, HealOrder{
		Setback: operation.Setback{Store: operation.StorePostgreSQL}, Healed: operation.Healed{Again: 19, Waiting: 2}, First: true,
	})
	want := operation.Healed{Again: 20, Waiting: 2, Held: 5, Bulk: 1, BulkKeys: []string{"acme:2"}}
	require.Equal(t, want, healed)
	require.Equal(t, []operation.ReplayFilter{{Step: event.StepRun, Code: operation.CodeLost}}, h.created)
	require.Len(t, h.audited, 1)
	require.Equal(t, oversight.AuditReconcile, h.audited[0].Action)
	var detail struct {
		Store operation.Store `json:"store"`
		Again int             `json:"again"`
	}
	require.NoError(t, json.Unmarshal(h.audited[0].Detail, &detail))
	require.Equal(t, operation.StorePostgreSQL, detail.Store)
	require.Equal(t, 20, detail.Again)
	require.Len(t, log.entries, 1)
	require.True(t, log.entries[0].Alert)
	require.Contains(t, log.entries[0].Message, "20 events restored")
}

// Temporal was set back: events whose runs are gone run again, and no decision can be lost.
func TestRunsThatTemporalLostAreStartedAgain(t *testing.T) {
	t.Parallel()
	h := &healing{restored: map[string]int64{operation.CodeNoRun: 3}, open: 5}
	healed, log := h.heal(t, HealOrder{Setback: operation.Setback{Store: operation.StoreTemporal}, First: true})
	require.Equal(t, operation.Healed{Again: 3}, healed)
	require.Equal(t, operation.CodeNoRun, h.created[0].Code)
	require.Len(t, h.audited, 1)
	require.Len(t, log.entries, 1)
}

// The sweeps after the one that noticed a setback report only what they find.
func TestLaterSweepsReportOnlyNewFindings(t *testing.T) {
	t.Parallel()
	h := &healing{restored: map[string]int64{operation.CodeLost: 1}, open: 5}
	healed, log := h.heal(t, HealOrder{Setback: operation.Setback{Store: operation.StorePostgreSQL}})
	require.Zero(t, healed)
	require.Empty(t, h.audited)
	require.Empty(t, log.entries)
	healed, log = h.heal(t, HealOrder{
		Setback: operation.Setback{Store: operation.StorePostgreSQL}, Healed: operation.Healed{Again: 1},
	})
	require.Equal(t, operation.Healed{Again: 1}, healed)
	require.Len(t, h.audited, 1)
	require.Len(t, log.entries, 1)
}
