package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/event/operation"
	"holdfast/event/oversight"
)

// Operation is work that goes on by itself once it is started, such as a redrive. All of them are shown, watched, paused, resumed
// and canceled in one way.
type Operation[T any] struct {
	// Noun is what it is called, and the name of the command that has these below it.
	Noun   string
	Read   func(ctx context.Context, t *Tools, id string) (T, error)
	Change func(ctx context.Context, t *Tools, id string, to operation.State, by oversight.Actor) (T, error)
	Write  func(io.Writer, T) error
	// Line says how far it has come, in one line.
	Line func(T) string
	// End says whether nothing more will happen, and what is wrong with how it ended.
	End func(T) (bool, error)
}

// Commands are show, watch, pause, resume and cancel.
func (o Operation[T]) Commands() []*cobra.Command {
	return []*cobra.Command{
		o.showCommand(), o.watchCommand(),
		o.changeCommand("pause", "Start nothing more of "+o.one()+" until it is resumed", operation.Paused),
		o.changeCommand("resume", "Let "+o.one()+" go on", operation.Running),
		o.changeCommand("cancel", "End "+o.one()+"; what it has started or done stays", operation.Canceled),
	}
}

// one is the noun with its article.
func (o Operation[T]) one() string {
	if strings.ContainsRune("aeiou", rune(o.Noun[0])) {
		return "an " + o.Noun
	}
	return "a " + o.Noun
}

func (o Operation[T]) showCommand() *cobra.Command {
	return o.command("show", "Show one "+o.Noun+": its filter, and how far it has come",
		func(c *cobra.Command, t *Tools, id string) error {
			r, err := o.Read(c.Context(), t, id)
			if err != nil {
				return o.unknown(id, err)
			}
			return Print(c, r, func(w io.Writer) error { return o.Write(w, r) })
		})
}

func (o Operation[T]) watchCommand() *cobra.Command {
	return o.command("watch", "Show the progress of "+o.one()+" until it has ended",
		func(c *cobra.Command, t *Tools, id string) error {
			r, err := o.watch(c, t, id)
			if r == nil {
				return err
			}
			return Report(c, r, nil, err)
		})
}

func (o Operation[T]) changeCommand(verb, short string, to operation.State) *cobra.Command {
	command := o.command(verb, short, func(c *cobra.Command, t *Tools, id string) error {
		r, err := o.Change(c.Context(), t, id, to, ActorOf(c))
		if err != nil {
			return o.unknown(id, err)
		}
		return Print(c, r, func(w io.Writer) error { return o.Write(w, r) })
	})
	AddReasonFlag(command)
	return command
}

func (o Operation[T]) command(verb, short string, run func(*cobra.Command, *Tools, string) error) *cobra.Command {
	command := &cobra.Command{
		Use:     verb + " ID",
		Short:   short,
		Example: "  holdfast " + o.Noun + " " + verb + " 20261122-161500-k3xq",
		Args:    cobra.ExactArgs(1),
		RunE:    WithTools(func(c *cobra.Command, t *Tools, args []string) error { return run(c, t, args[0]) }),
	}
	AddJSONFlag(command)
	return command
}

// unknown says where the IDs stand, where there is no such operation.
func (o Operation[T]) unknown(id string, err error) error {
	if errors.Is(err, event.ErrNotFound) {
		return Missing("there is no %s %q: `holdfast %s list` has them", o.Noun, id, o.Noun)
	}
	return err
}

// Follow names an operation that a command has started, and watches it, unless the command is to be --detach. It gives the latest
// that is known of it. The error that it takes is that of the start.
func (o Operation[T]) Follow(c *cobra.Command, t *Tools, id string, started T, err error) (T, error) {
	fmt.Fprintf(Aside(c), "%s %s\n", o.Noun, id)
	if err != nil || detaches(c) {
		return started, err
	}
	seen, err := o.watch(c, t, id)
	if seen == nil {
		return started, err
	}
	return *seen, err
}

// Report shows what a command has started: as JSON where that is asked for, and as text where it was watched. A nil text is for
// what its progress has told already. The error goes through.
func Report(c *cobra.Command, value any, text func(io.Writer) error, err error) error {
	if !AsksJSON(c) && (text == nil || detaches(c)) {
		return err
	}
	return errors.Join(Print(c, value, text), err)
}

func detaches(c *cobra.Command) bool {
	asked, _ := c.Flags().GetBool(detachFlag)
	return asked
}

// watch shows a bar on a terminal, and a line where something has changed elsewhere, until the operation has ended. Whoever stops
// watching does not stop it. It gives what it has seen last; nil is nothing.
func (o Operation[T]) watch(c *cobra.Command, t *Tools, id string) (seen *T, err error) {
	out := Aside(c)
	live := IsTerminal(out)
	ticker := time.NewTicker(ProgressInterval)
	defer ticker.Stop()
	for last := ""; ; {
		now, err := o.Read(c.Context(), t, id)
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(out, "\nthe %s goes on: holdfast %s watch|pause|cancel %s\n", o.Noun, o.Noun, id)
			return seen, nil
		}
		if err != nil {
			return seen, o.unknown(id, err)
		}
		seen = &now
		if line := o.Line(now); line != last {
			last = line
			WriteProgress(out, live, line)
		}
		if ended, err := o.End(now); ended {
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

// Number is a count as text.
func Number(n int64) string { return strconv.FormatInt(n, 10) }
