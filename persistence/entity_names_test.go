package persistence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/persistence"
	"holdfast/providers"
)

// member is a change of a club member, with the names in the event, best first; "" if a name is missing.
func member(state string, names ...string) event.Change {
	c := event.Change{Kind: "member", Op: event.OpPatch, State: json.RawMessage(state)}
	for rank, name := range names {
		if name != "" {
			c.Names = append(c.Names, event.Name{Rank: rank, Name: name})
		}
	}
	c.ExternalID = c.Names[0].Name
	return c
}

func memberNamed(name string) event.EntityRef {
	return event.EntityRef{Provider: "acme", Kind: "member", ExternalID: name}
}

// at returns an event that occurred so many seconds after noon.
func at(second int, changes ...event.Change) stored {
	p := parsed(changes...)
	p.OccurredAt = noon.Add(time.Duration(second) * time.Second)
	return stored{receipt(), p}
}

// One person with two mandates and a subscription is one member, in whatever order the events arrive:
//   - reads by any of its names return it, with the other names
//   - events under a lesser name, before the better one was known, are part of it
func TestAnEntityHasSeveralNames(t *testing.T) {
	t.Parallel()
	events := []stored{
		at(1, member(`{"status":"created","a":1}`, "", "MD1")),
		at(2, member(`{"b":1}`, "", "MD1", "SB1")),
		at(3, member(`{"status":"active"}`, "CU1", "MD1")),
		at(4, member(`{"c":1}`, "CU1", "MD2")),
		at(5, member(`{"status":"late"}`, "", "", "SB1")),
		at(6, member(`{}`, "", "MD2")),
	}
	for seed := range uint64(8) {
		order := rand.New(rand.NewPCG(seed, 3)).Perm(len(events))
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			for _, i := range order {
				db.mustProcess(events[i].receipt, events[i].parsed)
			}
			for _, name := range []string{"CU1", "MD1", "MD2", "SB1"} {
				e, err := db.Read.Entity(t.Context(), memberNamed(name))
				require.NoError(t, err, name)
				require.Equal(t, memberNamed("CU1"), e.EntityRef)
				require.Equal(t, []string{"MD1", "MD2", "SB1"}, e.Names)
				require.JSONEq(t, `{"status":"late","a":1,"b":1,"c":1}`, string(e.State))
				then, err := db.Entities.EntityAsOf(t.Context(), memberNamed(name), noon.Add(3*time.Second))
				require.NoError(t, err)
				require.JSONEq(t, `{"status":"active","a":1,"b":1}`, string(then.State))
				timeline, err := db.Read.Timeline(t.Context(), memberNamed(name))
				require.NoError(t, err)
				require.Len(t, timeline, len(events))
				list, err := db.Read.Events(t.Context(), event.RecordQuery{Entity: pointer(memberNamed(name))})
				require.NoError(t, err)
				require.Len(t, list, len(events))
			}
			require.Equal(t, 1, value[int](db, `SELECT count(*) FROM entities`))
		})
	}
}

// One person at GoCardless is one member, in whatever order events arrive:
//   - two mandates of one customer, one of them replaced, and two subscriptions are one member
//   - events that name only the subscription reach the member once an earlier or a later event names its customer
//   - the status of the member is that of the latest event of a subscription, and each mandate and subscription has its own
func TestOnePersonIsOneMember(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	gocardless, is := catalogue.Lookup("gocardless")
	require.True(t, is)
	var events []stored
	for i, e := range [][3]string{
		{"mandates", "created", `"mandate":"MD1","customer":"CU1"`},
		{"subscriptions", "created", `"subscription":"SB1","mandate":"MD1"`},
		{"subscriptions", "payment_created", `"subscription":"SB1","payment":"PM1"`},
		{"billing_requests", "fulfilled", `"billing_request":"BRQ1","mandate_request_mandate":"MD2","customer":"CU1"`},
		{"mandates", "replaced", `"mandate":"MD2","new_mandate":"MD3"`},
		{"mandates", "active", `"mandate":"MD3"`},
		{"subscriptions", "created", `"subscription":"SB2","mandate":"MD3"`},
		{"subscriptions", "cancelled", `"subscription":"SB2"`},
		{"mandates", "created", `"mandate":"MD9","customer":"CU9"`},
	} {
		r := receipt()
		r.Provider, r.Root = "gocardless", []byte(`{}`)
		p, err := gocardless.Parse(r, fmt.Appendf(nil, `{"id":"EV%d","created_at":%q,"resource_type":%q,"action":%q,"links":{%s}}`,
			i, noon.Add(time.Duration(i)*time.Second).Format(time.RFC3339), e[0], e[1], e[2]))
		require.NoError(t, err)
		events = append(events, stored{r, p})
	}
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			db := open(t)
			for _, i := range rand.New(rand.NewPCG(seed, 4)).Perm(len(events)) {
				db.mustProcess(events[i].receipt, events[i].parsed)
			}
			require.Equal(t, 2, value[int](db, `SELECT count(*) FROM entities WHERE kind = 'member'`))
			for _, name := range []string{"CU1", "MD1", "MD2", "MD3", "SB1", "SB2"} {
				e, err := db.Read.Entity(t.Context(), event.EntityRef{Provider: "gocardless", Kind: "member", ExternalID: name})
				require.NoError(t, err)
				require.Equal(t, "CU1", e.ExternalID)
				require.Equal(t, []string{"MD1", "MD2", "MD3", "SB1", "SB2"}, e.Names)
				require.JSONEq(t, `{"status":"cancelled","customer":"CU1",
					"mandates":{"MD1":{"status":"created"},"MD2":{"status":"replaced"},"MD3":{"status":"active"}},
					"subscriptions":{"SB1":{"status":"created"},"SB2":{"status":"cancelled"}}}`, string(e.State))
				timeline, err := db.Read.Timeline(t.Context(), e.EntityRef)
				require.NoError(t, err)
				require.Len(t, timeline, len(events)-1)
			}
		})
	}
}

// Two best names are never one entity: the first mapping stays, and each event goes to its own best name.
func TestAContradictionOfNamesHarmsNothing(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i, change := range []event.Change{
		member(`{"a":1}`, "CU1", "MD1"), member(`{"b":1}`, "CU2", "MD1"), member(`{"c":1}`, "", "MD1"),
		member(`{"d":1}`, "CU2", "", "SB1"), member(`{"e":1}`, "", "MD1", "SB1"), member(`{"f":1}`, "", "", "SB1"),
	} {
		e := at(i, change)
		db.mustProcess(e.receipt, e.parsed)
	}
	for name, state := range map[string]string{"CU1": `{"a":1,"c":1,"e":1}`, "CU2": `{"b":1,"d":1,"f":1}`} {
		e, err := db.Read.Entity(t.Context(), memberNamed(name))
		require.NoError(t, err)
		require.JSONEq(t, state, string(e.State))
	}
	require.Equal(t, 2, value[int](db, `SELECT count(*) FROM entities`))
}

// An event is parsed before its kind had names, and written after: the entity that it creates under a lesser name is merged by
// the next event that has the name.
func TestAnEntityUnderALesserNameIsMergedLater(t *testing.T) {
	t.Parallel()
	db := open(t)
	old := at(1, event.Change{Kind: "member", ExternalID: "MD1", Op: event.OpPatch, State: json.RawMessage(`{"old":1}`)})
	for i, s := range []stored{at(2, member(`{"a":1}`, "CU1", "MD1")), old, at(0, member(`{"b":1}`, "", "MD1"))} {
		db.mustProcess(s.receipt, s.parsed)
		require.Equal(t, 1+i%2, value[int](db, `SELECT count(*) FROM entities`))
	}
	e, err := db.Read.Entity(t.Context(), memberNamed("MD1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1,"b":1,"old":1}`, string(e.State))
	require.Equal(t, "CU1", e.ExternalID)
}

// Events without names cost nothing extra: none of their statements reads names.
func TestOnlyNamesReadNames(t *testing.T) {
	t.Parallel()
	seen := &statements{}
	db := open(t, func(c *persistence.Config) { c.Tracer = seen })
	about := func(run func()) (n int) {
		seen.forget()
		run()
		seen.mu.Lock()
		defer seen.mu.Unlock()
		for _, one := range seen.sent {
			n += min(strings.Count(one.sql, "entity_names"), 1)
		}
		return n
	}
	require.Zero(t, about(func() { db.mustProcess(receipt(), parsed(patch("1", `{"a":1}`))) }))
	require.Equal(t, 2, about(func() { db.mustProcess(receipt(), parsed(member(`{"a":1}`, "CU1"))) }))
}

// A merge moves the links of an event while a transaction that has read them waits for the entity: parsing the event again, or
// undoing it, follows the links to their new place.
func TestLinksThatMoveMeanwhileAreFollowed(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]func(*database, stored) error{
		"parsed anew": func(db *database, s stored) error {
			return db.UpsertEntities(db.t.Context(), s.receipt, parsed(patch("1", `{"x":1}`)), runOf(s.receipt))
		},
		"expunged": func(db *database, s stored) error {
			_, err := db.Upkeep.Expunge(db.t.Context(), s.receipt.ID, 0, ada)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, func(c *persistence.Config) { c.LockTimeout = time.Hour })
			first, second := at(1, member(`{"a":1}`, "", "MD1")), at(2, member(`{"b":1}`, "", "MD1"))
			db.mustProcess(first.receipt, first.parsed)
			db.mustProcess(second.receipt, second.parsed)
			merge, err := db.sql.Begin(t.Context())
			require.NoError(t, err)
			for _, sql := range []string{
				`UPDATE entities SET external_id = 'CU1' WHERE external_id = 'MD1'`,
				`UPDATE event_entities SET external_id = 'CU1' WHERE external_id = 'MD1'`,
				`INSERT INTO entity_names VALUES ('acme', 'member', 'MD1', 'CU1', 0)`,
			} {
				_, err := merge.Exec(t.Context(), sql)
				require.NoError(t, err)
			}
			var waits errgroup.Group
			waits.Go(func() error { return undo(db, first) })
			other := connect(t, db.url)
			require.Eventually(t, func() bool {
				var n int
				require.NoError(t, other.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
				  WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n))
				return n > 0
			}, time.Minute, 10*time.Millisecond)
			require.NoError(t, merge.Commit(t.Context()))
			require.NoError(t, waits.Wait())
			e, err := db.Read.Entity(t.Context(), memberNamed("MD1"))
			require.NoError(t, err)
			require.Equal(t, memberNamed("CU1"), e.EntityRef)
			require.JSONEq(t, `{"b":1}`, string(e.State))
		})
	}
}

// An entity whose history is collapsed can't be merged, since no link rebuilds its base: it stays unchanged, and new changes
// under its name go to the better one.
func TestCollapsedEntitiesAreNotMerged(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	b.CheckpointEvery(2)
	for i := range 3 {
		e := at(i, member(fmt.Sprintf(`{"a":%d}`, i), "", "MD1"))
		e.receipt = receiptAt(noon.Add(-time.Hour))
		b.mustProcess(e.receipt, e.parsed)
	}
	require.EqualValues(t, 3, b.purge(retention.Events, noon))
	require.Equal(t, 1, value[int](b.database, `SELECT count(*) FROM entity_bases`))

	b.process(b.sent(202), at(4, member(`{"b":1}`, "CU1", "MD1")).parsed)
	b.process(b.sent(202), at(5, member(`{"c":1}`, "", "MD1")).parsed)
	e, err := b.Read.Entity(t.Context(), memberNamed("MD1"))
	require.NoError(t, err)
	require.Equal(t, memberNamed("CU1"), e.EntityRef)
	require.JSONEq(t, `{"b":1,"c":1}`, string(e.State))
	require.JSONEq(t, `{"a":2}`, value[string](b.database, `SELECT state::text FROM entities WHERE external_id = 'MD1'`))
	b.finds(broken{})
}

// A change that moves into an entity from before its base has no effect; one from after it has.
func TestAMergeIntoWhatIsCollapsed(t *testing.T) {
	t.Parallel()
	b := newBookkeeper(t)
	b.CheckpointEvery(2)
	for i := range 3 {
		e := at(i, member(fmt.Sprintf(`{"a":%d}`, i), "CU1"))
		e.receipt = receiptAt(noon.Add(-time.Hour))
		b.mustProcess(e.receipt, e.parsed)
	}
	require.EqualValues(t, 3, b.purge(retention.Events, noon))
	b.process(b.sent(202), at(1, member(`{"early":1}`, "", "MD1")).parsed)
	b.process(b.sent(202), at(7, member(`{"after":1}`, "", "MD1")).parsed)
	b.process(b.sent(202), at(8, member(`{"b":1}`, "CU1", "MD1")).parsed)
	e, err := b.Read.Entity(t.Context(), memberNamed("MD1"))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":2,"after":1,"b":1}`, string(e.State))
	require.Equal(t, 1, value[int](b.database, `SELECT count(*) FROM entities`))
	b.finds(broken{})
}

// A rebuild resolves names: an unchanged parse is not counted as different.
func TestARebuildKnowsNames(t *testing.T) {
	t.Parallel()
	db := open(t)
	today := definition{}
	for i, c := range []event.Change{
		member(`{"a":1}`, "", "MD1"), member(`{"b":1}`, "CU1", "MD1"), member(`{"c":1}`, "", "", "SB1"), member(`{"d":1}`, "", "MD1", "SB1"),
	} {
		e := at(i, c)
		db.mustProcess(e.receipt, e.parsed)
		today[e.receipt.ID] = func() (event.Parsed, error) { return e.parsed, nil }
	}
	before := db.everything()
	dry := db.rebuild("dry", operation.RebuildFilter{}, true, 3, today.parse)
	require.Equal(t, "read 4 changed 0 unreadable 0 skipped 0 entities 0", counts(dry))
	done := db.rebuild("real", operation.RebuildFilter{}, false, 3, today.parse)
	require.Equal(t, "read 4 changed 0 unreadable 0 skipped 0 entities 0", counts(done))
	require.Equal(t, before, db.everything())
}
