package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// devInstallation is a `holdfast dev` with its own directory and ports.
type devInstallation struct{ env []string }

func newDev(t *testing.T) devInstallation {
	t.Helper()
	env := slices.Clone(patience)
	for i, address := range freePorts(t, 2) {
		name := []string{"HOLDFAST_DEV_TEMPORAL_PORT", "HOLDFAST_DEV_TEMPORAL_UI_PORT"}[i]
		env = append(env, name+"="+address[strings.LastIndex(address, ":")+1:])
	}
	env = append(env, "HOLDFAST_DEV_DIR="+filepath.Join(t.TempDir(), ".holdfast"))
	return devInstallation{env: append(cleanEnvironment(), env...)}
}

// start runs `holdfast dev` and waits until it reports that it is running.
func (d devInstallation) start(t *testing.T, flags ...string) *node {
	t.Helper()
	return d.startProgram(t, holdfast, "dev", flags...)
}

func (d devInstallation) startProgram(t *testing.T, program, role string, flags ...string) *node {
	t.Helper()
	n := launchProgram(t, program, role, d.env, flags...)
	eventually(t, 2*time.Minute, "holdfast dev is running", func() error {
		select {
		case <-n.exited:
			require.FailNow(t, "holdfast dev has ended", n.log.tail(30))
		default:
		}
		if !strings.Contains(n.log.String(), "Holdfast is running") {
			return fmt.Errorf("it says: %s", n.log.tail(5))
		}
		return nil
	})
	n.awaitReady(t)
	return n
}

// run runs a command as in a second terminal that has only the directory.
func (d devInstallation) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.Command(holdfast, args...)
	command.Env = d.env
	out, err := command.CombinedOutput()
	return string(out), err
}

func (d devInstallation) dir() string {
	return strings.TrimPrefix(d.env[len(d.env)-1], "HOLDFAST_DEV_DIR=")
}

// pid reads a process ID from the first line of a file.
func (d devInstallation) pid(t *testing.T, path ...string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{d.dir()}, path...)...))
	require.NoError(t, err)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	require.NoError(t, err)
	return pid
}

var eventShow = regexp.MustCompile(`event show (\S+)`)

// sendAndShow sends the event that `make run` suggests, and waits until `event show` shows it as processed.
func (d devInstallation) sendAndShow(t *testing.T) (eventID string) {
	t.Helper()
	eventually(t, time.Minute, "the event is accepted", func() error {
		out, err := d.run(t, "send", "stripe")
		if match := eventShow.FindStringSubmatch(out); err == nil && match != nil {
			eventID = match[1]
			return nil
		}
		return fmt.Errorf("%w: %s", err, out)
	})
	d.awaitProcessed(t, eventID)
	return eventID
}

var isProcessed = regexp.MustCompile(`(?m)^status +processed$`)

func (d devInstallation) awaitProcessed(t *testing.T, eventID string) {
	t.Helper()
	eventually(t, time.Minute, "event show says that it is processed", func() error {
		out, err := d.run(t, "event", "show", eventID)
		if err != nil || !isProcessed.MatchString(out) {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// What `make run` starts, from a new user's view:
//   - it prints one screen, whose commands work: an event, a duplicate, a dead letter that is discarded
//   - a second one in the same directory is refused, and so is one whose port is taken, with what to do
//   - PostgreSQL and Temporal are killed: they are restarted, and events continue
//   - everything is killed: the next start has the old data
//   - Ctrl-C ends everything, and leaves no process behind
func TestMakeRunSurvivesAnything(t *testing.T) {
	t.Parallel()
	d := newDev(t)
	n := d.start(t)
	d.triesTheScreen(t, n)
	first := d.sendAndShow(t)
	out, err := d.run(t, "send", "twilio")
	require.NoError(t, err, "a scheme that signs the URL: %s", out)

	again := launchProcess(t, "dev", d.env)
	<-again.exited
	require.Contains(t, again.log.String(), fmt.Sprint(n.command.Process.Pid), "it names the process that has the directory")
	d.refusesATakenPort(t, n)

	require.NoError(t, syscall.Kill(d.pid(t, "postgres", "data", "postmaster.pid"), syscall.SIGKILL))
	d.sendAndShow(t)
	require.NoError(t, syscall.Kill(d.pid(t, "temporal", "temporal.pid"), syscall.SIGKILL))
	d.sendAndShow(t)

	n.kill()
	n = d.start(t)
	d.awaitProcessed(t, first)
	d.sendAndShow(t)

	postmaster, dev := d.pid(t, "postgres", "data", "postmaster.pid"), d.pid(t, "temporal", "temporal.pid")
	require.NoError(t, n.command.Process.Signal(os.Interrupt))
	<-n.exited
	require.Zero(t, n.command.ProcessState.ExitCode(), n.log.tail(30))
	require.ErrorIs(t, syscall.Kill(postmaster, 0), syscall.ESRCH, "PostgreSQL has ended")
	require.ErrorIs(t, syscall.Kill(dev, 0), syscall.ESRCH, "Temporal has ended")
}

// triesTheScreen follows the screen's instructions in a second terminal.
func (d devInstallation) triesTheScreen(t *testing.T, n *node) {
	t.Helper()
	screen := n.log.String()
	require.NotContains(t, screen, "level=INFO")
	require.Less(t, strings.Count(screen[strings.Index(screen, "Holdfast is running"):], "\n"), 32)
	commands := regexp.MustCompile(`(?m)^  (.*`+regexp.QuoteMeta(holdfast)+` .*|echo .*)$`).FindAllStringSubmatch(screen, -1)
	require.Len(t, commands, 7)
	dir, seen := t.TempDir(), ""
	for _, one := range commands {
		eventually(t, time.Minute, one[1], func() error {
			command := exec.Command("sh", "-ec", one[1])
			command.Dir, command.Env = dir, d.env
			out, err := command.CombinedOutput()
			if seen += string(out); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			if strings.HasSuffix(one[1], "dlq list") && !strings.Contains(string(out), "malformed_json") {
				return fmt.Errorf("there is no dead letter: %s", out)
			}
			return nil
		})
	}
	require.Contains(t, seen, `"duplicate":true`)
	require.Contains(t, seen, "discarded")
}

// A given database and Temporal are used, and none is started.
func TestMakeRunUsesGivenServers(t *testing.T) {
	t.Parallel()
	i := installationOn(t, emptyDatabase(t))
	d := newDev(t)
	n := launchProcess(t, "dev", append(i.environment(), "HOLDFAST_DEV_DIR="+d.dir()))
	n.awaitReady(t)
	id := uniqueID("evt")
	require.Equal(t, 202, n.send(t, customerUpdated(id, uniqueID("cus"), "Ada", time.Now())).status)
	i.awaitCount(t, 30*time.Second, 1, processedEvents)
	require.NoDirExists(t, filepath.Join(d.dir(), "postgres"))
	require.NoDirExists(t, filepath.Join(d.dir(), "temporal"))
}

// refusesATakenPort starts another installation on the same public port.
func (d devInstallation) refusesATakenPort(t *testing.T, holder *node) {
	t.Helper()
	other := newDev(t)
	command := exec.Command(holdfast, "dev")
	command.Env = append(other.env, "HOLDFAST_INGRESS_ADDR="+strings.TrimPrefix(holder.ingress, "http://"))
	out, err := command.CombinedOutput()
	require.Error(t, err)
	for _, want := range []string{"holdfast", fmt.Sprint(holder.command.Process.Pid), "HOLDFAST_INGRESS_ADDR"} {
		require.Contains(t, string(out), want)
	}
}
