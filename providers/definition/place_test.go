package definition

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A field is found by its path: through lists, keys with dots and quotes, and as deep as the file has it.
func TestAFieldHasItsPlace(t *testing.T) {
	t.Parallel()
	const text = `name: acme
auth:
  - hmac:
      signed: "{body}"
      signature: {header: x, grammar: y}
samples:
  customer.updated:
    body: "{}"
  "quoted.type": {body: "{}"}
entities:
  - kind: a
  - kind: b
    id: [.x, .y]
`
	for field, want := range map[string]string{
		"name": ":1:1", "auth[0].hmac.signed": ":4:7", "auth[0].hmac.signature.grammar": ":5:30",
		"samples.customer.updated.body": ":8:5", "samples.quoted.type.body": ":9:19", "entities[1].id": ":13:5",
		"entities[1].id[1]": ":13:14", "entities[1].state": ":12:5", "auth[0].hmac.timestamp": ":3:5", "auth[7]": ":2:1",
		"type": "", "": "", "nam": "",
	} {
		require.Equal(t, want, PlaceOf([]byte(text), field).String(), field)
	}
	require.Empty(t, PlaceOf([]byte("{"), "name").String())
}

// The day of a check is a date, if there is one.
func TestADayOfACheckIsADate(t *testing.T) {
	t.Parallel()
	p := Problems{}
	p.CheckSources("sources", []Source{{Library: "acme 1.0", Checked: "last year"}, {Library: "acme 2.0"}})
	require.ErrorContains(t, p.Err(), "sources[0].checked: want the day on which the source was read")
}
