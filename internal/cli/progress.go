package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// ProgressInterval is the pause between two updates.
const ProgressInterval = 500 * time.Millisecond

// WriteProgress overwrites the previous line on a terminal, and appends elsewhere.
func WriteProgress(out io.Writer, live bool, line string) {
	if live {
		fmt.Fprintf(out, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(out, line)
}

// Bar draws a fraction of 0 to 1 with its percentage.
func Bar(share float64) string {
	const width = 30
	share = min(share, 1)
	full := int(share * width)
	return fmt.Sprintf("%s%s %3.0f%%", strings.Repeat("█", full), strings.Repeat("░", width-full), share*100)
}

// ConfirmPlan prints a plan and asks whether to carry it out. With only, it prints the plan as the result and returns false.
// Otherwise JSON is reserved for the result of the action, and a user at a terminal sees the plan as text before the question.
func ConfirmPlan(c *cobra.Command, plan any, text func(io.Writer) error, only bool, question string) (bool, error) {
	var err error
	switch {
	case only || !WantsJSON(c):
		err = Print(c, plan, text)
	case Asks(c):
		err = text(StatusWriter(c))
	}
	if only || err != nil {
		return false, err
	}
	if !Confirm(c, question) {
		return false, errors.New("nothing was started (--yes starts it without asking)")
	}
	return true, nil
}

const yesFlag = "yes"

// AddYesFlag adds --yes, which answers confirmations.
func AddYesFlag(c *cobra.Command, usage string) { c.Flags().BoolP(yesFlag, "y", false, usage) }

// IsConfirmed reports whether --yes is set.
func IsConfirmed(c *cobra.Command) bool {
	said, _ := c.Flags().GetBool(yesFlag)
	return said
}

// Asks reports whether an action that can't be undone asks first: on a terminal, unless --yes is set. Scripts have decided
// already.
func Asks(c *cobra.Command) bool { return !IsConfirmed(c) && IsTerminal(c.InOrStdin()) }

// Confirm asks for confirmation on a terminal, unless --yes is set.
func Confirm(c *cobra.Command, question string) bool {
	if IsConfirmed(c) {
		return true
	}
	if !IsTerminal(c.InOrStdin()) {
		return false
	}
	fmt.Fprintf(StatusWriter(c), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer) // no answer means no
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
