package importer

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/declared"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
)

// movePlan says what is imported, and what isn't. It has no secrets and no paths of URLs.
type movePlan struct {
	From      movein.From       `json:"from"`
	Endpoints []plannedEndpoint `json:"endpoints"`
	// Create and Same count destinations and subscriptions; Differ names those that stay as they are here.
	Create int      `json:"create"`
	Same   int      `json:"same"`
	Differ []string `json:"differ,omitempty"`
	// Deliveries counts the selected deliveries, and InFlight those that the system is attempting.
	Deliveries int `json:"deliveries"`
	InFlight   int `json:"in_flight"`
	// Since is the earliest time of receipt of the selected deliveries.
	Since time.Time `json:"since,omitzero"`
	// Warning says that the system's API isn't reached securely; "" if it is.
	Warning string `json:"warning,omitempty"`
	left
}

// plannedEndpoint is an endpoint in a plan.
type plannedEndpoint struct {
	Name   string                    `json:"name"`
	Host   string                    `json:"host"`
	State  delivery.DestinationState `json:"state"`
	Reason string                    `json:"reason,omitempty"`
	// Secrets counts those that will sign.
	Secrets int           `json:"secrets"`
	Lost    []movein.Loss `json:"lost,omitempty"`
}

// plan compares endpoints with what is here.
func (m *move) plan(all []movein.Endpoint) (p movePlan, err error) {
	p.From, p.Warning = m.from, m.warning
	for _, e := range all {
		one := plannedEndpoint{Name: e.Destination.Name, State: e.State, Reason: e.Reason, Secrets: len(e.Secrets), Lost: e.Lost}
		if e.Destination.HTTP != nil {
			if u, err := url.Parse(e.Destination.HTTP.URL); err == nil {
				one.Host = u.Host
			}
		}
		p.Endpoints = append(p.Endpoints, one)
	}
	for chunk := range slices.Chunk(all, endpointsPerRequest) {
		changes, err := m.changes(chunk)
		if err != nil {
			return p, err
		}
		p.Same += changes.Same
		for _, one := range changes.Changes {
			if one.Op == declared.Create {
				p.Create++
			} else {
				p.Differ = append(p.Differ, one.Kind+" "+one.Name)
			}
		}
	}
	return p, nil
}

// count counts the selected deliveries.
func (m *move) count(p *movePlan) (err error) {
	if p.InFlight, err = m.of.InFlight(m.c.Context()); err != nil {
		return err
	}
	of, _ := m.selection()
	err = m.events(m.c.Context(), of, func(movein.Event) error { p.Deliveries++; return nil })
	p.Since, p.left = of.Since, m.left
	return err
}

// write prints a plan.
func (p movePlan) write(w io.Writer) error {
	const shown = 20
	table := cli.NewTable(w, "DESTINATION", "HOST", "STATE", "SECRETS", "REASON")
	for _, e := range p.Endpoints[:min(shown, len(p.Endpoints))] {
		table.Row(e.Name, e.Host, string(e.State), cli.Number(int64(e.Secrets)), cli.Shorten(e.Reason))
	}
	err := table.Flush()
	if more := len(p.Endpoints) - shown; more > 0 {
		fmt.Fprintf(w, "… and %d more: --json lists all\n", more)
	}
	fmt.Fprintf(w, "%d endpoints: %d destinations and subscriptions to create, %d unchanged, %d differ and stay as they are here\n",
		len(p.Endpoints), p.Create, p.Same, len(p.Differ))
	if p.Deliveries > 0 || p.InFlight > 0 {
		fmt.Fprintf(w, "%d deliveries to send, of events since %s; %s is attempting %d right now\n",
			p.Deliveries, p.Since.UTC().Format(time.DateOnly), p.From, p.InFlight)
	}
	if p.Warning != "" {
		fmt.Fprintln(w, "warning: "+p.Warning)
	}
	p.left.write(w)
	return errors.Join(err, p.writeLost(w))
}

// writeLost prints what can't be imported, each reason once.
func (p movePlan) writeLost(w io.Writer) error {
	var order []movein.Loss
	names := map[movein.Loss][]string{}
	for _, e := range p.Endpoints {
		for _, l := range e.Lost {
			if names[l] == nil {
				order = append(order, l)
			}
			names[l] = append(names[l], e.Name)
		}
	}
	if len(order) == 0 {
		return nil
	}
	table := cli.NewTable(w, "NOT IMPORTED", "ENDPOINTS", "SUCH AS", "WHY")
	for _, l := range order {
		table.Row(l.What, cli.Number(int64(len(names[l]))), names[l][0], cli.Shorten(l.Why))
	}
	return table.Flush()
}

// errInFlight refuses to send deliveries that the system is attempting.
func (p movePlan) errInFlight() error {
	return fmt.Errorf("%s is attempting %d deliveries right now: stop its workers and try again, or add --in-flight to send them, "+
		"too, so that some may arrive twice", p.From, p.InFlight)
}
