package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"holdfast/activities/background"
	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/workflows"
)

// A sweep heals a setback if it notices one, or if an earlier sweep did a short time ago or skipped runs:
//   - it compares all runs that ended since the surviving mark, and the latest events
//   - only what a setback of PostgreSQL affects may be decided
//   - its result has the mark that it left
func TestSweepRuns_healsASetback(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		store   operation.Store
		noticed time.Duration // ago, by an earlier sweep; 0: by this one
		skipped int
		heals   bool
		since   time.Duration // ago
	}{
		"a failover":       {store: operation.StorePostgreSQL, heals: true, since: 3*hour + 15*time.Minute},
		"another server":   {heals: true, since: 3*hour + 15*time.Minute},
		"Temporal":         {store: operation.StoreTemporal, heals: true, since: 3*hour + 15*time.Minute},
		"just noticed":     {store: operation.StorePostgreSQL, noticed: 14 * time.Minute, heals: true, since: 20 * time.Minute},
		"noticed long ago": {store: operation.StorePostgreSQL, noticed: 16 * time.Minute, since: 20 * time.Minute},
		"noticed long ago, runs unreadable": {
			store: operation.StorePostgreSQL, noticed: hour, skipped: 1, heals: true, since: 20 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := pagedOperation(t)
			now := time.Now().UTC()
			env.SetStartTime(now)
			last := workflows.SweepResult{Until: now.Add(-5 * time.Minute), Mark: operation.Mark{Counter: 6, Identity: "old"}}
			found := operation.Setback{Store: c.store, Since: now.Add(-3 * hour), NoticedAt: now}
			compared := background.MarkComparison{Seen: operation.Mark{Counter: 5, Identity: "new"}, Setback: found}
			if c.noticed > 0 {
				compared.Setback, found.NoticedAt = operation.Setback{}, now.Add(-c.noticed)
				last.Setback, last.Unswept = found, operation.Unswept{Skipped: c.skipped, SkippedSince: now.Add(-c.since)}
			}
			env.SetLastCompletionResult(last)
			decided := c.heals && c.store != operation.StoreTemporal
			env.OnActivity("CompareMarks", mock.Anything, last.Mark).Return(compared, nil).Once()
			env.OnActivity("SweepClosedRuns", mock.Anything, mock.MatchedBy(func(p operation.SweepPage) bool {
				return p.Since.Sub(now.Add(-c.since)).Abs() < time.Second && p.Restored == c.heals && p.MayBeDecided == decided &&
					p.Seen == compared.Seen
			})).Return(operation.SweptPage{DeadLetters: 3, Healed: operation.Healed{Again: 2, Waiting: 1}}, nil).Once()
			env.OnActivity("SweepUnfinished", mock.Anything, mock.MatchedBy(func(p operation.RowPage) bool {
				return (p.Before > event.FirstIDAt(now.Add(-time.Minute))) == c.heals && p.MayBeDecided == decided && p.Seen == compared.Seen
			})).Return(operation.SweptRows{DeadLetters: 1, Healed: operation.Healed{Again: 1}}, nil).Once()
			if c.heals {
				env.OnActivity("Heal", mock.Anything, mock.MatchedBy(func(o background.HealOrder) bool {
					return o.First == (c.noticed == 0) && o.Healed.Again == 3 && o.Healed.Waiting == 1 &&
						o.From.Sub(found.Since.Add(-15*time.Minute)).Abs() < time.Second
				})).Return(operation.Healed{Again: 3, Waiting: 1, Held: 4}, nil).Once()
			}
			env.OnActivity("SweepAccepted", mock.Anything).Return(0, nil)
			env.OnActivity("SweepOpenRuns", mock.Anything, mock.Anything).Return(map[string]int{}, nil)
			env.OnActivity("ReleaseReplays", mock.Anything).Return(0, nil)
			env.OnActivity("SignalReplays", mock.Anything).Return(1, nil)
			env.OnActivity("LeaveMark", mock.Anything, compared.Seen, last.Mark).
				Return(operation.Mark{Counter: 7, Identity: "new"}, nil).Once()
			env.ExecuteWorkflow(workflows.TypeSweepRuns)
			require.NoError(t, env.GetWorkflowError())
			var result workflows.SweepResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, int64(7), result.Mark.Counter)
			require.Equal(t, c.heals, !result.Setback.IsZero())
			if c.heals {
				require.Equal(t, operation.Healed{Again: 3, Waiting: 1, Held: 4}, result.Healed)
			}
			env.AssertExpectations(t)
		})
	}
}
