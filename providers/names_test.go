package providers

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
)

const withNames = minimal + `
source: .body.account
entities:
  - {kind: person, id: [.body.person, ".body.cards[]?", .body.phone], scope: source}
`

// The names of an entity keep their rank, whichever of them an event has, and have the same scope as its ID.
func TestNamesOfEntities(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, withNames)
	for body, want := range map[string]string{
		`{"id":1,"person":"p","cards":["c","d",null,"c"],"phone":5}`: "p [{0 p} {1 c} {1 d} {2 5}]",
		`{"id":1,"cards":["c"],"phone":"c"}`:                         "c [{1 c}]",
		`{"id":1,"phone":5}`:                                         "5 [{2 5}]",
		`{"id":1,"phone":5,"account":"a"}`:                           "a:5 [{2 a:5}]",
		`{"id":1}`:                                                   "",
	} {
		_, parsed, err := parse(t, p, body)
		require.NoError(t, err)
		got := ""
		for _, c := range parsed.Changes {
			got += fmt.Sprint(c.ExternalID, " ", c.Names)
		}
		require.Equal(t, want, got, body)
	}
	for body, code := range map[string]string{
		`{"id":1,"phone":"` + strings.Repeat("a", 600) + `"}`:    "bad_entity_id",
		`{"id":1,"cards":[` + strings.Repeat(`"a",`, 99) + `1]}`: "",
	} {
		_, _, err := parse(t, p, body)
		require.Equal(t, code == "", err == nil, body)
		if err != nil {
			require.Equal(t, code, event.CodeOf(err))
		}
	}
}

// manyNumbers returns n numbers separated by commas.
func manyNumbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}

// A rule whose kind is an expression creates no entity of a kind with several names, which would not be found by them.
func TestKindFromOfAKindWithNames(t *testing.T) {
	t.Parallel()
	p, err := loadOne(t, strings.Replace(minimal, "type:",
		"entities: [{kind: x, id: [.body.a, .body.b]}, {kind_from: .body.kind, id: .body.b}]\ntype:", 1))
	require.NoError(t, err)
	r := event.Receipt{Provider: "acme"}
	_, err = p.Parse(r, []byte(`{"id":"1","type":"t","a":"CU1","b":"MD1","kind":"x"}`))
	require.Equal(t, "bad_entity_kind", event.CodeOf(err))
	_, err = p.Parse(r, []byte(`{"id":"1","type":"t","a":"CU1","b":"MD1","kind":"y"}`))
	require.NoError(t, err)
}

// The names of one event are limited together: each is a lock while the event is written.
func TestNamesOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	p, err := loadOne(t, strings.Replace(minimal, "type:", "entities: [{kind: x, each: \".body.all[]\", id: [$item.a, $item.b]}]\ntype:", 1))
	require.NoError(t, err)
	for n, code := range map[int]string{250: "", 251: "too_many_names"} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"a":"a%d","b":"b%d"}`, i, i))
		}
		_, err = p.Parse(event.Receipt{Provider: "acme"}, []byte(`{"id":"1","type":"t","all":[`+strings.Join(all, ",")+`]}`))
		require.Equal(t, code == "", err == nil, n)
		if err != nil {
			require.Equal(t, code, event.CodeOf(err))
		}
	}
}
