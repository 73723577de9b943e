package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/movein"
)

// move imports a system's endpoints and events.
type move struct {
	*system

	c   *cobra.Command
	api *cli.API
	of  movein.System
	// warning says that the system's API isn't reached securely; "" if it is.
	warning string
	// subscriptions are those that the system's endpoints become.
	subscriptions map[string]bool
	left          left
}

// left counts selected events that can't be imported, and names an example of each kind.
type left struct {
	// NoPayload counts events whose payload the system has deleted; Event is one of them.
	NoPayload int64  `json:"without_payload,omitempty"`
	Event     string `json:"such_as_event,omitempty"`
	// NoDestination counts deliveries without a destination here; Name is the subscription of one.
	NoDestination int64  `json:"without_destination,omitempty"`
	Name          string `json:"such_as_destination,omitempty"`
}

func (l left) write(w io.Writer) {
	if l.NoDestination > 0 {
		fmt.Fprintf(w, "%d deliveries can't be sent: they have no destination here, such as %s\n",
			l.NoDestination, cli.Printable(l.Name))
	}
	if l.NoPayload > 0 {
		fmt.Fprintf(w, "%d events can't be imported, such as %s: their payload is deleted there\n", l.NoPayload, cli.Printable(l.Event))
	}
}

// events reads the selected events that can be imported.
func (m *move) events(ctx context.Context, of movein.Selection, each func(movein.Event) error) error {
	m.left = left{}
	return m.of.Events(ctx, of, func(e movein.Event) error {
		switch {
		case e.To != "" && !m.subscriptions[e.To]:
			m.left.NoDestination++
			m.left.Name = cmp.Or(m.left.Name, e.To)
		case e.IsGone:
			m.left.NoPayload++
			m.left.Event = cmp.Or(m.left.Event, e.ID)
		default:
			return each(e)
		}
		return nil
	})
}

// move imports a system.
func (o *importOptions) move(c *cobra.Command, a *cli.API) error {
	m, err := o.system.open(c, a)
	if err != nil {
		return err
	}
	all, err := m.endpoints()
	if err != nil {
		return err
	}
	plan, err := m.plan(all)
	if err == nil && m.sends() {
		err = m.count(&plan)
	}
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Create %d destinations and subscriptions, and send %d deliveries?", plan.Create, plan.Deliveries)
	if ok, err := cli.ConfirmPlan(c, plan, plan.write, o.dryRun, question); !ok {
		return err
	}
	if plan.InFlight > 0 && !m.inFlight {
		return plan.errInFlight()
	}
	if err := m.create(all); err != nil {
		return err
	}
	selected, isAny := m.selection()
	if !isAny {
		return nil
	}
	if err := o.moveEvents(m, selected); err != nil || !m.sends() {
		m.left.write(c.ErrOrStderr())
		return err
	}
	sent, err := m.send(selected)
	return errors.Join(err, cli.Print(c, sent, sent.write))
}

// moveEvents imports the selected events, as events that have been processed.
func (o *importOptions) moveEvents(m *move, selected movein.Selection) error {
	ctx, cancel := context.WithCancel(m.c.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		lines := newLines(in)
		_ = in.CloseWithError(m.events(ctx, selected, lines.write))
		close(ended)
	}()
	o.reader, o.format = out, "ndjson"
	err := o.importLines(m.c, m.api, string(m.from))
	cancel()
	_ = out.Close()
	<-ended // it counts what is left
	return err
}
