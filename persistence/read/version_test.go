package read_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/persistence/persistencetest"
)

// The version of an event changes with every step of it, and with nothing else.
func TestAnEventHasAVersion(t *testing.T) {
	t.Parallel()
	db := persistencetest.Open(t)
	s := db.Subscribe("crm", delivery.Events{})
	r := receipt()
	version := func() string {
		v, err := db.Read.EventVersion(t.Context(), r.ID)
		require.NoError(t, err)
		return v
	}
	last := version()
	for _, step := range []struct {
		name    string
		changes bool
		do      func()
	}{
		{"dies", true, func() { db.Record(deadLetter(r)) }},
		{"is replayed", true, func() { db.Exec(`UPDATE dead_letters SET state = 'replaying', replaying_since = now()`) }},
		{"is processed", true, func() { db.Process(r, parsed()) }},
		{"nothing", false, func() {}},
		{"another event", false, func() { db.Process(receipt(), parsed()) }},
		{"the destination is used", false, func() { db.Exec(`UPDATE destination_states SET next_at = now()`) }},
		{"its delivery fails", true, func() { db.Exec(`UPDATE delivery_queue SET attempts = 1 WHERE event_id = $1::uuid`, r.ID) }},
		{"the breaker opens", true, func() { db.Exec(`UPDATE destination_states SET breaker = 'open'`) }},
		{"it is sent again", true, func() {
			db.Exec(`INSERT INTO event_duplicates (event_id, times, first_seen, last_seen) VALUES ($1::uuid, 1, now(), now())`, r.ID)
		}},
		{"it is sent once more", true, func() { db.Exec(`UPDATE event_duplicates SET times = 2`) }},
		{"its delivery is canceled", true, func() {
			_, err := db.Outbox.CancelDelivery(t.Context(), delivery.Key{EventID: r.ID, SubscriptionID: s.ID}, persistencetest.Ada)
			require.NoError(t, err)
		}},
	} {
		step.do()
		now := version()
		require.Equal(t, step.changes, now != last, step.name)
		last = now
	}
	_, err := db.Read.EventVersion(t.Context(), uuid.NewString())
	require.NoError(t, err)
}
