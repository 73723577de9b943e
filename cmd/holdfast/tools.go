package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"holdfast/internal/config"
	"holdfast/persistence"
	"holdfast/redrive"
	"holdfast/runs"
)

// tools are what the commands of an operator work with.
type tools struct {
	cfg      config.Config
	store    *persistence.Store
	temporal client.Client
}

// withTools opens the stores for a command and closes them after it.
func withTools(run func(*cobra.Command, *tools, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cfg, _, err := config.LoadBesideDev()
		if err != nil {
			return err
		}
		setLogger(config.Log{Level: slog.LevelWarn, Format: config.LogText}, os.Stderr)
		store, err := openStore(c.Context(), cfg, nil)
		if err != nil {
			return err
		}
		defer store.Close()
		temporal, err := newTemporalClient(cfg, nil, nil)
		if err != nil {
			return err
		}
		defer temporal.Close()
		return run(c, &tools{cfg: cfg, store: store, temporal: temporal}, args)
	}
}

// redrives is what runs dead letters again.
func (t *tools) redrives() *redrive.Service {
	starter := runs.NewStarter(t.temporal, t.cfg.PayloadCodec().DataConverter())
	return &redrive.Service{Letters: t.store, Books: t.store, Runs: starter}
}

const jsonFlag = "json"

func addJSONFlag(c *cobra.Command) { c.Flags().Bool(jsonFlag, false, "print JSON") }

func asksJSON(c *cobra.Command) bool {
	asked, _ := c.Flags().GetBool(jsonFlag)
	return asked
}

// aside is where to say what is not the result: what is asked for as JSON is one document and nothing else.
func aside(c *cobra.Command) io.Writer {
	if asksJSON(c) {
		return c.ErrOrStderr()
	}
	return c.OutOrStdout()
}

// print is printValue.
func (t *tools) print(c *cobra.Command, value any, text func(io.Writer) error) error {
	return printValue(c, value, text)
}

// printValue writes the value as JSON where the flag asks for it, and as text otherwise.
func printValue(c *cobra.Command, value any, text func(io.Writer) error) error {
	if asksJSON(c) {
		encoder := json.NewEncoder(c.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	return text(c.OutOrStdout())
}

// writeFields writes a list of name, value, name, value …, and leaves out what is empty.
func writeFields(w io.Writer, fields ...string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", fields[i], printable(fields[i+1]))
		}
	}
	return table.Flush()
}

// writeBody writes what was received. A terminal obeys control characters, so none of them reaches it.
func writeBody(w io.Writer, body []byte) error {
	if !utf8.Valid(body) {
		_, err := fmt.Fprintf(w, "\nbody (%d bytes, no text):\n%q\n", len(body), body)
		return err
	}
	_, err := fmt.Fprintf(w, "\nbody (%d bytes):\n%s\n", len(body), printable(strings.TrimRight(string(body), "\n")))
	return err
}

// printable shows control characters other than line ends and tabs as U+FFFD.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) {
			return r
		}
		return utf8.RuneError
	}, s)
}
