package archive_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/operator/importer"
)

// A line that no archive holds is refused where it is read, or named by the import, which goes on with the others.
func TestForgedLinesHoldUpNothing(t *testing.T) {
	store, bucket := open(t), buckets(t)["folder"]
	for n := range 2 {
		letter := died(t, store, receiptAt(n), bodyOf(n))
		require.NoError(t, store.DeadLetters.DiscardDeadLetter(t.Context(), letter.ID, by))
	}
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: bucket}
	require.EqualValues(t, 2, purge(t, archiver, retention.DeadLetters))
	process(t, store, receiptAt(3), bodyOf(3))
	require.EqualValues(t, 1, purge(t, archiver, retention.Events))
	genuine := strings.Split(strings.TrimSpace(content(t, bucket)), "\n")
	letter, stored := genuine[0], genuine[2]

	const isMistake, isNamed = "mistake", "named"
	for name, forge := range map[string]struct {
		line, field string
		value       any
		becomes     string
	}{
		"attempts beyond int4":    {letter, "stored.failure.attempts", 1e11, isMistake},
		"failures beyond int4":    {letter, "stored.failures", 1e11, isMistake},
		"replays beyond int4":     {letter, "stored.auto_attempts", 1e11, isMistake},
		"attempts below 0":        {letter, "stored.failure.attempts", -7, isMistake},
		"received in the future":  {letter, "stored.receipt.received_at", "9999-01-01T00:00:00Z", isMistake},
		"event of the future":     {stored, "stored.receipt.received_at", "9999-01-01T00:00:00Z", isMistake},
		"a status of its own":     {stored, "stored.status", "received", isMistake},
		"an ID that is no time's": {stored, "stored.receipt.id", "00000000-0000-4000-8000-000000000000", isMistake},
		"an ID of the future":     {stored, "stored.receipt.id", "ffffffff-ffff-7fff-8fff-ffffffffffff", isMistake},
		"replaced by no event":    {letter, "stored.replaced_by", "'; DROP TABLE events", isNamed},
		"no step":                 {letter, "stored.failure.step", "\x00", isNamed},
		"a run of NUL":            {stored, "stored.run.run_id", "\x00", isNamed},
	} {
		t.Run(name, func(t *testing.T) {
			var of map[string]any
			require.NoError(t, json.Unmarshal([]byte(forge.line), &of))
			path, in := strings.Split(forge.field, "."), of
			for _, part := range path[:len(path)-1] {
				in = in[part].(map[string]any)
			}
			in[path[len(path)-1]] = forge.value
			forged, err := json.Marshal(of)
			require.NoError(t, err)
			var items []operation.ImportItem
			reader := importer.Reader{Lookup: catalogue(t).Lookup, Format: importer.FormatJSON}
			mistakes := 0
			require.NoError(t, reader.Each(strings.NewReader(string(forged)+"\n"+genuine[1]+"\n"), func(l importer.Line) error {
				items = append(items, l.Items...)
				mistakes += len(l.Problems)
				return nil
			}))
			fresh := open(t)
			id := operation.NewID()
			require.NoError(t, fresh.Imports.StageImport(t.Context(), id, true, items))
			_, err = fresh.Imports.Create(t.Context(), operation.Import{Base: operation.Base{ID: id, Rate: 50}, Name: "forged"}, by)
			require.NoError(t, err)
			var done operation.Import
			for done.State != operation.Completed {
				done, err = fresh.Imports.Page(t.Context(), id, 100, parse)
				require.NoError(t, err)
			}
			require.Equal(t, forge.becomes == isMistake, mistakes == 1)
			require.Equal(t, forge.becomes == isNamed, len(done.Problems) == 1)
			require.EqualValues(t, 1, done.Counts.Sum().New, "the genuine line is taken")
		})
	}
}
