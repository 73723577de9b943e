package cli

import (
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

// Confirm asks, where there is somebody who could answer.
func Confirm(c *cobra.Command, question string) bool {
	if !IsTerminal(c.InOrStdin()) {
		return false
	}
	fmt.Fprintf(Aside(c), "%s [y/N] ", question)
	var answer string
	_, _ = fmt.Fscanln(c.InOrStdin(), &answer) // no answer is no
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}
