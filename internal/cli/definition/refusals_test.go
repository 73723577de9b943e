package definition

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/oversight"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/httpapi"
)

type remembered []oversight.ProviderRefusals

func (r remembered) Refusals(provider string) []oversight.ProviderRefusals {
	if provider != "" && provider != "stripe" {
		return []oversight.ProviderRefusals{}
	}
	return r
}

// The command queries the operator port of the receiving process with its token, and prints causes and the last requests.
func TestRefusalsAreReported(t *testing.T) {
	text, token, err := access.NewToken("ada", access.RoleViewer)
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	server := operator.New(operator.Options{Tokens: access.Tokens{token}, Refusals: remembered{{
		Provider: "stripe", Count: 1234,
		Causes: []oversight.RefusalCause{{Cause: "bad_signature", Means: "it is wrong", Next: "correct it", Count: 1234, LastAt: at}},
		Last: []oversight.Refusal{{
			At: at, Cause: "bad_signature", Status: 401, Detail: "Checked header stripe-signature", Address: "203.0.113.7",
			Headers: []string{"host", "stripe-signature"}, OtherHeaders: 3, BodyBytes: 17, BodySHA256: "0123456789abcdef",
		}},
	}}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { require.NoError(t, server.Shutdown(context.Background())) })
	address := "http://" + listener.Addr().String()

	_, err = run(t, "", "provider", "refusals", "--operator", address)
	require.ErrorContains(t, err, "set HOLDFAST_SECRET_TOKEN")
	t.Setenv("HOLDFAST_SECRET_TOKEN", text)
	out, err := run(t, "", "provider", "refusals", "--operator", address)
	require.NoError(t, err)
	for _, line := range []string{
		`stripe: 1234 refused in the last hour`, ` +1234  bad_signature: it is wrong`, ` +correct it`,
		`2026-11-22T12:00:00Z +bad_signature +Checked header stripe-signature +203\.0\.113\.7 +17 B 0123456789ab +host stripe-signature and 3 others`,
	} {
		require.Regexp(t, "(?m)^"+line+"$", out)
	}
	out, err = run(t, "", "provider", "refusals", "stripe", "--json", "--operator", address)
	require.NoError(t, err)
	var all httpapi.List[oversight.ProviderRefusals]
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Equal(t, at, all.Items[0].Last[0].At)
	out, err = run(t, "", "provider", "refusals", "github", "--operator", address)
	require.NoError(t, err)
	require.Equal(t, "none\n", out)
	_, err = run(t, "", "provider", "refusals", "--operator", "http://127.0.0.1:1")
	require.ErrorContains(t, err, "no server is listening at http://127.0.0.1:1: is it running?")
}
