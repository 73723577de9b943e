package lab

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A delivery is recorded by the event's own ID, if that is in the body.
func TestAnEndpointRecordsEvents(t *testing.T) {
	for _, byBody := range []bool{true, false} {
		e, err := NewEndpoint(0)
		require.NoError(t, err)
		e.ByBody = byBody
		e.Remember()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL, strings.NewReader(`{"id":"evt_1"}`))
		require.NoError(t, err)
		request.Header.Set("holdfast-event-id", "ours")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		want := map[bool]string{true: "evt_1", false: "ours"}[byBody]
		require.Equal(t, []string{want}, slices.Collect(maps.Keys(e.Remember())))
		require.NoError(t, e.Close())
	}
}

// No profile can make a commit less than durable.
func TestTheProfileOfDeployIsReadAndCannotWeakenCommits(t *testing.T) {
	t.Parallel()
	p, err := ReadProfile(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.NotEmpty(t, p.Postgres["shared_buffers"])
	require.NotEmpty(t, p.Environ)
	require.Contains(t, p.Visibility, "DROP INDEX")
	p.Postgres["fsync"] = "off"
	settings := p.settings()
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		require.Equal(t, "on", settings[name], name)
	}
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.conf")
	require.NoError(t, os.WriteFile(path, []byte("# why\na = '1GB' # so\n\nb\n"), 0o600))
	_, err := readSettings(path)
	require.ErrorContains(t, err, `"b" is no setting`)
}

// This process has used time and memory, and its parent is the right one.
func TestAProcessIsRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are read from /proc, which only Linux has")
	}
	p, used, err := readProcess(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), p.pid)
	require.GreaterOrEqual(t, used.self, time.Duration(0))
	require.Positive(t, residentSize(os.Getpid()))
	require.Contains(t, children(os.Getppid()), os.Getpid())
	_, _, err = readProcess(-1)
	require.Error(t, err)
}

// Usage is measured from a given moment, and excluded labels don't count.
func TestUsageIsADifference(t *testing.T) {
	t.Parallel()
	before := Usage{LabelTemporal: time.Second, LabelLoad: time.Second}
	after := Usage{LabelTemporal: 3 * time.Second, LabelLoad: 2 * time.Second, LabelHoldfast: time.Second}
	diff := after.Sub(before)
	require.Equal(t, Usage{LabelTemporal: 2 * time.Second, LabelLoad: time.Second, LabelHoldfast: time.Second}, diff)
	require.Equal(t, 3*time.Second, diff.Total(LabelLoad))
}

// The eighth number of the line for all processors is stolen time; guest times, which follow it, are included in the first two.
func TestTheStolenShareCoversTheTimeBetween(t *testing.T) {
	t.Parallel()
	before := parseMachineTime("cpu  100 0 50 800 10 0 10 30 5 5\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
	require.Equal(t, MachineTime{Stolen: 30, All: 1000}, before)
	after := parseMachineTime("cpu  150 0 60 820 10 0 10 50 5 5\n")
	require.InDelta(t, 0.2, after.StolenSince(before), 1e-9)
	require.Zero(t, before.StolenSince(before), "no time has passed")
	require.Equal(t, MachineTime{}, parseMachineTime(""))
	if runtime.GOOS == "linux" {
		require.Positive(t, ReadMachineTime().All)
	}
}
