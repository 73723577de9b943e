package process

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
	"holdfast/providers"
)

func TestAReloadIsSummarizedInOneLine(t *testing.T) {
	require.Equal(t, "definitions reloaded: nothing has changed", reloadText(providers.Loading{}))
	require.Equal(t, "definitions reloaded: added acme, bolt; removed wind",
		reloadText(providers.Loading{Added: []string{"acme", "bolt"}, Removed: []string{"wind"}}))
}

// In development, a changed file is reloaded without a signal: a wrong path in a rule for entities is accepted with a warning, since
// null is no error, and an invalid file isn't accepted.
func TestDefinitionsFollowTheirFilesInDevelopment(t *testing.T) {
	t.Parallel()
	const good = "name: acme\nsecrets: ACME_SECRET\nauth: [{token: {in: header, name: x-token}}]\ntype: .body.type\n" +
		"key: {parts: [.body.id]}\nentities: [{kind: order, id: .body.order, op: patch}]\n" +
		"samples: {order.paid: {body: '{id: .id, type: \"order.paid\", order: \"o1\"}'}}\n"
	file := filepath.Join(t.TempDir(), "acme.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write(good)
	said := make(chan string, 8)
	cfg, err := config.LoadFrom([]string{"HOLDFAST_PROVIDERS_DIR=" + filepath.Dir(file)})
	require.NoError(t, err)
	p := &process{cfg: cfg, dev: Development{Say: func(line string) { said <- line }}, started: make(chan struct{})}
	p.secrets = config.NewKeptSecrets(p.cfg, secretsFor, providers.UnreadableSecret)
	p.catalogue, err = providers.LoadLive(p.cfg.Providers.Dir, p.secrets.Secrets, nil, nil)
	require.NoError(t, err)
	p.reloadOnChange()
	close(p.started)
	defer func() { require.NoError(t, p.stop()) }()
	next := func() string {
		select {
		case line := <-said:
			return line
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing was reloaded")
			return ""
		}
	}

	write(strings.Replace(good, ".body.order,", ".body.ordr,", 1))
	require.Equal(t, "definitions reloaded: changed acme", next())
	require.Equal(t, `warning: acme.yaml: entities[0]: applies to no sample: in "order.paid", .body.ordr gave null [unapplied]`, next())
	write(good + "priority: urgent\n")
	require.Contains(t, next(), `definitions refused, those before stay in use: acme.yaml:8:1: priority: "urgent" is unknown`)
	write(good)
	require.Equal(t, "definitions reloaded: changed acme", next())
	bolt := strings.NewReplacer("acme", "bolt", "ACME", "BOLT").Replace(good)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "bolt.yaml"), []byte(bolt), 0o600))
	require.Equal(t, "definitions reloaded: added bolt", next())
	require.Equal(t, "warning: bolt has no secret: start make run again, which gives it one to try, or set BOLT_SECRET", next())
	require.Empty(t, said)
}

// A change or a signal during the start is reloaded after it: reload needs the stores, which the start opens.
func TestReloadsFollowTheStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "acme.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: acme\n"), 0o600))
	cfg, err := config.LoadFrom([]string{"HOLDFAST_PROVIDERS_DIR=" + dir})
	require.NoError(t, err)
	said := make(chan string, 8)
	p := &process{
		cfg: cfg, dev: Development{Say: func(line string) { said <- line }}, started: make(chan struct{}), failed: make(chan error, 8),
	}
	p.secrets = config.NewKeptSecrets(p.cfg, secretsFor, providers.UnreadableSecret)
	p.catalogue, err = providers.LoadLive("", p.secrets.Secrets, nil, nil)
	require.NoError(t, err)
	p.reloadOnHangup()
	p.reloadOnChange()
	defer func() { require.NoError(t, p.stop()) }()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.NoError(t, os.WriteFile(file, []byte("name: acme\ntitle: Acme\n"), 0o600))
	select {
	case line := <-said:
		require.Fail(t, "reloaded before the start", line)
	case <-time.After(4 * lookEvery):
	}
	close(p.started)
	for range 2 {
		select {
		case line := <-said:
			require.Contains(t, line, "definitions reloaded")
		case <-time.After(time.Minute):
			require.Fail(t, "nothing was reloaded")
		}
	}
}

// Definitions may end in .yml, or be links to files in other folders, as in a mounted ConfigMap.
func TestChangesOfAllDefinitionsAreSeen(t *testing.T) {
	t.Parallel()
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "x.yaml")
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(target, "a: 1")
	require.NoError(t, os.Symlink(target, filepath.Join(dir, "link.yaml")))
	write(filepath.Join(dir, "acme.yml"), "a: 1")
	first := definitionFiles(dir)
	write(filepath.Join(dir, "acme.yml"), "a: 12")
	second := definitionFiles(dir)
	require.NotEqual(t, first, second)
	write(target, "a: 123")
	require.NotEqual(t, second, definitionFiles(dir))
	write(filepath.Join(dir, ".acme.yaml"), "a: 1")
	require.NotContains(t, definitionFiles(dir), ".acme")
}
