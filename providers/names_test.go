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

// The names of an entity keep their rank, whichever of them an event has, and are scoped as its ID is.
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
		`{"id":1,"cards":[` + manyNumbers(60) + `]}`:             "too_many_names",
	} {
		_, _, err := parse(t, p, body)
		require.Equal(t, code == "", err == nil, body)
		if err != nil {
			require.Equal(t, code, event.CodeOf(err))
		}
	}
}

// manyNumbers are n numbers with commas between.
func manyNumbers(n int) string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}
