package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"holdfast/event"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// The limits on the changes of one event.
const (
	maxChanges    = 10_000
	maxKind       = 64
	maxExternalID = 512
	// maxStateBytes is for all states of one event.
	maxStateBytes = 4 << 20
	// maxVersion exceeds every version from a clock in nanoseconds until the year 2100.
	maxVersion = 1 << 62
)

// scope is where the ID of an entity is unique.
type scope string

const (
	// scopeUnstated means scopeProvider, as in definitions from before scopes existed.
	scopeUnstated scope = ""
	scopeProvider scope = "provider"
	scopeSource   scope = "source"
)

var kindPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// entityRule maps an event to changes of entities.
type entityRule struct {
	field    string
	types    []definition.Glob
	when     *jq.Expression
	each     *jq.Expression
	kind     string
	kindFrom *jq.Expression
	names    names
	scope    scope
	op       event.Op
	deleteOn []definition.Glob
	state    *jq.Expression
	version  *jq.Expression
	fetched  bool // applies only to a fetched state
}

func (c *Compiler) newEntities(field string, defs []definition.Entity) []entityRule {
	rules := make([]entityRule, 0, len(defs))
	for i, d := range defs {
		rules = append(rules, c.newEntity(fmt.Sprintf("%s[%d]", field, i), d))
	}
	return rules
}

func (c *Compiler) newEntity(at string, d definition.Entity) entityRule {
	e := entityRule{
		field: at, types: c.Globs(at+".types", d.Types), deleteOn: c.Globs(at+".delete_on", d.DeleteOn), fetched: d.Fetched,
	}
	switch {
	case !d.Fetched:
	case !c.Fetches:
		c.Add(at+".fetched", "the definition has no fetch")
	case c.DeletesGone && d.Version != "":
		c.Add(at+".version", "can't order the deletion of what is gone, which has no version: remove it, or use gone: keep")
	}
	e.op = event.Op(c.OneOf(at+".op", d.Op, string(event.OpPatch), string(event.OpSnapshot), string(event.OpDelete)))
	if e.kind = d.Kind; (d.Kind == "") == (d.KindFrom == "") {
		c.Add(at+".kind", "want either kind, a name, or kind_from, an expression")
	}
	if d.Kind != "" && !isKind(d.Kind) {
		c.Add(at+".kind", "%q is not a name of a kind: want letters, digits, _ . and -", d.Kind)
	}
	if e.scope = scope(d.Scope); d.Scope != "" {
		c.OneOf(at+".scope", d.Scope, string(scopeProvider), string(scopeSource))
	}
	if e.scope == scopeSource && !c.HasSource {
		c.Add(at+".scope", "the definition has no source")
	}
	if d.State == "" && e.op == event.OpSnapshot {
		c.Add(at+".state", "is missing: a snapshot replaces the state")
	}
	for field, kind := range d.Related {
		if !isKind(kind) || d.Kind == "" {
			c.Add(at+".related."+field, "want the name of a kind, in a rule that names its own")
		}
	}
	e.when = c.Expression(at+".when", d.When)
	e.each = c.Expression(at+".each", d.Each)
	e.kindFrom = c.Expression(at+".kind_from", d.KindFrom)
	e.names = c.newNames(at, d)
	e.state = c.Expression(at+".state", d.State)
	e.version = c.Expression(at+".version", d.Version)
	return e
}

func isKind(s string) bool { return len(s) <= maxKind && kindPattern.MatchString(s) }

// candidate is a change that a rule found for one entity.
type candidate struct {
	event.Change
	// omitted is the limit because of which the entity isn't changed; "" if it is.
	omitted event.OmitReason
}

// changesOf returns an event's changes to entities, the entities that it leaves out because of a limit, and the result of each
// rule. If two rules name the same entity, the first one applies.
func changesOf(
	ctx context.Context, rules []entityRule, eventType string, in jq.Input, fetched *event.Fetched,
) (changes []event.Change, omitted *event.Omitted, results []ruleResult, err error) {
	results = make([]ruleResult, len(rules))
	seen, budget, named := map[[2]string]bool{}, maxStateBytes, 0
	for i := range rules {
		if rules[i].fetched && fetched == nil {
			results[i] = ruleResult{skipped: skippedUnfetched}
			continue
		}
		rule := rules[i]
		if rule.fetched && fetched.Gone {
			rule.op, rule.state, rule.version = event.OpDelete, nil, nil
		}
		all, result, err := rule.changes(ctx, eventType, in, &budget)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, c := range all {
			if rule.fetched {
				c.At = fetched.At // the order of a fetched state
			}
			if named += len(c.Names); named > maxNamesOfEvent {
				return nil, nil, nil, event.Rejectf("too_many_names", "the event has more than %d names of entities", maxNamesOfEvent)
			}
			if rules[i].kindFrom != nil && haveNames(rules, c.Kind) {
				return nil, nil, nil, rules[i].kindFrom.Reject("bad_entity_kind",
					"the kind that it gives has several names, and a rule of its own")
			}
			id := [2]string{c.Kind, c.ExternalID}
			switch {
			case seen[id]:
			case c.omitted != "":
				omitted = omitted.Add(event.OmittedEntity{Kind: c.Kind, ExternalID: c.ExternalID, Reason: c.omitted})
				result.omitted++
			default:
				changes = append(changes, c.Change)
				result.changes++
			}
			seen[id] = true
		}
		results[i] = result
	}
	if len(changes) > maxChanges {
		return nil, nil, nil, tooManyEntities()
	}
	return changes, omitted, results, nil
}

func tooManyEntities() error {
	return event.Rejectf("too_many_entities",
		"the event changes more than %d entities: split its list with batch in the definition, or have fewer sent at once", maxChanges)
}

// changes returns the changes of one rule, and what it found. budget is the remaining space for states.
func (e *entityRule) changes(
	ctx context.Context, eventType string, in jq.Input, budget *int,
) (changes []candidate, result ruleResult, err error) {
	if len(e.types) > 0 && !definition.AnyMatch(e.types, eventType) {
		return nil, ruleResult{skipped: skippedType}, nil
	}
	if e.when != nil {
		ok, err := e.when.First(ctx, in, nil)
		if err != nil {
			return nil, result, e.when.Failed(err)
		}
		if ok == nil || ok == false {
			return nil, ruleResult{skipped: skippedWhen, empty: empty{e.when, ok}}, nil
		}
	}
	items := []any{nil}
	if e.each != nil {
		if items, err = e.each.All(ctx, in, nil); jq.IsTooMany(err) {
			return nil, result, tooManyEntities()
		} else if err != nil {
			return nil, result, e.each.Failed(err)
		}
	}
	if result.items = len(items); len(items) == 0 {
		result.empty = empty{x: e.each}
	}
	for _, item := range items {
		c, without, err := e.change(ctx, eventType, in, item, *budget)
		switch {
		case err != nil:
			return nil, result, err
		case without.x != nil:
			result.empty = without
			result.unnamed++
		default:
			changes = append(changes, c)
			*budget -= len(c.State)
		}
	}
	return changes, result, nil
}

// change returns one change, or the expression that doesn't name the entity.
func (e *entityRule) change(
	ctx context.Context, eventType string, in jq.Input, item any, budget int,
) (c candidate, without empty, err error) {
	c.Kind, c.Op = e.kind, e.op
	if definition.AnyMatch(e.deleteOn, eventType) {
		c.Op = event.OpDelete
	}
	if e.kindFrom != nil {
		v, err := e.kindFrom.First(ctx, in, item)
		if err != nil {
			return c, without, e.kindFrom.Failed(err)
		}
		if c.Kind, _ = jq.Text(v); c.Kind == "" {
			return c, empty{e.kindFrom, v}, nil
		}
	}
	all, unnamed, err := e.names.of(ctx, in, item, e.scope)
	if err != nil || len(all) == 0 {
		return c, unnamed, err
	}
	c.ExternalID = all[0].Name
	if !isKind(c.Kind) {
		return c, without, e.kindFrom.Reject("bad_entity_kind", "the kind of an entity is not a name")
	}
	if len(all) > maxNames {
		c.omitted = event.TooManyNames
		return c, without, nil
	}
	if len(e.names) > 1 {
		c.Names = all
	}
	if c.State, err = e.stateOf(ctx, in, item, budget); errors.Is(err, errStateTooLarge) {
		c.Names, c.omitted = nil, event.StateTooLarge
		return c, without, nil
	} else if err != nil {
		return c, without, err
	}
	c.Version, err = e.versionOf(ctx, in, item)
	return c, without, err
}

// errStateTooLarge reports that the states of the event exceed maxStateBytes with this one.
var errStateTooLarge = errors.New("the state is too large")

// stateOf returns a state of at most budget bytes.
func (e *entityRule) stateOf(ctx context.Context, in jq.Input, item any, budget int) (json.RawMessage, error) {
	if e.state == nil {
		return nil, nil
	}
	v, err := e.state.First(ctx, in, item)
	if err != nil {
		return nil, e.state.Failed(err)
	}
	state, ok := v.(map[string]any)
	if !ok {
		return nil, e.state.Reject("bad_state", "the state of an entity is not an object")
	}
	text, err := jq.Marshal(state, budget)
	if err != nil || len(text) > budget {
		return nil, errStateTooLarge
	}
	return text, nil
}

// versionOf returns the entity's version: a non-negative whole number, written as a number. Anything else is refused, since a
// version above every other would freeze the entity.
func (e *entityRule) versionOf(ctx context.Context, in jq.Input, item any) (*int64, error) {
	if e.version == nil {
		return nil, nil
	}
	v, err := e.version.First(ctx, in, item)
	if err != nil {
		return nil, e.version.Failed(err)
	}
	if v == nil {
		return nil, nil
	}
	_, isText := v.(string)
	s, _ := jq.Text(v)
	n, err := strconv.ParseInt(s, 10, 64)
	if isText || err != nil || n < 0 || n > maxVersion {
		return nil, e.version.Reject("bad_version", "the version of an entity is not a plausible whole number")
	}
	return &n, nil
}
