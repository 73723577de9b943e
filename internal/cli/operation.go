package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/operator/launch"
)

// Operations builds the commands for one kind of operations. All kinds are listed, shown, watched, paused, resumed and canceled
// in the same way.
type Operations[T operation.Any] struct {
	Kind operation.Kind
	// Command is the command; "" for the name of the kind.
	Command string
	Of      func(*Tools) *launch.Operations[T]
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
func (o Operations[T]) Commands() []*cobra.Command {
	one := o.Kind.WithArticle()
	return []*cobra.Command{
		o.listCommand(), o.showCommand(), o.watchCommand(),
		o.changeCommand("pause", "Pause "+one, operation.Paused),
		o.changeCommand("resume", "Resume "+one, operation.Running),
		o.changeCommand("cancel", "Cancel "+one+"; completed work stays", operation.Canceled),
	}
}

func (o Operations[T]) name() string { return cmp.Or(o.Command, string(o.Kind)) }

func (o Operations[T]) listCommand() *cobra.Command {
	return Listing[T, string]{
		Short: "List " + o.Kind.Plural() + ", newest first", Example: "  holdfast " + o.name() + " list", Limit: 20,
		Read: func(c *cobra.Command, t *Tools, limit int, _ *string) ([]T, error) {
			return o.Of(t).Latest(c.Context(), limit)
		},
		Heading: slices.Concat([]string{"ID!", "STATE"}, o.Heading, []string{"RATE+", "BY+", "STARTED/AGE~"}),
		Cells: func(r T) []string {
			b := r.Common()
			return slices.Concat([]string{b.ID, string(b.State)}, o.Cells(r),
				[]string{RateText(b.Rate), b.StartedBy, b.StartedAt.Format(time.RFC3339)})
		},
	}.Command()
}

func (o Operations[T]) showCommand() *cobra.Command {
	return o.command("show", "Show one "+string(o.Kind)+": its filter and its progress",
		func(c *cobra.Command, t *Tools, id string) error {
			r, err := o.Of(t).Read(c.Context(), id)
			if err != nil {
				return o.unknown(id, err)
			}
			return Print(c, r, func(w io.Writer) error { return o.Write(w, r) })
		})
}

func (o Operations[T]) watchCommand() *cobra.Command {
	return o.command("watch", "Show the progress of "+o.Kind.WithArticle()+" until it has ended",
		func(c *cobra.Command, t *Tools, id string) error {
			r, err := o.watch(c, t, id)
			if r == nil {
				return err
			}
			return Report(c, r, nil, err)
		})
}

func (o Operations[T]) changeCommand(verb, short string, to operation.State) *cobra.Command {
	command := o.command(verb, short, func(c *cobra.Command, t *Tools, id string) error {
		r, err := o.Of(t).Change(c.Context(), id, to, ActorOf(c))
		if err != nil {
			return o.unknown(id, err)
		}
		return Print(c, r, func(w io.Writer) error { return o.Write(w, r) })
	})
	AddReasonFlag(command)
	return command
}

func (o Operations[T]) command(verb, short string, run func(*cobra.Command, *Tools, string) error) *cobra.Command {
	return WithJSON(&cobra.Command{
		Use:     verb + " ID",
		Short:   short,
		Example: "  holdfast " + o.name() + " " + verb + " 20261122-161500-k3xq",
		RunE:    WithTools(func(c *cobra.Command, t *Tools, args []string) error { return run(c, t, args[0]) }),
	})
}

// unknown adds to an error where to find the IDs, if there is no such operation.
func (o Operations[T]) unknown(id string, err error) error {
	if errors.Is(err, event.ErrNotFound) {
		return NotFound("no %s %q: see `holdfast %s list`", o.Kind, id, o.name())
	}
	return err
}

// Start starts an operation and follows it. A returned operation without an ID wasn't started.
func (o Operations[T]) Start(c *cobra.Command, t *Tools, wanted T) (T, error) {
	started, err := o.Of(t).Start(c.Context(), wanted, ActorOf(c))
	if started.Common().ID == "" {
		return started, err
	}
	return o.Follow(c, t, started, err)
}

// Follow prints a started operation and watches it, unless --detach is given. It returns the operation's latest state. err is
// the error of the start.
func (o Operations[T]) Follow(c *cobra.Command, t *Tools, started T, err error) (T, error) {
	id := started.Common().ID
	fmt.Fprintf(StatusWriter(c), "%s %s\n", o.Kind, id)
	if err != nil || detaches(c) {
		return started, err
	}
	seen, err := o.watch(c, t, id)
	if seen == nil {
		return started, err
	}
	return *seen, err
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

// watch shows a bar on a terminal, or a line per change elsewhere, until the operation has ended. Interrupting watch doesn't
// stop the operation. It returns the last state seen, or nil.
func (o Operations[T]) watch(c *cobra.Command, t *Tools, id string) (seen *T, err error) {
	out := StatusWriter(c)
	live := IsTerminal(out)
	ticker := time.NewTicker(ProgressInterval)
	defer ticker.Stop()
	for last := ""; ; {
		now, err := o.Of(t).Read(c.Context(), id)
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

func (o Operations[T]) end(now T) (bool, error) {
	if o.End == nil {
		return now.Common().State.Ended(), nil
	}
	return o.End(now)
}

// Number formats a count.
func Number(n int64) string { return strconv.FormatInt(n, 10) }
