package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// ProgressInterval is the pause between two looks.
const ProgressInterval = 500 * time.Millisecond

// WriteProgress writes a line over the one before on a terminal, and below it elsewhere.
func WriteProgress(out io.Writer, live bool, line string) {
	if live {
		fmt.Fprintf(out, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(out, line)
}

// Bar draws a share, of 0 to 1, with its percentage.
func Bar(share float64) string {
	const width = 30
	share = min(share, 1)
	full := int(share * width)
	return fmt.Sprintf("%s%s %3.0f%%", strings.Repeat("█", full), strings.Repeat("░", width-full), share*100)
}

// Agree shows a plan, and asks whether to carry it out. One that is only shown is never agreed to: then the result is all that it
// prints. Otherwise JSON is for what comes of it.
func Agree(c *cobra.Command, plan any, text func(io.Writer) error, only bool, question string) (bool, error) {
	if !AsksJSON(c) || only {
		if err := Print(c, plan, text); err != nil || only {
			return false, err
		}
	}
	if !Confirm(c, question) {
		return false, errors.New("nothing was started (--yes starts it without asking)")
	}
	return true, nil
}

const yesFlag = "yes"

// AddYesFlag adds --yes, for what would be asked.
func AddYesFlag(c *cobra.Command, usage string) { c.Flags().BoolP(yesFlag, "y", false, usage) }

// SaysYes says whether nobody is to be asked.
func SaysYes(c *cobra.Command) bool {
	said, _ := c.Flags().GetBool(yesFlag)
	return said
}

// Confirm asks, unless that is answered by --yes, where there is somebody who could answer.
func Confirm(c *cobra.Command, question string) bool {
	if SaysYes(c) {
		return true
	}
	if !IsTerminal(c.InOrStdin()) {
		return false
	}
	fmt.Fprintf(Aside(c), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer) // no answer is no
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
