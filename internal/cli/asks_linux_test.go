package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = terminal.Close() })
	return keyboard, terminal
}

// What can't be undone asks a user at a terminal, but not a script, nor one who said --yes.
func TestATerminalIsAsked(t *testing.T) {
	keyboard, terminal := openTerminal(t)
	command := func(args ...string) *cobra.Command {
		c := &cobra.Command{}
		AddYesFlag(c, "do not ask")
		AddJSONFlag(c)
		require.NoError(t, c.ParseFlags(args))
		c.SetIn(terminal)
		c.SetOut(&bytes.Buffer{})
		return c
	}
	require.True(t, Asks(command()))
	require.False(t, Asks(command("--yes")))
	script := command()
	script.SetIn(&bytes.Buffer{})
	require.False(t, Asks(script))
	for answer, agreed := range map[string]bool{"y\n": true, "n\n": false, "\n": false} {
		_, err := keyboard.WriteString(answer)
		require.NoError(t, err)
		require.Equal(t, agreed, Confirm(command(), "Remove it?"), answer)
	}
}

// A plan is shown to the user who is asked about it, also when the result is wanted as JSON.
func TestWhoIsAskedSeesThePlan(t *testing.T) {
	keyboard, terminal := openTerminal(t)
	var out, status bytes.Buffer
	c := &cobra.Command{}
	AddYesFlag(c, "do not ask")
	AddJSONFlag(c)
	require.NoError(t, c.ParseFlags([]string{"--json"}))
	c.SetIn(terminal)
	c.SetOut(&out)
	c.SetErr(&status)
	_, err := keyboard.WriteString("y\n")
	require.NoError(t, err)
	agreed, err := ConfirmPlan(c, 7, func(w io.Writer) error {
		_, err := io.WriteString(w, "events before 1 May\n")
		return err
	}, false, "Remove this data?")
	require.NoError(t, err)
	require.True(t, agreed)
	require.Empty(t, out.String(), "the result")
	require.Equal(t, "events before 1 May\nRemove this data? [y/N] ", status.String())
}
