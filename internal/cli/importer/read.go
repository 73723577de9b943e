package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event/operation"
	"holdfast/internal/cli"
	"holdfast/internal/cli/destination"
	"holdfast/operator/importer"
)

// The bounds of what is kept in memory of a file.
const (
	maxItems     = 200
	maxBytesHeld = 4 << 20
	// maxSubscriptions bounds a file's subscriptions, which are kept in memory together.
	maxSubscriptions = 10_000
)

// reading is a file being read: it stages records in pages and reports errors as it finds them.
type reading struct {
	id    string
	store interface {
		DropImport(ctx context.Context, id string) error
	}
	file string
	out  io.Writer
	page func(context.Context, []operation.ImportItem) error

	items         []operation.ImportItem
	bytes         int
	subscriptions []importer.Subscription

	lines, expired, invalid, staged int64
	counts                          map[operation.ImportRecord]int64
}

func (r *reading) take(ctx context.Context, l importer.Line) error {
	r.lines++
	switch {
	case len(l.Problems) > 0:
		r.invalid++
		for _, m := range l.Problems {
			fmt.Fprintln(r.out, cli.Printable(r.file+": "+m.String()))
		}
		return nil
	case l.Subscription != nil:
		if r.subscriptions = append(r.subscriptions, *l.Subscription); len(r.subscriptions) > maxSubscriptions {
			return fmt.Errorf("line %d: a file can have up to %d subscriptions", l.N, maxSubscriptions)
		}
	case l.IsExpired && len(l.Items) == 0:
		r.expired++
		return nil
	}
	r.counts[l.Record]++
	for _, item := range l.Items {
		r.items = append(r.items, item)
		r.bytes += len(item.Body)
	}
	if len(r.items) >= maxItems || r.bytes >= maxBytesHeld {
		return r.flush(ctx)
	}
	return nil
}

func (r *reading) flush(ctx context.Context) error {
	if len(r.items) == 0 {
		return nil
	}
	if err := r.page(ctx, r.items); err != nil {
		return err
	}
	r.staged += int64(len(r.items))
	r.items, r.bytes = nil, 0
	return nil
}

// drop deletes the staged records, even after an interrupt.
func (r *reading) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return r.store.DropImport(ctx, r.id)
}

func (r *reading) question() string {
	parts := []string{}
	for _, record := range importer.Records() {
		if n := r.counts[record]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, record))
		}
	}
	return "Import " + strings.Join(parts, ", ") + "?"
}

// hasData reports whether there is anything to import.
func (r *reading) hasData() bool { return r.staged > 0 || len(r.subscriptions) > 0 }

// printEmpty says that there is nothing to import.
func (r *reading) printEmpty(w io.Writer) error {
	text := "nothing to import"
	if r.hasData() {
		text = "nothing else to import"
	}
	if r.expired > 0 {
		text += fmt.Sprintf(": %d keys have expired", r.expired)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// errInvalid follows the list of errors.
func (r *reading) errInvalid() error {
	return fmt.Errorf("%d of %d lines are invalid; nothing was imported (--skip-invalid imports the others)", r.invalid, r.lines)
}

func (s *source) read(c *cobra.Command, t *cli.Tools, file string, r *reading) error {
	r.counts = map[operation.ImportRecord]int64{}
	r.file, r.out = file, c.ErrOrStderr()
	if err := s.each(c, t, file, func(l importer.Line) error { return r.take(c.Context(), l) }); err != nil {
		return err
	}
	return r.flush(c.Context())
}

// stage reads a file and stages its records. On an error it deletes them.
func (o *importOptions) stage(c *cobra.Command, t *cli.Tools, file string) (*reading, error) {
	r := &reading{id: operation.NewID(), store: t.Store.Imports}
	r.page = func(ctx context.Context, items []operation.ImportItem) error {
		return t.Store.Imports.StageImport(ctx, r.id, r.staged, items)
	}
	err := o.read(c, t, file, r)
	if err == nil && r.invalid > 0 && !o.skip {
		err = r.errInvalid()
	}
	if err != nil {
		return nil, errors.Join(err, r.drop(c.Context()))
	}
	return r, nil
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

// found returns the content of a file.
func (r *reading) found() tried {
	return tried{Lines: r.lines, Invalid: r.invalid, Expired: r.expired, Counts: operation.ImportCounts{}}
}

// try reads a file and prints what an import would do.
func (o *importOptions) try(c *cobra.Command, a *cli.API, t *cli.Tools, file string) error {
	counts, problems := operation.ImportCounts{}, []operation.ImportProblem(nil)
	r, parse := &reading{store: t.Store.Imports}, t.Parser()
	r.page = func(ctx context.Context, items []operation.ImportItem) error {
		more, wrong, err := t.Store.Imports.TryImport(ctx, items, parse)
		counts.AddAll(more)
		problems = append(problems, wrong[:min(len(wrong), operation.MaxProblems-len(problems))]...)
		return err
	}
	if err := o.read(c, t, file, r); err != nil {
		return err
	}
	found := r.found()
	found.DryRun, found.Counts, found.Problems = true, counts, problems
	err := cli.Print(c, found, func(w io.Writer) error { return writeTried(w, found) })
	if err == nil {
		err = destination.ApplyImported(c, a, r.subscriptions, true)
	}
	if err == nil && r.invalid > 0 && !o.skip {
		err = r.errInvalid()
	}
	return err
}

func writeTried(w io.Writer, f tried) error {
	expired := ""
	if f.Expired > 0 {
		expired = cli.Number(f.Expired) + " (skipped: no event can be their duplicate any more)"
	}
	err := cli.WriteFields(w, "dry run", "nothing is changed", "lines", cli.Number(f.Lines), "expired keys", expired)
	return errors.Join(err, writeCounts(w, f.Counts), writeProblems(w, f.Problems))
}
