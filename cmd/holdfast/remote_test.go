package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/process/operatorapi"
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
	store, err := operatorapi.OpenStore(t.Context(), cfg, nil)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	temporal, err := stores.NewTemporalClient(cfg, nil, nil)
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	live, err := providers.LoadLive("", cfg.Secrets, nil, nil)
	require.NoError(t, err)
	codec := cfg.PayloadCodec()
	side := operatorapi.Side{
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
	fillForCommands(t)
	url, texts := serveOperator(t)
	files := filesOfCommands(t)
	for _, test := range commandsOfTheAPI {
		method, path, _ := strings.Cut(test.route, " ")
		needed := access.Needs(method, path)
		require.NotEmpty(t, needed, test.route)
		t.Run(test.line, func(t *testing.T) {
			n := 0
			typed := func(more string) (string, error) {
				n++ // each is the first to use its name
				return run(t, "", strings.Fields(strings.ReplaceAll(files.Replace(test.line), "NEW", fmt.Sprint("new", n))+more)...)
			}
			here, err := typed("")
			require.Equal(t, test.fails, err != nil, "%v", err)
			remote := " --operator " + url
			_, err = typed(remote)
			require.ErrorContains(t, err, "the token is invalid or missing")
			for _, role := range access.Roles() {
				t.Setenv(cli.TokenVariable, texts[role])
				out, err := typed(remote)
				switch {
				case !role.Includes(needed):
					require.ErrorContains(t, err, fmt.Sprintf("role isn't sufficient: it is %s, and this needs %s", role, needed))
				case test.fails || test.once && err != nil:
					require.Error(t, err, role)
					require.NotContains(t, err.Error(), "role isn't sufficient", role)
				case !test.once:
					require.NoError(t, err, role)
					if role == access.RoleAdmin && method == "GET" && test.line != "stats" && test.line != "report" {
						require.Equal(t, here, out)
					}
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
