package chaos

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

var restoreFaults = []scenario{
	restoredToAMoment(),
	bothRestored("both_restored_database_to_earlier_moment", true),
	bothRestored("both_restored_temporal_to_earlier_moment", false),
}

// payloadKey encrypts the payloads in Temporal.
var payloadKey = "chaos:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

// Holdfast's database is restored to some seconds before it was lost, while events arrive: the rest is as in F73. Payloads in
// Temporal are encrypted.
func restoredToAMoment() scenario {
	var database archived
	return scenario{
		id: "F84", name: "database_restored_to_a_moment", buries: true,
		environ: []string{
			"HOLDFAST_INGRESS_ACK=stored", "HOLDFAST_PAYLOAD_KEYS=" + payloadKey,
			"HOLDFAST_REPLAY_AUTOMATIC=true", "HOLDFAST_REPLAY_REJECTED=true",
		},
		prepare: func(w *world) { database = archivedDatabase(w) },
		fault: func(w *world) {
			w.prepareDecisions()
			w.awaitCount(settle, 1, marked)
			database.backUp(w.t)
			w.sleep(w.some(time.Second, 3*time.Second))

			moment := database.now(w.t)
			w.sleep(w.some(3*time.Second, 6*time.Second))
			w.decide()
			had, err := w.count(processed)
			require.NoError(w.t, err)
			w.ingressTemporal.cut() // an event that only the inbox had would be lost
			w.sleep(w.some(2*time.Second, 4*time.Second))
			database.end(w.t)
			w.ingressTemporal.heal(w.t)
			w.sql = database.restore(w.t, moment)
			held, err := w.count(processed)
			require.NoError(w.t, err)
			w.decided.missing = had - held
			require.Positive(w.t, w.decided.missing, "the restored database lacks nothing")
			w.moveDatabase()
			w.awaitHealed()
		},
		after: func(w *world) {
			w.requireDecisionsKept()
			w.requireHealed()
			w.requireEncrypted()
		},
	}
}

// archivedDatabase starts a separate database server for the world, which archives its log.
func archivedDatabase(w *world) archived {
	a := archivedPostgres(w.t)
	require.NoError(w.t, prepareTemplate(w.t.Context(), a.postgres))
	w.sql = a.postgres
	return a
}

// moveDatabase links the processes to the world's database, which is another one now.
func (w *world) moveDatabase() {
	w.t.Helper()
	for _, l := range []*link{w.ingressDatabase, w.workerDatabase} {
		l.move(w.t, hostOf(w.sql.url(w.name)))
	}
}

// requireEncrypted asserts that Temporal has no payload in clear text.
func (w *world) requireEncrypted() {
	w.t.Helper()
	c := w.client()
	checked := 0
	for id := range w.load.acked {
		history := c.GetWorkflowHistory(w.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		require.True(w.t, history.HasNext())
		began, err := history.Next()
		require.NoError(w.t, err)
		input := began.GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()
		require.NotEmpty(w.t, input)
		for _, p := range input {
			require.Equal(w.t, "binary/encrypted", string(p.GetMetadata()["encoding"]))
		}
		if checked++; checked == shown {
			return
		}
	}
}

// Both databases are restored, to different moments: row by row, one of them to the earlier one. Everything is stopped meanwhile.
// Events acknowledged after both moments are lost, unless their providers send them again; what either store has is processed.
func bothRestored(name string, databaseIsEarlier bool) scenario {
	var database, memory archived
	var later time.Time
	return scenario{
		id: "F86", name: name, buries: true, environ: []string{"HOLDFAST_INGRESS_ACK=stored"},
		prepare: func(w *world) {
			database, memory = archivedDatabase(w), archivedPostgres(w.t)
			w.stack = w.withTemporal(w.t, memory.postgres)
		},
		fault: func(w *world) {
			w.awaitCount(settle, 1, marked)
			database.backUp(w.t)
			memory.backUp(w.t)
			w.sleep(w.some(time.Second, 3*time.Second))
			earlier := database.now(w.t)
			w.awaitSweeps(2)
			w.lock("entities", "EXCLUSIVE") // so that events are stored and unfinished
			w.sleep(w.some(2*time.Second, 4*time.Second))
			later = database.now(w.t)
			w.sleep(w.some(2*time.Second, 4*time.Second))

			w.each(w.nodes(), (*node).kill)
			w.temporal.kill()
			database.end(w.t)
			memory.end(w.t)
			store := "Temporal"
			if databaseIsEarlier {
				w.sql, w.memory, store = database.restore(w.t, earlier), memory.restore(w.t, later), "PostgreSQL"
			} else {
				w.sql, w.memory = database.restore(w.t, later), memory.restore(w.t, earlier)
			}
			w.moveDatabase()
			w.store.move(w.t, hostOf(w.memory.url("postgres")))
			w.temporal.start(w.t)
			w.rewind()
			w.each(w.nodes(), func(n *node) { n.launch(w.t) })
			w.awaitCount(settle, 1, healedBySweep+" AND detail->>'store' = $1", store)
		},
		after: func(w *world) {
			w.requireKept(later)
			w.receiver.requireOneID()
		},
	}
}

// awaitSweeps waits for this many sweeps to end.
func (w *world) awaitSweeps(more int) {
	w.t.Helper()
	counter, err := w.count("SELECT counter FROM sweep_marks")
	require.NoError(w.t, err)
	w.awaitCount(settle, 1, "SELECT count(*) FROM sweep_marks WHERE counter >= $1", counter+more)
}
