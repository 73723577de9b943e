package importer

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture returns a body as its provider sends it, from testdata.
func fixture(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(strings.TrimSpace(testdata(t, name+".json")))
}

// quote returns a text as an SQL literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// eventOf returns the event name of a RentProg or Evolution body.
func eventOf(t *testing.T, body []byte) string {
	t.Helper()
	var of struct{ Event string }
	require.NoError(t, json.Unmarshal(body, &of))
	return of.Event
}

var firstID = regexp.MustCompile(`"id\\?"(?:=>|:)(\d+)`)

// idOf returns the ID of the entity that a RentProg event is about.
func idOf(t *testing.T, body []byte) string {
	t.Helper()
	found := firstID.FindSubmatch(body)
	require.NotNil(t, found, string(body))
	return string(found[1])
}
