package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
)

// Runs builds the commands for one kind of operations. All kinds are listed, shown, watched, paused, resumed and canceled in the
// same way.
type Runs[T operation.Any] struct {
	Kind operation.Kind
	// Command is the command; "" for the name of the kind.
	Command string
	// Heading and Cells are the list's columns that are specific to the kind.
	Heading []string
	Cells   func(T) []string
	Write   func(io.Writer, T) error
	// Line summarizes an operation's progress in one line.
	Line func(T) string
	// End reports whether the operation has ended, and what is wrong with its result; nil if a result is never wrong.
	End func(T) (bool, error)
}

// Commands returns list, show, watch, pause, resume and cancel.
func (o Runs[T]) Commands() []*cobra.Command {
	one := o.Kind.WithArticle()
	return []*cobra.Command{
		o.listCommand(), o.showCommand(), o.watchCommand(),
		o.changeCommand("pause", "Pause "+one),
		o.changeCommand("resume", "Resume "+one),
		o.changeCommand("cancel", "Cancel "+one+"; completed work stays"),
	}
}

func (o Runs[T]) name() string { return cmp.Or(o.Command, string(o.Kind)) }

func (o Runs[T]) path(more ...string) string {
	return Path(append([]string{o.Kind.Plural()}, more...)...)
}

func (o Runs[T]) listCommand() *cobra.Command {
	return Page[T]{
		Short: "List " + o.Kind.Plural() + ", newest first", Example: "  holdfast " + o.name() + " list",
		Route: o.path(), Limit: 20, IsOne: true,
		Heading: slices.Concat([]string{"ID!", "STATE"}, o.Heading, []string{"RATE+", "BY+", "STARTED/AGE~"}),
		Cells: func(r T) []string {
			b := r.Common()
			return slices.Concat([]string{b.ID, string(b.State)}, o.Cells(r),
				[]string{RateText(b.Rate), b.StartedBy, b.StartedAt.Format(time.RFC3339)})
		},
	}.Command()
}

func (o Runs[T]) showCommand() *cobra.Command {
	return o.command("show", "Show one "+string(o.Kind)+": its filter and its progress",
		func(c *cobra.Command, a *API, id string) error { return Show(c, a, o.path(id), nil, o.Write) })
}

func (o Runs[T]) watchCommand() *cobra.Command {
	return o.command("watch", "Show the progress of "+o.Kind.WithArticle()+" until it has ended",
		func(c *cobra.Command, a *API, id string) error {
			r, err := o.watch(c, a, id)
			if r == nil {
				return err
			}
			return Report(c, r, nil, err)
		})
}

func (o Runs[T]) changeCommand(verb, short string) *cobra.Command {
	command := o.command(verb, short, func(c *cobra.Command, a *API, id string) error {
		var changed json.RawMessage
		if err := a.Change(c.Context(), http.MethodPost, o.path(id, verb), Reasoned(c), &changed); err != nil {
			return err
		}
		return PrintAnswer(c, changed, o.Write)
	})
	AddReasonFlag(command)
	return command
}

func (o Runs[T]) command(verb, short string, run func(*cobra.Command, *API, string) error) *cobra.Command {
	return WithJSON(WithAPI(&cobra.Command{
		Use:     verb + " ID",
		Short:   short,
		Example: "  holdfast " + o.name() + " " + verb + " 20261122-161500-k3xq",
	}, func(c *cobra.Command, a *API, args []string) error { return o.unknown(args[0], run(c, a, args[0])) }))
}

// unknown adds to an error where to find the IDs, if there is no such operation.
func (o Runs[T]) unknown(id string, err error) error {
	if errors.Is(err, event.ErrNotFound) {
		return NotFound("no %s %q: see `holdfast %s list`", o.Kind, id, o.name())
	}
	return err
}

// Start starts an operation and follows it. A returned operation without an ID wasn't started.
func (o Runs[T]) Start(c *cobra.Command, a *API, wanted any) (started T, err error) {
	if err := a.Change(c.Context(), http.MethodPost, o.path(), wanted, &started); err != nil {
		return started, err
	}
	return o.Follow(c, a, started)
}

// Follow prints a started operation and watches it, unless --detach is given. It returns the operation's latest state.
func (o Runs[T]) Follow(c *cobra.Command, a *API, started T) (T, error) {
	id := started.Common().ID
	fmt.Fprintf(StatusWriter(c), "%s %s\n", o.Kind, id)
	if detaches(c) || started.Common().State == operation.Paused {
		return started, nil
	}
	seen, err := o.watch(c, a, id)
	if seen == nil {
		return started, err
	}
	return *seen, err
}

// watch shows a bar on a terminal, or a line per change elsewhere, until the operation has ended. Interrupting watch doesn't
// stop the operation. It returns the last state seen, or nil.
func (o Runs[T]) watch(c *cobra.Command, a *API, id string) (seen *T, err error) {
	out := StatusWriter(c)
	live := IsTerminal(out)
	ticker := time.NewTicker(ProgressInterval)
	defer ticker.Stop()
	for last := ""; ; {
		var now T
		err := a.Read(c.Context(), o.path(id), nil, &now)
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(out, "\nthe %s continues: holdfast %s watch|pause|cancel %s\n", o.Kind, o.name(), id)
			return seen, nil
		}
		if err != nil {
			return seen, o.unknown(id, err)
		}
		seen = &now
		if line := Bar(now.Share()) + "  " + o.Line(now); line != last {
			last = line
			WriteProgress(out, live, line)
		}
		if ended, err := o.end(now); ended {
			if live {
				fmt.Fprintln(out)
			}
			return seen, err
		}
		select {
		case <-ticker.C:
		case <-c.Context().Done():
		}
	}
}

func (o Runs[T]) end(now T) (bool, error) {
	if o.End == nil {
		return now.Common().State.Ended(), nil
	}
	return o.End(now)
}

// Report prints what a command has started: as JSON if requested, or as text if it was watched. A nil text prints nothing, for
// operations whose progress was printed. It returns err.
func Report(c *cobra.Command, value any, text func(io.Writer) error, err error) error {
	if !WantsJSON(c) && (text == nil || detaches(c)) {
		return err
	}
	return errors.Join(Print(c, value, text), err)
}

func detaches(c *cobra.Command) bool {
	asked, _ := c.Flags().GetBool(detachFlag)
	return asked
}
