package moving

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is a body as its provider sends it, from testdata.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(strings.TrimSpace(testdata(t, name+".json")))
}

// quote is a text as SQL has it.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// eventOf is the name of an event of RentProg or Evolution.
func eventOf(t *testing.T, body []byte) string {
	t.Helper()
	var of struct{ Event string }
	require.NoError(t, json.Unmarshal(body, &of))
	return of.Event
}

var firstID = regexp.MustCompile(`"id\\?"(?:=>|:)(\d+)`)

// idOf is the ID of the thing that an event of RentProg is about.
func idOf(t *testing.T, body []byte) string {
	t.Helper()
	found := firstID.FindSubmatch(body)
	require.NotNil(t, found, string(body))
	return string(found[1])
}
