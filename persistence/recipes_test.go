package persistence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/moving"
	"holdfast/providers"
)

// readRecipe runs the query of an old system on tables as it expects them, which stand in a schema of their own, and reads what it
// writes.
func (m *mover) readRecipe(name string, lookup func(string) (*providers.Provider, bool)) (lines []moving.Line) {
	m.t.Helper()
	tables, err := os.ReadFile(filepath.Join("testdata", "moving", name+".sql"))
	require.NoError(m.t, err)
	query, err := os.ReadFile(filepath.Join("..", "docs", "moving", name+".sql"))
	require.NoError(m.t, err)
	m.exec(`CREATE SCHEMA old`)
	m.exec(`SET search_path = old`)
	for statement := range strings.SplitSeq(string(tables), ";\n") {
		if strings.TrimSpace(statement) != "" {
			m.exec(statement)
		}
	}
	rows, err := m.sql.Query(m.t.Context(), strings.TrimSuffix(strings.TrimSpace(string(query)), ";"))
	require.NoError(m.t, err)
	written, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(m.t, err)
	m.exec(`RESET search_path`)
	r := moving.Reader{Lookup: lookup}
	require.NoError(m.t, r.Each(strings.NewReader(strings.Join(written, "\n")), func(l moving.Line) error {
		require.Empty(m.t, l.Mistakes)
		lines = append(lines, l)
		return nil
	}))
	return lines
}

// Each old system has a query that writes what it has as an import reads it: what it brings is counted here, nothing of it fails, and
// once more it changes nothing. Those whose tables stand in e2e/moving are tested there, with all that follows.
func TestTheRecipesOfTheOldSystems(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	recipes, err := filepath.Glob("../docs/moving/*.sql")
	require.NoError(t, err)
	want := map[string]string{
		"voice": "key 2 event 2 dead_letter 1", "membership": "event 1 dead_letter 2 entity 2",
	}
	for _, recipe := range recipes {
		name := strings.TrimSuffix(filepath.Base(recipe), ".sql")
		if want[name] == "" {
			require.FileExists(t, filepath.Join("..", "e2e", "moving", "testdata", name+".sql"))
		}
	}
	for name, counted := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMover(open(t), 10)
			counts := map[operation.ImportRecord]int{}
			var items []operation.ImportItem
			for _, l := range m.readRecipe(name, catalogue.Lookup) {
				counts[l.Record]++
				items = append(items, l.Items...)
			}
			require.Equal(t, counted, countText(counts))
			first := m.finishWith(m.stage(items...), providers.Parser(catalogue.Lookup))
			require.Zero(t, first.Counts.Sum().Failed, first.Problems)
			require.Zero(t, first.Counts.Sum().Unreadable)
			before := m.everything()
			require.Zero(t, m.finishWith(m.stage(items...), providers.Parser(catalogue.Lookup)).Counts.Sum().New)
			require.Equal(t, before, m.everything())
		})
	}
}

func countText(counts map[operation.ImportRecord]int) string {
	var all []string
	for _, record := range moving.Records() {
		if n := counts[record]; n > 0 {
			all = append(all, fmt.Sprintf("%s %d", record, n))
		}
	}
	return strings.Join(all, " ")
}

// A member was made before the move, under a customer. An event that names the mandate alone reaches it.
func TestAnImportedEntityIsKnownByItsNames(t *testing.T) {
	t.Parallel()
	m := newMover(open(t), 10)
	item := m.snapshot("CU1", `{"status":"active"}`, noon)
	item.Entity.Names = []event.Name{{Rank: 1, Name: "MD1"}, {Rank: 2, Name: "SB1"}}
	m.bring(item)
	before := m.everything()
	m.bring(item)
	require.Equal(t, before, m.everything())
	r := receipt()
	p := parsed(event.Change{
		Kind: "thing", ExternalID: "SB1", Op: event.OpPatch, State: []byte(`{"paid":true}`), Names: []event.Name{{Rank: 2, Name: "SB1"}},
	})
	p.OccurredAt = noon.Add(1)
	m.mustProcess(r, p)
	require.JSONEq(t, `{"status":"active","paid":true}`, m.stateOf(thing("CU1")))
}
