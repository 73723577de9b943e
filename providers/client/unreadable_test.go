package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/providers/auth"
	"holdfast/providers/client"
	"holdfast/providers/recovery"
)

// A credential whose file can't be read any more is still configured: requests fail for a time, and nothing is sent or processed
// without it. The error names the variable.
func TestACredentialThatCannotBeReadIsTemporary(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	unreadable := func(string) []string { return []string{auth.Unreadable} }
	c := client.New(serve(t, handler), unreadable)
	for _, name := range []string{"gocardless", "stripe", "chargebee", "okta", "paypal"} {
		list := providerOf(t, name).Recovery()
		require.NoError(t, c.Check(list), name)
		_, err := c.Page(t.Context(), list, recovery.Walk{})
		failed := failureOf(t, err)
		require.True(t, failed.IsTemporary(), name)
		require.Regexp(t, `^the file of [A-Z_]+_FILE has been empty`, failed.Text, name)
		require.NotContains(t, failed.Text, auth.Unreadable, name)
	}
	fetch := providerOf(t, "gocardless").Fetches()[0]
	require.True(t, c.CanFetch(fetch))
	_, err := c.Fetch(t.Context(), fetch, map[string]string{"id": "PM1"})
	require.Equal(t, recovery.KindUnavailable, failureOf(t, err).Kind)
	require.False(t, client.New(serve(t, handler), func(string) []string { return nil }).CanFetch(fetch))
}
