package deadletter

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
)

// Every filter is printed: a partial replay must not read like a complete one.
func TestEveryFilterIsShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "all waiting dead letters", filterText(operation.ReplayFilter{}))
	for i := range reflect.TypeFor[operation.ReplayFilter]().NumField() {
		var f operation.ReplayFilter
		field := reflect.ValueOf(&f).Elem().Field(i)
		if field.Kind() == reflect.String {
			field.SetString("this")
		} else {
			moment := reflect.ValueOf(time.Unix(1_795_000_000, 0))
			if field.Kind() == reflect.Pointer {
				pointer := reflect.New(moment.Type())
				pointer.Elem().Set(moment)
				moment = pointer
			}
			field.Set(moment)
		}
		require.NotEqual(t, "all waiting dead letters", filterText(f), reflect.TypeOf(f).Field(i).Name)
	}
}

// The progress of a replay shows when it waits for a destination.
func TestABlockedReplaySaysSo(t *testing.T) {
	t.Parallel()
	r := operation.Replay{Total: 3, InFlight: 3, BlockedBy: []string{"crm", "erp"}}
	require.Contains(t, progressLine(r), "blocked by crm, erp")
	var shown strings.Builder
	require.NoError(t, writeReplay(&shown, r))
	require.Contains(t, shown.String(), "crm, erp: breaker open, paused or disabled (holdfast destination show NAME)")
	require.NotContains(t, progressLine(operation.Replay{}), "blocked")
}

// A plan names what a corrected definition changes, and nothing if it changes nothing.
func TestAPlanNamesOtherKeys(t *testing.T) {
	t.Parallel()
	plan := operation.ReplayPlan{Count: 7, Oldest: &time.Time{}}
	shown := func() string {
		var out strings.Builder
		require.NoError(t, writePlan(&out, operation.ReplayFilter{}, plan, 1))
		return out.String()
	}
	for _, name := range []string{"other keys", "shared keys", "split"} {
		require.NotContains(t, shown(), name)
	}
	plan.CorrectedKeys, plan.SharedKeys, plan.Splits = 5, 2, 1
	for _, line := range []string{`other keys +5 by`, `shared keys +2 of these`, `split +1 which`} {
		require.Regexp(t, line, shown())
	}
	plan.AtLeast = true
	require.Regexp(t, `other keys +at least 5 by`, shown())
}
