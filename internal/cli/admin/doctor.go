package admin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/oversight"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/doctor"
	"holdfast/internal/telemetry"
	"holdfast/internal/word"
)

// DoctorCommand returns `holdfast doctor`.
func DoctorCommand() *cobra.Command {
	var facts bool
	command := cli.WithJSON(&cobra.Command{
		Use:     "doctor",
		Short:   "Check the installation and say what to fix (exit 1 if it fails)",
		Example: "  holdfast doctor\n  holdfast doctor --json | jq '.findings[] | select(.result != \"ok\")'",
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			if facts {
				return printOldFacts(c, cfg)
			}
			telemetry.SetLogger(cfg.Log.Level, true, os.Stderr)
			found, err := doctor.Examine(c.Context(), cfg)
			if err != nil {
				return err
			}
			if err := cli.Print(c, found, func(w io.Writer) error { return writeReport(w, found) }); err != nil {
				return err
			}
			if n := found.Failures(); n > 0 {
				return errors.New(word.Count(n, "check", "checks") + " failed")
			}
			return nil
		},
	})
	cli.AddWideFlag(command)
	command.Flags().BoolVar(&facts, "facts", false,
		"only list sources of definitions that were checked over a year ago, or at an unknown time")
	return command
}

// printOldFacts calls no server: it compares dates.
func printOldFacts(c *cobra.Command, cfg config.Config) error {
	old, err := doctor.OldFacts(cfg, time.Now())
	if err != nil {
		return err
	}
	return cli.Print(c, old, func(w io.Writer) error {
		table := cli.NewTable(w, "PROVIDER", "CHECKED", "SOURCE")
		for _, f := range old {
			table.Row(f.Provider, cmp.Or(f.Checked, "unknown"), f.Source)
		}
		return table.Flush()
	})
}

// writeReport writes the findings. A terminal gets only the names of healthy checks, unless --wide is set.
func writeReport(w io.Writer, found doctor.Report) error {
	shown := found.Findings
	if cli.IsNarrow(w) {
		shown = slices.DeleteFunc(slices.Clone(shown), func(f oversight.Finding) bool { return f.Result == "ok" })
	}
	err := writeFindings(w, shown)
	attention, healthy := found.Attention(), found.Healthy()
	if len(shown) < len(found.Findings) {
		var names []string
		for _, f := range found.Findings {
			if f.Result == "ok" {
				names = append(names, f.Check)
			}
		}
		result := cli.Tint(w, "ok", "ok  ")
		_, printed := fmt.Fprintf(w, "%s  %s (--wide shows details)\n", result, strings.Join(names, ", "))
		err = errors.Join(err, printed)
	}
	if attention == 0 {
		_, printed := fmt.Fprintf(w, "%d checks healthy\n", healthy)
		return errors.Join(err, printed)
	}
	_, printed := fmt.Fprintf(w, "%d of %d checks need attention, %d healthy\n", attention, attention+healthy, healthy)
	return errors.Join(err, printed)
}

func writeFindings(w io.Writer, findings []oversight.Finding) error {
	var failed []error
	for _, f := range findings {
		result := cli.Tint(w, string(f.Result), fmt.Sprintf("%-4s", f.Result))
		_, err := fmt.Fprintf(w, "%s  %-22s %s\n", result, f.Check, cli.Printable(f.Detail))
		failed = append(failed, err)
		if f.Advice != "" {
			_, err := fmt.Fprintf(w, "%30s %s\n", "→", f.Advice)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
