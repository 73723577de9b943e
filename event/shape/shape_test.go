package shape

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// sequence adds bodies to a shape, one a minute.
type sequence struct {
	*Shape

	t     *testing.T
	added int
}

func newSequence(t *testing.T) *sequence {
	t.Helper()
	return &sequence{Shape: New("salt"), t: t}
}

// add adds an event n times, and returns the changes of all of them.
func (s *sequence) add(n int, body string) (all []FieldChange) {
	s.t.Helper()
	for range n {
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		var v any
		require.NoError(s.t, decoder.Decode(&v))
		all = append(all, s.Add(fmt.Sprintf("event-%d", s.added), start.Add(time.Duration(s.added)*time.Minute), v)...)
		s.added++
	}
	return all
}

func (s *sequence) field(path string, reads ...Read) *Field {
	for _, f := range s.Fields(reads) {
		if f.Path == path {
			return &f
		}
	}
	return nil
}

// texts returns "path: text" of changes.
func texts(all []FieldChange) (out []string) {
	for _, c := range all {
		out = append(out, c.Path+": "+c.Text())
	}
	return out
}

// The first 20 events are what later ones are compared with. Each difference is reported once, with its first event.
func TestADifferenceIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	require.Empty(t, s.add(10, `{"id": 1, "customer": "c", "note": "a b"}`))
	require.Empty(t, s.add(10, `{"id": 1, "customer": "c"}`), "a field may be missing while the shape is learned")

	require.Equal(t, []string{"extra: new field"}, texts(s.add(1, `{"id": 1, "customer": "c", "extra": true}`)))
	require.Empty(t, s.add(3, `{"id": 1, "customer": "c", "extra": true}`))

	found := s.add(2, `{"id": "one", "customer": "c"}`)
	require.Equal(t, []string{"id: string, was integer"}, texts(found))
	require.Equal(t, start.Add(24*time.Minute), found[0].Since)
	require.Equal(t, "event-24", found[0].EventID)

	require.Equal(t, []string{"customer: missing in some events"}, texts(s.add(2, `{"id": 1}`)))
	require.Empty(t, s.add(17, `{"id": 1}`))
	require.Equal(t, []string{"customer: missing in all events"}, texts(s.add(1, `{"id": 1}`)))
	require.Len(t, s.Changes, 4)
	require.Empty(t, s.add(1, `{"id": 1, "customer": "c"}`))
	require.Len(t, s.Changes, 3, "the field is there again")
}

// Null is a type of its own; an integer isn't news where numbers were.
func TestTypesOfNumbersAndNull(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(20, `{"amount": 1.5, "whole": 1234567890123456789, "name": "a"}`)
	require.Empty(t, s.add(1, `{"amount": 2, "whole": 2, "name": "a"}`))
	found := s.add(1, `{"amount": 1.5, "whole": 2.5, "name": null}`)
	require.Equal(t, []string{"name: null, was string", "whole: number, was integer"}, texts(found))
	reads := []Read{{Path: "name", Rule: "entities[0].id"}, {Path: "whole", Rule: "entities[0].version"}}
	s.Relate(reads, start)
	require.Equal(t, []string{"name: null, was string"}, texts(s.Broken()), "a number stays a number")
	require.Equal(t, []Kind{Null, String}, s.field("name").Kinds)
	require.Equal(t, []Kind{Number}, s.field("whole").Kinds)
}

// A rule needs the field that it reads and all around it, but nothing below.
func TestWhichRulesNeedAField(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(20, `{"data": {"object": {"id": "a", "x": 1}}, "lines": [{"sku": "s"}], "database": 1}`)
	s.add(1, `{"data": {"object": {"id": "a", "x": "1"}}, "lines": [{"sku": "s"}], "database": 1}`)
	s.add(1, `{"data": {"object": 7}, "lines": [{"sku": 7}], "database": 1}`)
	s.add(1, `{"data": 8, "lines": [], "database": "1"}`)
	s.Relate([]Read{
		{Path: Path([]string{"data", "object"}), Rule: "state"}, {Path: Path([]string{"data", "object", "id"}), Rule: "id"},
		{Path: ItemPath([]string{"lines"}, []string{"sku"}), Rule: "line"},
	}, start)
	by := map[string][]string{}
	for _, c := range s.Changes {
		by[c.Path] = c.ReadBy
	}
	require.Equal(t, map[string][]string{
		"data.object.x": nil, "data.object": {"state", "id"}, "data": {"state", "id"}, "lines[].sku": {"line"}, "database": nil,
	}, by)
	s.add(1, `{"data": 8, "database": "1"}`)
	s.Relate([]Read{{Path: "lines", Rule: "line", HasOther: true}, {Path: "data", Rule: "state", HasOther: true}}, start)
	require.Equal(t, []string{"data: integer, was object"}, texts(s.Broken()), "a path with an alternative may be missing")
	s.Relate(nil, start)
	require.Empty(t, s.Broken(), "the definition was corrected")
	s.Relate(nil, start.Add(keepChanges+time.Hour))
	require.Empty(t, s.Changes)
}

// What an array's items and nested objects have is counted of those, not of the events.
func TestSharesAreOfTheObjectsAround(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(10, `{"lines": [{"sku": "a"}, {"sku": "b", "gift": true}]}`)
	s.add(10, `{}`)
	read := Read{Path: "lines[].sku", Rule: "entities[0].id"}
	require.InDelta(t, 0.5, s.field("lines").Present, 0)
	require.InDelta(t, 1, s.field("lines[].sku", read).Present, 0)
	require.Equal(t, []string{read.Rule}, s.field("lines[].sku", read).ReadBy)
	require.InDelta(t, 0.5, s.field("lines[].gift").Present, 0)
}

// Up to 20 short texts that repeat are a set of values. More, or free text, isn't.
func TestANewValueOfASmallSet(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	for i := range 40 {
		s.add(1, fmt.Sprintf(`{"status": "s%d", "id": "id-%d", "note": "to you %d"}`, i%4, i, i%2))
	}
	require.Equal(t, 4, s.field("status").Values)
	require.Zero(t, s.field("id").Values)
	require.Zero(t, s.field("note").Values)
	require.Equal(t, []string{"status: new value"}, texts(s.add(2, `{"status": "void", "id": "id-x", "note": "news"}`)))
	require.Equal(t, 5, s.field("status").Values)
	for i := range 100 {
		s.add(1, fmt.Sprintf(`{"status": "t%d"}`, i%17))
	}
	require.Zero(t, s.field("status").Values)
}

// Nothing of a value is in what is stored, nor a name that may be data.
func TestNoValueIsKept(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(30, `{"status": "secret-status", "n": 424242, "by_mail": {"ada@example.com": 1}, "by_id": {"cus_9s6XKzkN": 1, "77": 2}}`)
	for i := range 11 {
		var names []string
		for j := range 11 {
			names = append(names, fmt.Sprintf(`"user-%c%c": {"name": "x"}`, 'a'+i, 'a'+j))
		}
		s.add(1, `{"users": {`+strings.Join(names, ",")+`}}`)
	}
	s.add(1, `{"status": "secret-other"}`)
	stored, err := json.Marshal(s.Shape)
	require.NoError(t, err)
	shown, err := json.Marshal([]any{s.Fields(nil), s.Schema("t")})
	require.NoError(t, err)
	for _, text := range []string{"secret", "424242", "ada@", "cus_", "77", "user-"} {
		require.NotContains(t, string(stored), `"`+text, text)
		require.NotContains(t, string(shown), text)
	}
	require.NotNil(t, s.field("users.*.name"))
	require.NotNil(t, s.field("by_mail.*"))
}

// A shape is bounded, however large, deep and numerous the bodies are.
func TestAShapeIsBounded(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	for i := range 30 {
		var fields []string
		for j := range 90 {
			fields = append(fields, fmt.Sprintf(`"f%c%c": %d`, 'a'+j/26, 'a'+j%26, j))
		}
		s.add(1, fmt.Sprintf(`{"o%c": {%s}}`, 'a'+i, strings.Join(fields, ",")))
	}
	s.add(1, strings.Repeat(`{"a":[`, 100)+`1`+strings.Repeat(`]}`, 100))
	require.True(t, s.IsFull)
	require.LessOrEqual(t, s.Nodes, maxNodes+maxDepth)
	require.Equal(t, s.Nodes, s.Root.size())
	for i := range 70 {
		s.add(25, fmt.Sprintf(`{"oa": %d}`, i))
		s.add(25, `{"oa": "text"}`)
	}
	require.Less(t, s.Events, int64(maxEvents))
	require.LessOrEqual(t, len(s.Changes), maxChanges)
}

// The schema says what was seen, and forbids nothing that wasn't.
func TestTheSchemaSaysWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(19, `{"id": "a", "n": null, "lines": [{"sku": "x"}], "map": {"1": 2.5}}`)
	require.Empty(t, s.Schema("order.paid").Required, "19 events aren't enough")
	s.add(1, `{"id": "a", "n": 1, "lines": []}`)
	text, err := json.Marshal(s.Schema("order.paid"))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "order.paid", "type": "object",
		"properties": {
			"id": {"type": "string"}, "n": {"type": ["null", "integer"]},
			"lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
			"map": {"type": "object", "additionalProperties": {"type": "number"}}
		},
		"required": ["id", "lines", "n"]
	}`, string(text))
	var again Schema
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, s.Schema("order.paid"), &again)
}

// A stored shape goes on where it ended.
func TestAStoredShapeGoesOn(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(20, `{"status": "paid", "id": 1}`)
	text, err := json.Marshal(s.Shape)
	require.NoError(t, err)
	s.Shape = nil
	require.NoError(t, json.Unmarshal(text, &s.Shape))
	require.Equal(t, []string{"id: missing in some events", "status: new value"},
		texts(s.add(1, `{"status": "open"}`)))
}

// Names that are data are in nothing that is stored or shown, however slowly an object grows, and whatever its names look like.
func TestNoNameThatIsDataIsKept(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	for i := range 150 {
		s.add(1, fmt.Sprintf(`{"id": 1, "users": {"user-%c%c": 1}, "cards": {"pm_Nff": 1, "pm_1Nv0FGQ9RKHgCVdK": 1, "pm_9s6XKz": 1}}`,
			'a'+i/26, 'a'+i%26))
	}
	text, err := json.Marshal([]any{s.Shape, s.Fields(nil), s.Schema("t")})
	require.NoError(t, err)
	require.NotContains(t, string(text), "user-")
	require.NotContains(t, string(text), "pm_")
	require.NotNil(t, s.field("users.*"))
	require.NotNil(t, s.field("cards.*"))
	require.Equal(t, s.Nodes, s.Root.size())
}

// A field that was null until now breaks nothing: rules have found nothing so far. Nor does null where a rule has another path.
func TestNullThatBreaksNothing(t *testing.T) {
	t.Parallel()
	s := newSequence(t)
	s.add(20, `{"canceled_at": null, "sent_at": 1, "at": 1}`)
	s.add(1, `{"canceled_at": 2, "sent_at": null, "at": null}`)
	s.Relate([]Read{{Path: "canceled_at", Rule: "a"}, {Path: "sent_at", Rule: "b", HasOther: true}, {Path: "at", Rule: "c"}}, start)
	require.Equal(t, []string{"at: null, was integer"}, texts(s.Broken()))
}
