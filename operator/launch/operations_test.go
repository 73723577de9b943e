package launch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
	"holdfast/operator/launch"
)

// table stands in for the store and for Temporal.
type table struct {
	launch.Store[operation.Import]

	created      operation.Import
	failed, away error
	woken        []string
}

func (t *table) Create(_ context.Context, wanted operation.Import, _ oversight.Actor) (operation.Import, error) {
	t.created = wanted
	return wanted, t.failed
}

func (t *table) Change(_ context.Context, id string, to operation.State, _ oversight.Actor) (operation.Import, error) {
	return operation.Import{Base: operation.Base{ID: id, State: to}}, t.failed
}

func (t *table) Wake(_ context.Context, kind operation.Kind, id string) error {
	t.woken = append(t.woken, string(kind)+" "+id)
	return t.away
}

// The row counts: an operation that is stored is returned even if its workflow could not be woken, and nothing is woken for one
// that is not stored.
func TestAnOperationThatIsStoredIsWoken(t *testing.T) {
	t.Parallel()
	failed, away := errors.New("no database"), errors.New("no Temporal")
	ada := oversight.Actor{Name: "ada"}
	for name, c := range map[string]struct {
		failed, away, err error
		id                string
		woken             []string
	}{
		"well":          {nil, nil, nil, "7", []string{"import 7", "import 7"}},
		"not woken":     {nil, away, away, "7", []string{"import 7", "import 7"}},
		"not stored":    {failed, nil, failed, "", nil},
		"neither works": {failed, away, failed, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &table{failed: c.failed, away: c.away}
			imports := launch.NewImports(in, in)
			started, err := imports.Start(t.Context(), operation.Import{Base: operation.Base{ID: "7", Rate: 1}}, ada)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.id, started.ID)
			changed, err := imports.Change(t.Context(), "7", operation.Paused, ada)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.id, changed.ID)
			require.Equal(t, c.woken, in.woken)
		})
	}
}

func TestAnOperationHasARateOfItsKind(t *testing.T) {
	t.Parallel()
	in := &table{}
	for _, rate := range []float64{0, -1, 10_001} {
		_, err := launch.NewImports(in, in).Start(t.Context(), operation.Import{Base: operation.New(rate)}, oversight.Actor{})
		require.Equal(t, "invalid_rate", event.CodeOf(err))
		require.ErrorContains(t, err, "the rate of an import must be 0.01 to 10000 lines a second")
	}
	for _, kind := range operation.Kinds() {
		require.NoError(t, kind.CheckRate(kind.Rates().Default), kind)
		require.Error(t, kind.CheckRate(kind.Rates().Max+1), kind)
	}
	require.Zero(t, in.created)
}
