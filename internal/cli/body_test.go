package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
	"holdfast/operator/api"
)

// content returns a body as the API shows it to operators.
func content(body string) api.Content {
	shown := api.Content{Size: len(body), Raw: []byte(body)}
	if utf8.ValidString(body) {
		shown.Text = body
	}
	return shown.Beginning()
}

// A large body is cut between two characters, and the output names the command that writes all of it.
func TestALargeBodyIsCut(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"text": "x" + strings.Repeat("ü\x1b", 50_000), "binary": strings.Repeat("\xff", 100_000),
	} {
		var out bytes.Buffer
		require.NoError(t, cli.WriteContent(&out, "the-id", content(body)))
		require.Contains(t, out.String(), "holdfast event body the-id > FILE", name)
		require.True(t, utf8.Valid(out.Bytes()), name)
		require.NotContains(t, out.String(), "\x1b", name)
		require.NotContains(t, out.String(), "\ufffd", name)
	}
	var out bytes.Buffer
	require.NoError(t, cli.WriteContent(&out, "the-id", content(`{"a":1}`+"\n")))
	require.Equal(t, "\nbody (8 bytes):\n{\"a\":1}\n", out.String())
}
