package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/buildinfo"
	"holdfast/internal/devstack/program"
)

var (
	machineDir = flag.String("machine", "", "install the package on a Debian that is kept in this folder")
	block      = regexp.MustCompile("(?s)```sh\n(.*?)```")
	entry      = regexp.MustCompile(`ada:admin:([0-9a-f]{64})`)
)

const (
	root    = "../.."
	next    = "0.9.1"
	page    = root + "/docs/systemd.md"
	serving = "holdfast@serve"
)

// A Debian package is installed, configured, upgraded and removed by the commands of docs/systemd.md, on a machine that systemd
// has booted.
func TestThePackageOnADebianMachine(t *testing.T) {
	m := bootOrSkip(t)
	started := time.Now()
	step := func(name string) { t.Logf("%5.1fs %s", time.Since(started).Seconds(), name) }
	first, second := buildPackages(t)
	m.put(t, first, "/root/"+filepath.Base(first), 0o644)
	m.put(t, second, "/root/"+filepath.Base(second), 0o644)
	m.put(t, filepath.Join(root, "bin", "temporal"), "/usr/local/bin/temporal", 0o755)
	m.run(t, "systemd-run --quiet --unit temporal /usr/local/bin/temporal server start-dev --headless --ip 127.0.0.1")
	step("booted, with PostgreSQL and Temporal")

	m.section(t, "1. Install")
	require.Equal(t, "600 root:root\n", m.run(t, "stat -c '%a %U:%G' /etc/holdfast/holdfast.env"))
	require.Empty(t, m.run(t, "systemctl list-units --plain --no-legend 'holdfast@*'"), "installing starts nothing")
	m.section(t, "2. Create the database and the namespace")
	m.configure(t)
	m.run(t, "test -s /usr/share/bash-completion/completions/holdfast && test -s /usr/share/man/man1/holdfast-dlq-replay.1.gz")
	step("installed and configured")

	require.Contains(t, m.section(t, "4. Start"), "healthy")
	m.process(t, 1)
	step("started; an event is processed")
	m.checkSandbox(t)
	step("the sandbox is in effect")

	before := m.run(t, "systemctl show -P MainPID "+serving)
	require.Contains(t, m.run(t, "/usr/bin/holdfast version"), "holdfast "+buildinfo.Version+" ")
	require.Contains(t, m.section(t, "Upgrade"), serving+".service", "the package names what still runs the former release")
	require.NotEqual(t, before, m.run(t, "systemctl show -P MainPID "+serving))
	require.Contains(t, m.run(t, "/usr/bin/holdfast version"), "holdfast "+next+" ")
	require.Contains(t, m.run(t, "cat /etc/holdfast/holdfast.env"), "ada:admin:", "an upgrade keeps the configuration")
	m.process(t, 2)
	step("upgraded; another event is processed")

	m.run(t, "mkdir -p /var/lib/holdfast/archive")
	m.run(t, "apt-get remove --yes holdfast")
	require.Empty(t, m.run(t, "systemctl list-units --plain --no-legend 'holdfast@*'"))
	require.Contains(t, m.run(t, "journalctl -u "+serving), `"process.stopping"`, "removing drains")
	m.run(t, "test ! -e /usr/bin/holdfast && test -e /etc/holdfast/holdfast.env")
	m.run(t, "apt-get purge --yes holdfast")
	m.run(t, "test ! -e /etc/holdfast && test -d /var/lib/holdfast/archive")
	require.Empty(t, m.run(t, "find / -xdev -name '*holdfast*' -not -path '/root/*' -not -path '/var/lib/holdfast' "+
		"-not -path '/proc/*' -not -path '/var/log/*' -not -path '/var/cache/*'"), "nothing else is left")
	step("removed and purged")
}

func bootOrSkip(t *testing.T) *machine {
	t.Helper()
	if *machineDir == "" {
		t.Skip("it boots a machine: make package-test")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can boot a machine")
	}
	for _, program := range []string{"debootstrap", "systemd-nspawn", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s: apt-get install debootstrap systemd-container util-linux", program)
		}
	}
	return boot(t, debianRoot(t, *machineDir))
}

// buildPackages packages these sources twice: as this release and as the next one.
func buildPackages(t *testing.T) (first, second string) {
	t.Helper()
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	s := source{root: top, time: time.Unix(1e9, 0)}
	bump := program.Edit{
		File: "internal/buildinfo/buildinfo.go",
		Old:  `const Version = "` + buildinfo.Version + `"`, New: `const Version = "` + next + `"`,
	}
	share, err := s.manual(t.Context(), dir)
	require.NoError(t, err)
	for version, edits := range map[string][]program.Edit{buildinfo.Version: nil, next: {bump}} {
		binary := filepath.Join(dir, version, "holdfast")
		require.NoError(t, program.Build(t.Context(), top, binary, edits...))
		require.NoError(t, s.debian(version, binary, share, "amd64", filepath.Join(dir, "holdfast_"+version+"_amd64.deb")))
	}
	return filepath.Join(dir, "holdfast_"+buildinfo.Version+"_amd64.deb"), filepath.Join(dir, "holdfast_"+next+"_amd64.deb")
}

// section runs the sh blocks below a heading of docs/systemd.md, with the shell function that the page defines.
func (m *machine) section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	require.True(t, found, heading)
	part, _, _ := strings.Cut(rest, "\n## ")
	blocks := block.FindAllStringSubmatch(part, -1)
	require.NotEmpty(t, blocks, heading)
	_, function, found := strings.Cut(string(text), "hf() {")
	require.True(t, found)
	function, _, _ = strings.Cut(function, "```")
	var out strings.Builder
	for _, b := range blocks {
		script := strings.ReplaceAll(b[1], "apt-get install ", "apt-get install --yes ")
		out.WriteString(m.run(t, "hf() {"+function+script))
	}
	return out.String()
}

// configure writes the file of step 3, with a token that the program has made.
func (m *machine) configure(t *testing.T) {
	t.Helper()
	printed := entry.FindStringSubmatch(m.section(t, "3. Configure"))
	require.NotNil(t, printed, "a token")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n```ini\n")
	require.True(t, found)
	settings, _, _ := strings.Cut(rest, "```")
	settings = strings.NewReplacer("ENTRY", printed[1], "temporal.internal", "127.0.0.1").Replace(settings)
	m.write(t, "/etc/holdfast/holdfast.env", []byte(settings), 0o600)
}

// process sends an event and waits until n are processed.
func (m *machine) process(t *testing.T, n int) {
	t.Helper()
	send := "set -a; . /etc/holdfast/holdfast.env; set +a; holdfast send stripe --url http://127.0.0.1:8080"
	require.Contains(t, m.run(t, send), "202 Accepted")
	count := "cd /; runuser -u postgres -- psql -At holdfast -c \"SELECT count(*) FROM events WHERE status = 'processed'\""
	require.Eventually(t, func() bool {
		out, err := m.try(count)
		return err == nil && strings.TrimSpace(out) == fmt.Sprint(n)
	}, time.Minute, 500*time.Millisecond)
}
