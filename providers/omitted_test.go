package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

// A state that exceeds 4 MiB, alone or with those before it, is left out, and so is an entity with too many names. Other entities of
// the event are changed, and a later rule doesn't change what an earlier one left out.
func TestEntitiesBeyondALimitAreOmitted(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, minimal+`
entities:
  - {kind: doc, each: ".body.docs[]", id: $item.id, op: snapshot, state: "{text: $item.text}"}
  - {kind: doc, each: ".body.docs[]", id: $item.id, op: patch, state: "{again: true}"}
  - {kind: person, each: ".body.people[]?", id: ["$item.id", "$item.cards[]?"]}
`)
	for name, c := range map[string]struct {
		docs    []sized
		people  string
		changed string
		omitted *event.Omitted
	}{
		"fits":                 {docs: []sized{{"a", 4<<20 - 11}}, changed: "doc a"},
		"one byte more":        {docs: []sized{{"a", 4<<20 - 10}}, omitted: omitted("doc a state_too_large")},
		"between small ones":   {docs: []sized{{"a", 9}, {"b", 24 << 20}, {"c", 9}}, changed: "doc a, doc c", omitted: omitted("doc b state_too_large")},
		"large together":       {docs: []sized{{"a", 3 << 20}, {"b", 3 << 20}, {"c", 1 << 19}}, changed: "doc a, doc c", omitted: omitted("doc b state_too_large")},
		"the same twice":       {docs: []sized{{"a", 3 << 20}, {"a", 3 << 20}}, changed: "doc a"},
		"first one too large":  {docs: []sized{{"a", 5 << 20}, {"a", 9}}, omitted: omitted("doc a state_too_large")},
		"names, to the limit":  {people: `{"id":"p","cards":[` + manyNumbers(49) + `]}`, changed: "person p"},
		"names, over":          {people: `{"id":"p","cards":[` + manyNumbers(50) + `]},{"id":"q"}`, changed: "person q", omitted: omitted("person p too_many_names")},
		"longer than the list": {docs: fifteenTooLarge(), omitted: &event.Omitted{Count: 15, Entities: listed(10)}},
	} {
		var docs []string
		for _, d := range c.docs {
			docs = append(docs, fmt.Sprintf(`{"id":%q,"text":%q}`, d.id, strings.Repeat("x", d.size)))
		}
		body := `{"id":"1","type":"t","docs":[` + strings.Join(docs, ",") + `],"people":[` + c.people + `]}`
		_, parsed, err := parse(t, p, body)
		require.NoError(t, err, name)
		var changed []string
		for _, c := range parsed.Changes {
			changed = append(changed, c.Kind+" "+c.ExternalID)
		}
		require.Equal(t, c.changed, strings.Join(changed, ", "), name)
		require.Equal(t, c.omitted, parsed.Omitted, name)
		require.False(t, parsed.Unmapped, name)
	}
}

// sized is a document with a text.
type sized struct {
	id   string
	size int
}

func fifteenTooLarge() (all []sized) {
	for i := range 15 {
		all = append(all, sized{fmt.Sprint(i), 4<<20 + 1})
	}
	return all
}

func listed(n int) (all []event.OmittedEntity) {
	for i := range n {
		all = append(all, event.OmittedEntity{Kind: "doc", ExternalID: fmt.Sprint(i), Reason: event.StateTooLarge})
	}
	return all
}

// omitted returns one entity, given as kind, ID and reason.
func omitted(text string) *event.Omitted {
	fields := strings.Fields(text)
	return (*event.Omitted)(nil).Add(event.OmittedEntity{Kind: fields[0], ExternalID: fields[1], Reason: event.OmitReason(fields[2])})
}
