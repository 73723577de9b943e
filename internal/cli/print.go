package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"holdfast/internal/printable"
	"holdfast/operator/api"
)

const jsonFlag = "json"

// AddJSONFlag adds --json.
func AddJSONFlag(c *cobra.Command) { c.Flags().Bool(jsonFlag, false, "print JSON") }

// WithJSON adds --json to a command and returns it.
func WithJSON(c *cobra.Command) *cobra.Command {
	AddJSONFlag(c)
	return c
}

// WantsJSON reports whether --json is set.
func WantsJSON(c *cobra.Command) bool {
	asked, _ := c.Flags().GetBool(jsonFlag)
	return asked
}

// StatusWriter returns the writer for output that isn't the result, because JSON output must be a single document.
func StatusWriter(c *cobra.Command) io.Writer {
	if WantsJSON(c) {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// Print writes the value as JSON if --json is set, and as text otherwise.
func Print(c *cobra.Command, value any, text func(io.Writer) error) error {
	if WantsJSON(c) {
		encoder := json.NewEncoder(c.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	return text(screenOf(c))
}

// WriteFields writes a list of name, value, name, value …, and leaves out empty values.
func WriteFields(w io.Writer, fields ...string) error {
	width := 0
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] != "" {
			width = max(width, utf8.RuneCountInString(fields[i]))
		}
	}
	var err error
	for i := 0; i+1 < len(fields) && err == nil; i += 2 {
		if fields[i+1] != "" {
			_, err = fmt.Fprintf(w, "%-*s  %s\n", width, fields[i], Printable(fields[i+1]))
		}
	}
	return err
}

// WriteContent writes the beginning of an event's body, and names the command that writes all of it.
func WriteContent(w io.Writer, eventID string, body api.Content) (err error) {
	switch {
	case body.Redacted:
		_, err = fmt.Fprintf(w, "\nbody (%d bytes), without what the role viewer may not see:\n%s\n", body.Size,
			Printable(string(body.JSON)))
	case !body.Truncated:
		return WriteWholeBody(w, body.Raw)
	case body.Text == "":
		_, err = fmt.Fprintf(w, bodyBeginning+"%q\n", body.Size, ", no text", api.MaxShown>>10, eventID, body.Raw)
	default:
		_, err = fmt.Fprintf(w, bodyBeginning+"%s\n", body.Size, "", api.MaxShown>>10, eventID, Printable(body.Text))
	}
	return err
}

const bodyBeginning = "\nbody (%d bytes%s), the first %d KiB; all: holdfast event body %s > FILE\n"

// WriteWholeBody writes a received body and escapes control characters, which a terminal would obey.
func WriteWholeBody(w io.Writer, body []byte) error {
	if !utf8.Valid(body) {
		_, err := fmt.Fprintf(w, "\nbody (%d bytes, no text):\n%q\n", len(body), body)
		return err
	}
	_, err := fmt.Fprintf(w, "\nbody (%d bytes):\n%s\n", len(body), Printable(strings.TrimRight(string(body), "\n")))
	return err
}

// ValueText formats a JSON value of a difference; "-" for none.
func ValueText(v json.RawMessage) string {
	if v == nil {
		return "-"
	}
	return Shorten(string(v))
}

// Printable shows control and directional characters as escapes; see printable.Text.
func Printable(s string) string { return printable.Text(s) }

// Number formats a count.
func Number(n int64) string { return strconv.FormatInt(n, 10) }
