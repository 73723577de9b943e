package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

const unitFile = "systemd/holdfast@.service"

// analyze runs systemd-analyze on a copy of the unit for a role. The program that it starts is this test, because verify looks
// for it.
func analyze(t *testing.T, role string, arguments ...string) string {
	t.Helper()
	return analyzeWith(t, role, "", arguments...)
}

// analyzeWith adds settings to the service, as a drop-in does.
func analyzeWith(t *testing.T, role, settings string, arguments ...string) string {
	t.Helper()
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze on this machine: apt-get install systemd")
	}
	unit, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "holdfast@"+role+".service")
	text := strings.ReplaceAll(string(unit), "/usr/bin/holdfast", self)
	require.NotEqual(t, string(unit), text)
	text = strings.Replace(text, "\n[Install]", "\n"+settings+"\n[Install]", 1)
	require.NoError(t, os.WriteFile(copied, []byte(text), 0o644))
	out, err := exec.CommandContext(t.Context(), program, append(arguments, copied)...).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
	return string(out)
}

// A key that is misspelt is a warning, with which the unit starts without it.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"serve", "ingress", "worker", "operator"} {
		require.Empty(t, analyze(t, role, "verify"), role)
	}
}

// Only what the program needs remains open: the network, and devices that every service has. 10 is the worst.
func TestTheUnitIsHardened(t *testing.T) {
	t.Parallel()
	out := analyze(t, "serve", "security", "--offline=yes", "--no-pager", "--threshold=20")
	require.Contains(t, out, "Overall exposure level")
}

func TestTheUnitGivesTheProgramTimeToEnd(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^TimeoutStopSec=(.+)$`).FindSubmatch(unit)
	require.NotNil(t, found)
	limit, err := time.ParseDuration(string(found[1]))
	require.NoError(t, err)
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	require.Greater(t, limit, graces(cfg))
}

// The unit may write nowhere; what docs/systemd.md adds for an archive in a folder is what systemd takes.
func TestTheUnitAllowsTheArchiveFolder(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/systemd.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "archive.conf <<'END'\n[Service]\n")
	require.True(t, found)
	lines, _, found := strings.Cut(rest, "END\n")
	require.True(t, found)
	require.Contains(t, lines, "StateDirectory=holdfast\n")
	require.Empty(t, analyzeWith(t, "serve", lines, "verify"))
}

// The file that docs/systemd.md has its reader write is one that the program starts with.
func TestTheWalkthroughsFileIsValid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/systemd.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "\n```ini\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	environ := strings.Split(strings.TrimSpace(strings.ReplaceAll(block, "ENTRY", strings.Repeat("ab", 32))), "\n")
	cfg, err := config.LoadFrom(environ)
	require.NoError(t, err)
	require.NoError(t, cfg.RequireDatabase())
	require.Equal(t, "temporal.internal:7233", cfg.Temporal.Address)
	require.Len(t, cfg.Secrets("STRIPE_WEBHOOK_SECRET"), 1)
}
