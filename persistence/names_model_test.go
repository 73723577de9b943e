package persistence_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/fold"
)

// club has members with several names: each person has at most one customer, some mandates, some subscriptions. An event has at
// least one name, and so it may take long until all names of one member are joined.
type club struct {
	*lives
	// heard lists the names of one member in each event that was ever processed.
	heard [][]event.Name
}

const persons = 4

func newClub(t *testing.T, seed uint64) *club {
	c := &club{lives: newLives(t, seed)}
	c.change, c.ids, c.keeps = c.changeOfMember, nil, true
	for n := range persons {
		c.ids = append(c.ids, fmt.Sprintf("CU%d", n), fmt.Sprintf("MD%d-0", n), fmt.Sprintf("SB%d-1", n))
	}
	return c
}

// changeOfMember returns an event's change of a person. The last person has no customer.
func (c *club) changeOfMember() event.Change {
	person, names := c.random.IntN(persons), make([]string, 3)
	for names[0]+names[1]+names[2] == "" {
		if c.random.IntN(5) == 0 && person < persons-1 {
			names[0] = fmt.Sprintf("CU%d", person)
		}
		if c.random.IntN(2) == 0 {
			names[1] = fmt.Sprintf("MD%d-%d", person, c.random.IntN(3))
		}
		if c.random.IntN(2) == 0 {
			names[2] = fmt.Sprintf("SB%d-%d", person, c.random.IntN(4))
		}
	}
	thing := c.changeOfThing()
	change := member(string(thing.State), names...)
	change.Op, change.Version = thing.Op, thing.Version
	return change
}

// step runs one step, and records what the model expects after it.
func (c *club) step() {
	before := maps.Clone(c.said)
	c.lives.step()
	for id, s := range c.said {
		if was, is := before[id]; !is || !slices.EqualFunc(was.parsed.Changes, s.parsed.Changes, sameNames) {
			for _, change := range s.parsed.Changes {
				c.heard = append(c.heard, change.Names)
			}
		}
	}
	for id, s := range before {
		if _, is := c.said[id]; !is {
			c.forget(s)
		}
	}
}

func sameNames(a, b event.Change) bool { return slices.Equal(a.Names, b.Names) }

// forget drops the names of members that a discarded event has left without any.
func (c *club) forget(s stored) {
	best := c.best()
	alive := map[string]bool{}
	for id, other := range c.said {
		for i, change := range other.parsed.Changes {
			alive[best[change.Names[0].Name]] = alive[best[change.Names[0].Name]] || !c.purged[id][i]
		}
	}
	for _, change := range s.parsed.Changes {
		if of := best[change.Names[0].Name]; !alive[of] {
			c.heard = slices.DeleteFunc(c.heard, func(names []event.Name) bool { return best[names[0].Name] == of })
		}
	}
}

func (c *club) best() map[string]string { return bestNames(c.heard) }

// bestNames maps each name to the best one of its entity, by iterating until nothing changes.
func bestNames(heard [][]event.Name) map[string]string {
	best, ranks := map[string]string{}, map[string]int{}
	for _, names := range heard {
		for _, n := range names {
			best[n.Name], ranks[n.Name] = n.Name, n.Rank
		}
	}
	better := func(a, b string) bool { return ranks[a] < ranks[b] || ranks[a] == ranks[b] && a < b }
	for changed := true; changed; {
		changed = false
		for _, names := range heard {
			least := best[names[0].Name]
			for _, n := range names {
				if better(best[n.Name], least) {
					least = best[n.Name]
				}
			}
			for _, n := range names {
				if best[n.Name] != least {
					best[n.Name], changed = least, true
				}
			}
		}
	}
	return best
}

// Whatever events members have, under whichever names, in whatever order and grouping, out of order, repeated, parsed
// differently, discarded, undone: all names of a member lead to it, and it is the fold of all its events.
func TestNamesAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c := newClub(t, seed)
			for step := range 160 {
				c.step()
				if step%4 == 0 {
					c.requireModel(fmt.Sprint("step ", step))
				}
			}
			c.requireModel("the end")
		})
	}
}

func (c *club) requireModel(when string) {
	c.t.Helper()
	best := c.best()
	wanted := map[string]string{}
	for name, of := range best {
		if name != of {
			wanted[name] = of
		}
	}
	require.Equal(c.t, wanted, c.names(), when)

	entities := value[int](c.database, `SELECT count(*) FROM entities`)
	for _, of := range slices.Compact(slices.Sorted(maps.Values(best))) {
		links, mentioned := c.linksOf(best, of, time.Time{})
		if mentioned {
			entities--
		}
		got, err := c.Read.Entity(c.t.Context(), memberNamed(of))
		if err == nil && value[int](c.database, `SELECT count(links) FROM entities WHERE external_id = $1`, of) > 0 {
			c.requireTally(memberNamed(of), links, when)
		} else if err == nil {
			want, err := fold.Of(memberNamed(of), links)
			require.NoError(c.t, err)
			got.Last = want.Last
		}
		c.requireFold(memberNamed(of), links, mentioned, got, err, when+" "+of)
		at := noon.Add(time.Duration(c.random.Int64N(int64(c.clock.Sub(noon)) + 2)))
		links, mentioned = c.linksOf(best, of, at)
		got, err = c.Entities.EntityAsOf(c.t.Context(), memberNamed(of), at)
		c.requireFold(memberNamed(of), links, mentioned, got, err, when+" "+of+", as of "+at.String())
	}
	require.Zero(c.t, entities, "there are no others")
}

func (c *club) names() map[string]string {
	rows, err := c.sql.Query(c.t.Context(), `SELECT name, external_id FROM entity_names`)
	require.NoError(c.t, err)
	names, name, id := map[string]string{}, "", ""
	_, err = pgx.ForEachRow(rows, []any{&name, &id}, func() error { names[name] = id; return nil })
	require.NoError(c.t, err)
	return names
}

// linksOf returns the changes of a member in fold order, up to a time unless that is zero.
func (c *club) linksOf(best map[string]string, of string, until time.Time) (links []event.OrderedChange, mentioned bool) {
	for id, s := range c.said {
		for i, change := range s.parsed.Changes {
			if c.purged[id][i] || best[change.ExternalID] != of || !until.IsZero() && s.parsed.OccurredAt.After(until) {
				continue
			}
			if mentioned = true; !change.Mentions() {
				links = append(links, event.OrderedChange{Order: event.OrderOf(s.receipt, s.parsed, change), Change: change})
			}
		}
	}
	slices.SortStableFunc(links, func(a, b event.OrderedChange) int { return a.Order.Compare(b.Order) })
	return links, mentioned
}
