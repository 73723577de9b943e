package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/process/operators"
	"holdfast/internal/stores"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/providers"
	"holdfast/workflows/runs"
)

// serveOperator serves the operator API of the installation that the environment names, and returns its URL and a token of each
// role.
func serveOperator(t *testing.T) (url string, texts map[access.Role]string) {
	t.Helper()
	cfg, err := config.LoadFrom(os.Environ())
	require.NoError(t, err)
	store, err := operators.OpenStore(t.Context(), cfg, nil)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	temporal, err := stores.NewTemporalClient(cfg, nil, nil)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	live, err := providers.LoadLive("", cfg.Secrets, nil, nil)
	require.NoError(t, err)
	codec := cfg.PayloadCodec()
	side := operators.Side{
		Config: cfg, Catalogue: func() *providers.Live { return live }, Codec: codec, Temporal: temporal,
		Starter: runs.NewStarter(temporal, codec.DataConverter()),
	}
	all, closeAdmin := side.API(store)
	t.Cleanup(closeAdmin)
	options, texts := operator.Options{API: all}, map[access.Role]string{}
	for _, role := range access.Roles() {
		text, token, err := access.NewToken("the-"+string(role), role)
		require.NoError(t, err)
		texts[role], options.Tokens = text, append(options.Tokens, token)
	}
	server := operator.New(options)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(t.Context()) })
	return "http://" + listener.Addr().String(), texts
}

// Every command does the same in its own process and, with an admin's token, through a running Holdfast. A lesser role may do what
// its routes allow, and otherwise gets an error that the role isn't sufficient. Without a token, nothing works.
func TestCommandsWorkFromAnywhere(t *testing.T) {
	install(t)
	url, texts := serveOperator(t)
	for _, test := range []struct{ line, route string }{
		{"event list", "GET /events"},
		{"event show stripe:evt_1", "GET /events/:id"},
		{"event body evt_1", "GET /events/:id/body"},
		{"event attempts evt_1", "GET /events/:id/attempts"},
		{"inbox list", "GET /inbox"},
		{"entity list", "GET /entities"},
		{"entity show stripe customer cus_1", "GET /entities/:provider/:kind/:external_id"},
		{"dlq list", "GET /dead-letters"},
		{"dlq causes", "GET /dead-letters/causes"},
		{"dlq show 1", "GET /dead-letters/:id"},
		{"dlq replay --all --dry-run", "POST /replays/plan"},
		{"dlq discard 1 --reason test", "POST /dead-letters/:id/discard"},
		{"dlq reopen 1", "POST /dead-letters/:id/reopen"},
		{"dlq cleanup --older-than 1d", "POST /dead-letters/cleanup"},
		{"conflict list", "GET /conflicts"},
		{"error list", "GET /errors"},
		{"stats", "GET /stats"},
		{"replay list", "GET /replays"},
		{"replay show one", "GET /replays/:id"},
		{"rebuild list", "GET /rebuilds"},
		{"recover list", "GET /recoveries"},
		{"resend list", "GET /resends"},
		{"subscription list", "GET /subscriptions"},
		{"destination list", "GET /destinations"},
		{"delivery list --all", "GET /deliveries"},
		{"audit list", "GET /audit"},
		{"report", "GET /report"},
		{"purge", "POST /purge"},
		{"purge --expunge evt_1 --dry-run", "POST /events/:id/expunge"},
	} {
		method, path, _ := strings.Cut(test.route, " ")
		needed := access.Needs(method, path)
		require.NotEmpty(t, needed, test.route)
		t.Run(test.line, func(t *testing.T) {
			here := must(t, test.line)
			remote := strings.Fields(test.line + " --operator " + url)
			_, err := run(t, "", remote...)
			require.ErrorContains(t, err, "the token is invalid or missing")
			for _, role := range access.Roles() {
				t.Setenv(cli.TokenVariable, texts[role])
				out, err := run(t, "", remote...)
				if !role.Includes(needed) {
					require.ErrorContains(t, err, "role isn't sufficient", role)
					continue
				}
				if strings.HasPrefix(test.line, "dlq discard") || strings.HasPrefix(test.line, "dlq reopen") {
					continue // it is done once
				}
				require.NoError(t, err, role)
				if role == access.RoleAdmin && method == "GET" && test.line != "stats" && test.line != "report" {
					require.Equal(t, here, out)
				}
			}
		})
	}
}

// A token may come from a file, and a flag that the server refuses is a usage error as in the command's own process.
func TestATokenOfAFile(t *testing.T) {
	install(t)
	url, texts := serveOperator(t)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(texts[access.RoleViewer]+"\n"), 0o600))
	remote := " --operator " + url + " --token-file " + file
	require.Equal(t, must(t, "event list"), must(t, "event list"+remote))
	_, err := run(t, "", strings.Fields("event list --source a"+remote)...)
	require.ErrorContains(t, err, `invalid --source "a": it needs provider`)
	require.Equal(t, 2, cli.ExitCode(err))
	_, err = run(t, "", strings.Fields("event show nothing"+remote)...)
	require.ErrorContains(t, err, "no event matches")
	require.Contains(t, must(t, "event show evt_1"+remote), "without what the role viewer may not see")
}
