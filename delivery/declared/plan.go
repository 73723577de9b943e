package declared

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"holdfast/delivery"
)

// Op is the operation on a destination or a subscription.
type Op string

// The operations.
const (
	Create Op = "create"
	Edit   Op = "change"
	Delete Op = "delete"
)

// The kinds of objects.
const (
	KindDestination  = "destination"
	KindSubscription = "subscription"
	KindEventType    = "event type"
)

// Change is one entry of a plan.
type Change struct {
	Op   Op     `json:"op"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Fields are the set or changed fields, sorted.
	Fields []FieldChange `json:"fields,omitempty"`
	// Canceled counts the waiting deliveries of a subscription to delete, which are canceled with it.
	Canceled int64 `json:"canceled,omitempty"`
	// Warnings are likely mistakes.
	Warnings []string `json:"warnings,omitempty"`
}

// FieldChange is a field's value before and after, as JSON; nil for none.
type FieldChange struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

// Plan changes the stored state to the declared one.
type Plan struct {
	Changes []Change `json:"changes"`
	// Same counts unchanged objects.
	Same int `json:"same"`
	// Left are stored subscriptions and destinations that aren't declared and stay.
	Left []string `json:"left,omitempty"`
}

// ErrNothingDeclared refuses to delete everything, as for an empty file.
var ErrNothingDeclared = errors.New("nothing is declared, and prune would delete everything")

// PlanOf compares the states. It sorts changes so that they can be made in order: a destination is created before its
// subscriptions and deleted after them. With prune, it deletes what isn't declared.
func PlanOf(wanted, stored State, prune bool) (p Plan, err error) {
	p.Changes = []Change{}
	if prune && len(wanted.Destinations)+len(wanted.Subscriptions) == 0 {
		return p, ErrNothingDeclared
	}
	for _, name := range sorted(wanted.Destinations) {
		before, known := stored.Destinations[name]
		after := destinationOf(wanted.Destinations[name])
		if err := p.addSettings(KindDestination, name, known, destinationOf(before), after); err != nil {
			return p, err
		}
	}
	for _, name := range sorted(wanted.Subscriptions) {
		before, known := stored.Subscriptions[name]
		after := wanted.Subscriptions[name].Subscription
		if err := p.addSettings(KindSubscription, name, known, subscriptionOf(before.Subscription), subscriptionOf(after)); err != nil {
			return p, err
		}
	}
	addRest(&p, KindSubscription, stored.Subscriptions, wanted.Subscriptions, prune)
	addRest(&p, KindDestination, stored.Destinations, wanted.Destinations, prune)
	return p, nil
}

// addSettings adds the change from settings to wanted ones; before is ignored if they aren't known.
func (p *Plan) addSettings(kind, name string, known bool, before, wanted any) error {
	if !known {
		before = struct{}{}
	}
	old, err := fieldsOf(before)
	if err != nil {
		return err
	}
	fields, err := fieldsOf(wanted)
	if err != nil {
		return err
	}
	p.add(kind, name, known, old, fields)
	return nil
}

func (p *Plan) add(kind, name string, known bool, before, wanted map[string]json.RawMessage) {
	c := Change{Op: Edit, Kind: kind, Name: name, Fields: compare(before, wanted)}
	if !known {
		c.Op = Create
	}
	if known && len(c.Fields) == 0 {
		p.Same++
		return
	}
	p.Changes = append(p.Changes, c)
}

// addRest deletes what isn't declared, or lists it as left.
func addRest[T any](p *Plan, kind string, stored, declared map[string]T, prune bool) {
	for _, name := range sorted(stored) {
		_, isDeclared := declared[name]
		switch {
		case isDeclared:
		case prune:
			p.Changes = append(p.Changes, Change{Op: Delete, Kind: kind, Name: name})
		default:
			p.Left = append(p.Left, kind+" "+name)
		}
	}
}

// Warn adds warnings to created and changed objects. A warning about a destination is added to its own change if it has one,
// otherwise to those of its subscriptions.
func (p *Plan) Warn(wanted, stored State, warnings func(*delivery.Destination, *delivery.Subscription) []string) {
	shown := map[string][]string{}
	for i, c := range p.Changes {
		switch {
		case c.Op == Delete:
		case c.Kind == KindDestination:
			d := wanted.Destinations[c.Name]
			p.Changes[i].Warnings = warnings(&d, nil)
			shown[c.Name] = p.Changes[i].Warnings
		default:
			s := wanted.Subscriptions[c.Name]
			to, _ := wanted.target(s, stored)
			isShown := func(text string) bool { return slices.Contains(shown[s.To], text) }
			p.Changes[i].Warnings = slices.DeleteFunc(warnings(&to, &s.Subscription), isShown)
		}
	}
}

// Hide masks header values, keys, and secrets in place of a variable's name, because plans are printed where others read them.
func (p *Plan) Hide() {
	for _, c := range p.Changes {
		for i, f := range c.Fields {
			c.Fields[i].Old, c.Fields[i].New = hidden(f.Field, f.Old), hidden(f.Field, f.New)
		}
	}
}

func hidden(field string, value json.RawMessage) json.RawMessage {
	var name string
	isText := json.Unmarshal(value, &name) == nil
	isPasted := strings.HasSuffix(field, ".secrets") && isText && !delivery.IsVariable(name)
	isKey := strings.HasSuffix(field, ".key") && isText && delivery.IsPEM(name)
	if value == nil || !isPasted && !isKey && !strings.HasPrefix(field, "http.headers.") {
		return value
	}
	return json.RawMessage(`"` + delivery.MaskedHeader + `"`)
}

// Deleted returns the names of what is deleted of a kind, in order.
func (p *Plan) Deleted(kind string) (names []string) {
	for _, c := range p.Changes {
		if c.Op == Delete && c.Kind == kind {
			names = append(names, c.Name)
		}
	}
	return names
}

// Count returns how many changes have an operation.
func (p *Plan) Count(of Op) (n int) {
	for _, c := range p.Changes {
		if c.Op == of {
			n++
		}
	}
	return n
}

// Canceled counts the waiting deliveries that the plan cancels.
func (p *Plan) Canceled() (n int64) {
	for _, c := range p.Changes {
		n += c.Canceled
	}
	return n
}

// compare returns the fields that differ, by path.
func compare(before, after map[string]json.RawMessage) (differ []FieldChange) {
	all := map[string]bool{}
	for name := range before {
		all[name] = true
	}
	for name := range after {
		all[name] = true
	}
	for _, field := range sorted(all) {
		if !bytes.Equal(before[field], after[field]) {
			differ = append(differ, FieldChange{Field: field, Old: before[field], New: after[field]})
		}
	}
	return differ
}
