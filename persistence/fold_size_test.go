package persistence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/persistence"
)

// A patch that comes a little late costs as much as it is late, however long the life of its entity is.
func TestALateChangeReadsAsMuchAsItIsLate(t *testing.T) {
	t.Skip("known not to hold, see docs/reliability.md: an entity of patches folds its whole life again for each late one")
	t.Parallel()
	const links = 20_000
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	first := receiptAt(noon.Add(-48 * time.Hour))
	db.process(first, parsed(patch("tenant", `{"n":0}`)))
	db.exec(`
INSERT INTO event_entities (event_id, provider, kind, external_id, position, op, change, occurred_at)
SELECT lpad(to_hex(i), 32, '0')::uuid, 'acme', 'thing', 'tenant', 1, 'patch', '{"n":1}', $2::timestamptz + i * interval '1 ms'
  FROM generate_series(1, $1::integer) AS i`, links, noon.Add(-24*time.Hour))
	db.exec(`ANALYZE`)
	newest := receiptAt(noon)
	db.process(newest, parsed(patch("tenant", `{"n":2}`)))

	late := parsed(patch("tenant", `{"late":true}`))
	late.OccurredAt = noon.Add(-time.Millisecond)
	db.process(receiptAt(noon), late)
	read := blocksRead(t, seen.planOf(t, db, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) ",
		func(sql string) bool { return strings.Contains(sql, "JOIN event_entities AS l") }))
	require.Less(t, read, 500, "there are 20,000 changes, and it is later than one")
	db.requireStates(map[string]string{"tenant": `{"n":2,"late":true}`})
}
