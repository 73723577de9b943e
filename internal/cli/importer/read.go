package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/operator/api"
	"holdfast/operator/importer"
)

// maxSubscriptions bounds a file's subscriptions, which are kept in memory together.
const maxSubscriptions = 10_000

// reading is what a file has. Mistakes are printed as they are found.
type reading struct {
	api.ImportedLines

	file string
	out  io.Writer
}

func (r *reading) add(part api.ImportedLines) {
	r.Lines, r.Expired, r.Invalid = r.Lines+part.Lines, r.Expired+part.Expired, r.Invalid+part.Invalid
	for record, n := range part.Records {
		r.Records[record] += n
	}
	for _, m := range part.Mistakes {
		fmt.Fprintln(r.out, cli.Printable(r.file+": "+m.String()))
	}
	r.Subscriptions = append(r.Subscriptions, part.Subscriptions...)
}

// addTooLong adds a line that can't be sent.
func (r *reading) addTooLong(m importer.Problem) {
	r.add(api.ImportedLines{Lines: 1, Invalid: 1, Mistakes: []importer.Problem{m}})
}

// check refuses a file that can't be kept in memory.
func (r *reading) check() error {
	if len(r.Subscriptions) > maxSubscriptions {
		return fmt.Errorf("a file can have up to %d subscriptions", maxSubscriptions)
	}
	return nil
}

// errInvalid follows the list of errors.
func (r *reading) errInvalid() error {
	return fmt.Errorf("%d of %d lines are invalid; nothing was imported (--skip-invalid imports the others)", r.Invalid, r.Lines)
}

// staging is what is kept of a file until its import is started.
type staging struct {
	reading

	id     string
	staged int64
}

// drop removes what is kept, even after an interrupt.
func (s *staging) drop(c *cobra.Command, a *cli.API) error {
	if s.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), time.Minute)
	defer cancel()
	return a.Change(ctx, http.MethodDelete, cli.Path("imports", s.id, "lines"), struct{}{}, nil)
}

func (s *staging) question() string {
	parts := []string{}
	for _, record := range importer.Records() {
		if n := s.Records[record]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, record))
		}
	}
	return "Import " + strings.Join(parts, ", ") + "?"
}

// hasData reports whether there is anything to import.
func (s *staging) hasData() bool { return s.staged > 0 || len(s.Subscriptions) > 0 }

// printEmpty says that there is nothing to import.
func (s *staging) printEmpty(w io.Writer) error {
	text := "nothing to import"
	if s.hasData() {
		text = "nothing else to import"
	}
	if s.Expired > 0 {
		text += fmt.Sprintf(": %d keys have expired", s.Expired)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// tried is the content of a file and the result of a dry run.
type tried struct {
	DryRun   bool                      `json:"dry_run"`
	Lines    int64                     `json:"lines"`
	Invalid  int64                     `json:"invalid"`
	Expired  int64                     `json:"expired"`
	Counts   operation.ImportCounts    `json:"counts"`
	Problems []operation.ImportProblem `json:"problems,omitempty"`
}

// outcome is the content of a file that has nothing to import.
func (s *staging) outcome() tried {
	return tried{Lines: s.Lines, Invalid: s.Invalid, Expired: s.Expired, Counts: operation.ImportCounts{}}
}

func writeTried(w io.Writer, f tried) error {
	expired := ""
	if f.Expired > 0 {
		expired = cli.Number(f.Expired) + " (skipped: no event can be their duplicate any more)"
	}
	err := cli.WriteFields(w, "dry run", "nothing is changed", "lines", cli.Number(f.Lines), "expired keys", expired)
	return errors.Join(err, writeCounts(w, f.Counts), writeProblems(w, f.Problems))
}
