package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

const (
	// maxNames is the maximum number of names of one entity in an event.
	maxNames = 50
	// maxNamesOfEvent is the maximum for all entities: each is a lock while the event is written.
	maxNamesOfEvent = 500
)

// names are the expressions for the names of an entity, best first. The first value is the ID.
type names []*jq.Expression

func (c *Compiler) newNames(at string, d definition.Entity) (n names) {
	at += ".id"
	if len(d.ID) == 0 {
		c.Required(at, "")
	}
	if len(d.ID) > 1 && d.KindFrom != "" {
		c.Add(at, "has several names: want kind, since all rules of a kind have the same ones")
	}
	for i, source := range d.ID {
		field := at
		if len(d.ID) > 1 {
			field = fmt.Sprintf("%s[%d]", at, i)
		}
		c.Required(field, string(source))
		n = append(n, c.Expression(field, source))
	}
	return n
}

// checkNames refuses rules of one kind with different numbers of names: a name would have two ranks.
func (c *Compiler) checkNames(all []*Rules) {
	of := map[string]int{}
	for _, r := range all {
		for i := range r.entities {
			e := &r.entities[i]
			if e.kind == "" {
				continue
			}
			if n, known := of[e.kind]; known && n != len(e.names) {
				c.Add("entities", "a rule of kind %q has %d names and another one %d", e.kind, n, len(e.names))
			}
			of[e.kind] = len(e.names)
		}
	}
}

func haveNames(rules []entityRule, kind string) bool {
	return slices.ContainsFunc(rules, func(e entityRule) bool { return e.kind == kind && len(e.names) > 1 })
}

// of returns the distinct names that an event has. If it has none, without is the best expression and its value.
func (n names) of(ctx context.Context, in jq.Input, item any, s scope) (found []event.Name, without empty, err error) {
	seen := map[string]bool{}
	for rank, x := range n {
		values, err := n.values(ctx, x, in, item)
		if err != nil {
			return nil, without, x.Failed(err)
		}
		if rank == 0 {
			without = empty{x: x}
		}
		for _, v := range values {
			name, ok := jq.Text(v)
			if !ok {
				if rank == 0 {
					without.value = v
				}
				continue
			}
			if s == scopeSource {
				name = scopedID(in.Source, name)
			}
			if name != CleanText(name, maxExternalID) {
				return nil, without, x.Reject("bad_entity_id", "the id of an entity is too long or has control characters")
			}
			if !seen[name] {
				seen[name] = true
				found = append(found, event.Name{Rank: rank, Name: name})
			}
		}
	}
	return found, without, nil
}

// values returns all values of an expression, and of a single one the first.
func (n names) values(ctx context.Context, x *jq.Expression, in jq.Input, item any) ([]any, error) {
	if len(n) > 1 {
		return x.All(ctx, in, item)
	}
	v, err := x.First(ctx, in, item)
	return []any{v}, err
}

// scopedID returns the ID of an entity within a source. It is unique for each pair, since the source contains no colon. An
// event without a source is about the provider's own entities.
func scopedID(source, id string) string {
	if source == "" {
		return id
	}
	return strings.NewReplacer("%", "%25", ":", "%3A").Replace(source) + ":" + id
}
