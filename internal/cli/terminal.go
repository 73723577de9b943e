package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// screen is the output: a terminal, or a pipe, which gets all columns and no colours.
type screen struct {
	io.Writer

	// width is in characters; 0 is unlimited.
	width    int
	coloured bool
}

const wideFlag = "wide"

// AddWideFlag adds --wide.
func AddWideFlag(c *cobra.Command) {
	c.Flags().Bool(wideFlag, false, "all columns in full width, as without a terminal")
}

func screenOf(c *cobra.Command) screen {
	s := screen{Writer: c.OutOrStdout()}
	if IsTerminal(s.Writer) {
		s.coloured = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		s.width = widthOf(s.Writer)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	if wide, _ := c.Flags().GetBool(wideFlag); wide {
		s.width = 0
	}
	return s
}

// IsNarrow reports whether the output of Print is as wide as a terminal, and --wide isn't set.
func IsNarrow(w io.Writer) bool {
	s, _ := w.(screen)
	return s.width > 0
}

// IsTerminal reports whether the stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func widthOf(stream any) int {
	const usual = 80
	file, _ := stream.(*os.File)
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return usual
	}
	return width
}

// tints maps words for a state to colours: green, yellow, red.
var tints = map[string]string{
	"processed": "32", "delivered": "32", "resolved": "32", "completed": "32", "ready": "32", "ok": "32", "configured": "32",
	"open": "33", "retrying": "33", "paused": "33", "replaying": "33", "persisted": "33", "half_open": "33", "warn": "33",
	"dead": "31", "failed": "31", "exhausted": "31", "rejected": "31", "disabled": "31", "missing": "31", "unusable": "31",
	"FAIL": "31",
}

// Tint gives a text the colour of a word on a terminal.
func Tint(w io.Writer, word, text string) string {
	s, _ := w.(screen)
	tint, known := tints[word]
	if !s.coloured || !known {
		return text
	}
	return "\x1b[" + tint + "m" + text + "\x1b[0m"
}

// blocks are the heights of a sparkline.
var blocks = []rune("▁▂▃▄▅▆▇█")

// Sparkline draws counts as a line of block characters, the highest as a full one; 0 is a space. On a terminal it is as wide as
// that, without the characters that the rest of the line has taken: each count becomes equally many.
func Sparkline(w io.Writer, taken int, counts []int64) string {
	s, _ := w.(screen)
	each := max((s.width-taken)/max(len(counts), 1), 1)
	most := int64(1)
	for _, n := range counts {
		most = max(most, n)
	}
	var line strings.Builder
	for _, n := range counts {
		block := " "
		if n > 0 {
			block = string(blocks[(n*int64(len(blocks))-1)/most])
		}
		line.WriteString(strings.Repeat(block, each))
	}
	return line.String()
}
