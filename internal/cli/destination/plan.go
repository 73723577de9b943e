package destination

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast/delivery"
	"holdfast/internal/cli"
)

// stored is the current state, by name.
type stored struct {
	destinations  map[string]delivery.Destination
	subscriptions map[string]delivery.Subscription
}

func storedOf(destinations []delivery.Destination, subscriptions []delivery.Subscription) stored {
	there := stored{destinations: map[string]delivery.Destination{}, subscriptions: map[string]delivery.Subscription{}}
	for _, d := range destinations {
		there.destinations[d.Name] = d
	}
	for _, s := range subscriptions {
		there.subscriptions[s.Name] = s
	}
	return there
}

// op is the operation on a destination or a subscription.
type op string

const (
	opCreate op = "create"
	opChange op = "change"
	opDelete op = "delete"
)

// change is one entry of a plan.
type change struct {
	Op   op     `json:"op"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Fields are the set or changed fields, sorted.
	Fields []fieldChange `json:"fields,omitempty"`
	// Canceled counts the waiting deliveries of a subscription to delete; after the deletion, the canceled ones.
	Canceled int64 `json:"canceled,omitempty"`
	// Warnings are likely mistakes.
	Warnings []string `json:"warnings,omitempty"`
}

// fieldChange is a field's value before and after, as JSON; nil for none.
type fieldChange struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

// plan changes the current state to the file's.
type plan struct {
	Changes []change `json:"changes"`
	// Identity counts unchanged objects.
	Same int `json:"same"`
	// Left are stored subscriptions and destinations that the file doesn't name and that stay.
	Left []string `json:"left,omitempty"`
}

const (
	kindDestination  = "destination"
	kindSubscription = "subscription"
)

// planOf compares the states. It sorts changes so that they can be made in order: a destination is created before its
// subscriptions and deleted after them.
func planOf(f file, there stored, prune bool) (p plan, err error) {
	if prune && len(f.Destinations)+len(f.Subscriptions) == 0 {
		return plan{}, errors.New("the file is empty, and --prune would delete everything: is it the right file?")
	}
	for _, name := range sorted(f.Destinations) {
		before, known := there.destinations[name]
		err := p.add(kindDestination, name, known, destinationSettings(before), destinationSettings(f.Destinations[name]))
		if err != nil {
			return p, err
		}
	}
	for _, name := range sorted(f.Subscriptions) {
		before, known := there.subscriptions[name]
		wanted := f.Subscriptions[name].Subscription
		if err := p.add(kindSubscription, name, known, subscriptionSettings(before), subscriptionSettings(wanted)); err != nil {
			return p, err
		}
	}
	addRest(&p, kindSubscription, there.subscriptions, f.Subscriptions, prune)
	addRest(&p, kindDestination, there.destinations, f.Destinations, prune)
	return p, nil
}

func destinationSettings(d delivery.Destination) any {
	d.ID, d.Version = 0, 0
	return d
}

func subscriptionSettings(s delivery.Subscription) any {
	s.ID, s.Version, s.DestinationID = 0, 0, 0
	return s
}

func (p *plan) add(kind, name string, known bool, before, wanted any) error {
	c := change{Op: opChange, Kind: kind, Name: name}
	if !known {
		c.Op, before = opCreate, struct{}{}
	}
	var err error
	if c.Fields, err = compare(before, wanted); err != nil {
		return err
	}
	if known && len(c.Fields) == 0 {
		p.Same++
		return nil
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// addRest deletes what the file doesn't name, or lists it as left.
func addRest[T, U any](p *plan, kind string, there map[string]T, named map[string]U, prune bool) {
	for _, name := range sorted(there) {
		switch {
		case isIn(named, name):
		case prune:
			p.Changes = append(p.Changes, change{Op: opDelete, Kind: kind, Name: name})
		default:
			p.Left = append(p.Left, kind+" "+name)
		}
	}
}

func isIn[T any](named map[string]T, name string) bool {
	_, ok := named[name]
	return ok
}

// compare returns the fields in which two values differ, by path.
func compare(before, after any) ([]fieldChange, error) {
	old, err := fieldsOf(before)
	if err != nil {
		return nil, err
	}
	wanted, err := fieldsOf(after)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(old)
	maps.Copy(all, wanted)
	var differ []fieldChange
	for _, field := range sorted(all) {
		if !bytes.Equal(old[field], wanted[field]) {
			differ = append(differ, fieldChange{Field: field, Old: old[field], New: wanted[field]})
		}
	}
	return differ, nil
}

// fieldsOf returns the leaves of a value as JSON, by path. A list is one leaf.
func fieldsOf(v any) (map[string]json.RawMessage, error) {
	text, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	delete(tree, "name") // a plan's entry has it
	leaves := map[string]json.RawMessage{}
	return leaves, addLeaves(leaves, "", tree)
}

func addLeaves(leaves map[string]json.RawMessage, path string, tree map[string]any) error {
	for name, v := range tree {
		field := strings.TrimPrefix(path+"."+name, ".")
		below, isMap := v.(map[string]any)
		if isMap && len(below) > 0 {
			if err := addLeaves(leaves, field, below); err != nil {
				return err
			}
			continue
		}
		if isMap {
			continue // events: {} equals no events
		}
		text, err := plainJSON(v)
		if err != nil {
			return err
		}
		leaves[field] = text
	}
	return nil
}

// plainJSON doesn't escape <, > and &, which are common in expressions.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// warn adds warnings to created and changed objects. A warning about a destination is added to its own change if it has one,
// otherwise to those of its subscriptions.
func (p *plan) warn(f file, there stored, warnings func(*delivery.Destination, *delivery.Subscription) []string) {
	shown := map[string][]string{}
	for i, c := range p.Changes {
		switch {
		case c.Op == opDelete:
		case c.Kind == kindDestination:
			d := f.Destinations[c.Name]
			p.Changes[i].Warnings = warnings(&d, nil)
			shown[c.Name] = p.Changes[i].Warnings
		default:
			s := f.Subscriptions[c.Name].Subscription
			to, ok := f.Destinations[s.To]
			if !ok {
				to = there.destinations[s.To]
			}
			isShown := func(text string) bool { return slices.Contains(shown[s.To], text) }
			p.Changes[i].Warnings = slices.DeleteFunc(warnings(&to, &s), isShown)
		}
	}
}

// hide masks header values, and secrets in place of a variable's name, because plans are printed where others read them.
func (p *plan) hide() {
	for _, c := range p.Changes {
		for i, f := range c.Fields {
			c.Fields[i].Old, c.Fields[i].New = hidden(f.Field, f.Old), hidden(f.Field, f.New)
		}
	}
}

func hidden(field string, value json.RawMessage) json.RawMessage {
	var name string
	isPasted := field == "http.secrets" && json.Unmarshal(value, &name) == nil && !delivery.IsVariable(name)
	if value == nil || !isPasted && !strings.HasPrefix(field, "http.headers.") {
		return value
	}
	return json.RawMessage(`"` + delivery.MaskedHeader + `"`)
}

func (p *plan) count(of op) (n int) {
	for _, c := range p.Changes {
		if c.Op == of {
			n++
		}
	}
	return n
}

func writePlan(w io.Writer, p plan) error {
	marks := map[op]string{opCreate: "+", opChange: "~", opDelete: "-"}
	for _, c := range p.Changes {
		fmt.Fprintln(w, cli.Printable(marks[c.Op]+" "+c.Kind+" "+c.Name)+c.cancels())
		for _, f := range c.Fields {
			value := string(f.New)
			if c.Op == opChange {
				value = leaf(f.Old) + " → " + leaf(f.New)
			}
			fmt.Fprintf(w, "    %s: %s\n", cli.Printable(f.Field), cli.Printable(value))
		}
		writeWarnings(w, "    ", c.Warnings)
	}
	const most = 10
	for _, name := range p.Left[:min(len(p.Left), most)] {
		fmt.Fprintf(w, "  %s is not in the file and stays (--prune deletes it)\n", cli.Printable(name))
	}
	if more := len(p.Left) - most; more > 0 {
		fmt.Fprintf(w, "  … and %d more\n", more)
	}
	_, err := fmt.Fprintf(w, "%d to create, %d to change, %d to delete, %d unchanged\n",
		p.count(opCreate), p.count(opChange), p.count(opDelete), p.Same)
	return err
}

// cancels describes what deleting a subscription does to its deliveries.
func (c change) cancels() string {
	if c.Canceled == 0 {
		return ""
	}
	return fmt.Sprintf(": cancels %d waiting deliveries", c.Canceled)
}

// canceled counts the waiting deliveries that the plan cancels.
func (p *plan) canceled() (n int64) {
	for _, c := range p.Changes {
		n += c.Canceled
	}
	return n
}

// leaf formats a value of a diff; "-" for none.
func leaf(v json.RawMessage) string {
	if v == nil {
		return "-"
	}
	return string(v)
}
