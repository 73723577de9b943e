package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/declared"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
	"holdfast/operator/api/deliveryapi"
)

// move imports a system's endpoints and events.
type move struct {
	*system

	c   *cobra.Command
	api *cli.API
	of  movein.System
	// warning is what is wrong with the way to the system.
	warning string
	// subscriptions are those that the system's endpoints become.
	subscriptions map[string]bool
	left          left
}

// left counts selected events that can't be imported, and names one of each kind.
type left struct {
	// Gone are events whose payload the system no longer has, Homeless deliveries without a destination here.
	Gone     int64  `json:"without_payload,omitempty"`
	Homeless int64  `json:"without_destination,omitempty"`
	Event    string `json:"such_as_event,omitempty"`
	Name     string `json:"such_as_destination,omitempty"`
}

// events reads the selected events that can be imported.
func (m *move) events(ctx context.Context, of movein.Selection, each func(movein.Event) error) error {
	m.left = left{}
	return m.of.Events(ctx, of, func(e movein.Event) error {
		switch {
		case e.To != "" && !m.subscriptions[e.To]:
			m.left.Homeless++
			m.left.Name = cmp.Or(m.left.Name, e.To)
		case e.IsGone:
			m.left.Gone++
			m.left.Event = cmp.Or(m.left.Event, e.ID)
		default:
			return each(e)
		}
		return nil
	})
}

func (l left) write(w io.Writer) {
	if l.Homeless > 0 {
		fmt.Fprintf(w, "%d deliveries can't be sent: they have no destination here, such as %s\n", l.Homeless, cli.Printable(l.Name))
	}
	if l.Gone > 0 {
		fmt.Fprintf(w, "%d events can't be imported: their payload is gone there, such as that of %s\n", l.Gone, cli.Printable(l.Event))
	}
}

// movePlan says what comes over, and what doesn't. It has no secrets and no paths of URLs.
type movePlan struct {
	From      movein.From    `json:"from"`
	Endpoints []plannedPoint `json:"endpoints"`
	// Create and Same count destinations and subscriptions; Differ names those that stay as they are here.
	Create int      `json:"create"`
	Same   int      `json:"same"`
	Differ []string `json:"differ,omitempty"`
	// Deliveries counts the selected deliveries, and InFlight those that the system is attempting.
	Deliveries int `json:"deliveries"`
	InFlight   int `json:"in_flight"`
	// Since is the earliest time of receipt of the selected deliveries.
	Since time.Time `json:"since,omitzero"`
	// Warning is "" if the system's API is reached securely.
	Warning string `json:"warning,omitempty"`
	left
}

// plannedPoint is an endpoint in a plan.
type plannedPoint struct {
	Name   string                    `json:"name"`
	Host   string                    `json:"host"`
	State  delivery.DestinationState `json:"state"`
	Reason string                    `json:"reason,omitempty"`
	// Secrets counts those that will sign.
	Secrets int           `json:"secrets"`
	Lost    []movein.Loss `json:"lost,omitempty"`
}

// maxEndpoints bounds the endpoints of a system, which are kept in memory.
const maxEndpoints = 10_000

// endpoints reads all endpoints.
func (m *move) endpoints() (all []movein.Endpoint, err error) {
	names := map[string]bool{}
	m.subscriptions = map[string]bool{}
	err = m.of.Endpoints(m.c.Context(), func(e movein.Endpoint) error {
		if len(all) == maxEndpoints {
			return fmt.Errorf("a system can have up to %d endpoints", maxEndpoints)
		}
		if names[e.Destination.Name] {
			return fmt.Errorf("two endpoints would be called %s", e.Destination.Name)
		}
		names[e.Destination.Name] = true
		for _, s := range e.Subscriptions {
			m.subscriptions[s.Name] = e.Destination.HTTP != nil
		}
		all = append(all, e)
		return nil
	})
	return all, err
}

// plan reads the system, and compares it with what is here.
func (m *move) plan(all []movein.Endpoint) (p movePlan, err error) {
	p.From, p.Warning = m.from, m.warning
	for _, e := range all {
		one := plannedPoint{Name: e.Destination.Name, State: e.State, Reason: e.Reason, Secrets: len(e.Secrets), Lost: e.Lost}
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
	if !m.sends() {
		return p, nil
	}
	if p.InFlight, err = m.of.InFlight(m.c.Context()); err != nil {
		return p, err
	}
	of, _ := m.selection()
	err = m.events(m.c.Context(), of, func(movein.Event) error { p.Deliveries++; return nil })
	p.Since, p.left = of.Since, m.left
	return p, err
}

const endpointsPerRequest = 200

// stateOf declares endpoints.
func stateOf(all []movein.Endpoint) declared.State {
	s := declared.State{Destinations: map[string]delivery.Destination{}, Subscriptions: map[string]declared.Subscription{}}
	for _, e := range all {
		if e.Destination.HTTP == nil {
			continue
		}
		d := e.Destination
		d.Name = ""
		s.Destinations[e.Destination.Name] = d
		for _, one := range e.Subscriptions {
			name := one.Name
			one.Name = ""
			s.Subscriptions[name] = declared.Subscription{Subscription: one}
		}
	}
	return s
}

func (m *move) changes(all []movein.Endpoint) (plan declared.Plan, err error) {
	done, err := m.apply(deliveryapi.ApplyRequest{State: stateOf(all), DryRun: true})
	return done.Plan, err
}

func (m *move) apply(body deliveryapi.ApplyRequest) (done deliveryapi.Applied, err error) {
	body.Reasoned = cli.Reasoned(m.c)
	err = m.api.Change(m.c.Context(), http.MethodPost, "/subscriptions/apply", body, &done)
	var refused *cli.RefusalError
	if errors.As(err, &refused) && len(refused.Problems) > 0 {
		var errs []error
		for _, p := range refused.Problems {
			errs = append(errs, fmt.Errorf("%s: %s", p.In, p.Reason))
		}
		return done, errors.Join(errs...)
	}
	if err == nil && done.Problem != "" {
		err = errors.New(cli.Printable(done.Problem))
	}
	return done, err
}

// create creates the endpoints that don't exist, in this order: destinations with their secrets, their states, subscriptions. So
// nothing is sent before an endpoint is complete, and a run that was interrupted can be repeated.
func (m *move) create(all []movein.Endpoint) error {
	for chunk := range slices.Chunk(all, endpointsPerRequest) {
		changes, err := m.changes(chunk)
		if err != nil {
			return err
		}
		isNew := map[string]bool{}
		for _, one := range changes.Changes {
			isNew[one.Kind+" "+one.Name] = one.Op == declared.Create
		}
		if err := m.createChunk(chunk, isNew); err != nil {
			return err
		}
	}
	return nil
}

func (m *move) createChunk(chunk []movein.Endpoint, isNew map[string]bool) error {
	state := stateOf(chunk)
	secrets := map[string]string{}
	for _, e := range chunk {
		if name := e.Destination.Name; !isNew["destination "+name] {
			delete(state.Destinations, name)
		} else if n := len(e.Secrets); n > 0 {
			secrets[name] = string(e.Secrets[n-1].Secret) // the oldest: those after it are rotated in
		}
	}
	subscriptions := state.Subscriptions
	state.Subscriptions = nil
	if _, err := m.apply(deliveryapi.ApplyRequest{State: state, Secrets: secrets}); err != nil {
		return err
	}
	for _, e := range chunk {
		if err := m.complete(e, isNew); err != nil {
			return fmt.Errorf("%s: %w", e.Destination.Name, err)
		}
	}
	for name := range subscriptions {
		if !isNew["subscription "+name] {
			delete(subscriptions, name)
		}
	}
	_, err := m.apply(deliveryapi.ApplyRequest{State: declared.State{Subscriptions: subscriptions}})
	return err
}

// complete rotates in newer secrets, and sets the state of an endpoint that has no subscription yet.
func (m *move) complete(e movein.Endpoint, isNew map[string]bool) error {
	if e.Destination.HTTP == nil {
		return nil
	}
	path := cli.Path("destinations", e.Destination.Name)
	for i := len(e.Secrets) - 2; i >= 0; i-- {
		if err := m.rotate(path, e.Secrets[i+1], e.Secrets[i]); err != nil {
			return err
		}
	}
	hasNew := slices.ContainsFunc(e.Subscriptions, func(s delivery.Subscription) bool { return isNew["subscription "+s.Name] })
	verbs := map[delivery.DestinationState]string{delivery.DestinationPaused: "/pause", delivery.DestinationDisabled: "/disable"}
	verb := verbs[e.State]
	if verb == "" || !hasNew {
		return nil
	}
	reason := cli.Reasoned(m.c)
	reason.Reason = e.Reason
	return m.api.Change(m.c.Context(), http.MethodPost, path+verb, reason, nil)
}

// maxGrace is the longest overlap of two secrets that Holdfast allows.
const maxGrace = 7 * 24 * time.Hour

// rotate replaces a secret by a newer one, unless that has been done, or an operator has set another one.
func (m *move) rotate(path string, older, newer movein.Signing) error {
	var view deliveryapi.DestinationView
	if err := m.api.Read(m.c.Context(), path, nil, &view); err != nil {
		return err
	}
	has := func(s movein.Signing) bool {
		fingerprint := admin.Fingerprint(delivery.Secret{Value: string(s.Secret)})
		return slices.ContainsFunc(view.Secrets, func(v deliveryapi.SecretView) bool { return v.Fingerprint == fingerprint })
	}
	if has(newer) || !has(older) {
		return nil
	}
	grace := event.Duration(min(max(time.Until(older.Until), time.Minute), maxGrace))
	return m.api.Change(m.c.Context(), http.MethodPost, path+"/rotate-secret", deliveryapi.Rotation{
		Reasoned: cli.Reasoned(m.c), Secret: string(newer.Secret), Grace: &grace,
	}, nil)
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

// errInFlight refuses to send what the system is sending.
func (p movePlan) errInFlight() error {
	return fmt.Errorf("%s is attempting %d deliveries right now: stop its workers and try again, or add --in-flight to send them, "+
		"too, so that some may arrive twice", p.From, p.InFlight)
}

// move imports a system.
func (o *importOptions) move(c *cobra.Command, a *cli.API) error {
	source, err := o.system.source()
	if err != nil {
		return cli.UsageError(c, err)
	}
	of, err := movein.Open(source)
	if err == nil && o.sends() && c.Flags().Changed("detach") {
		err = errors.New("--detach can't be combined with --undelivered or --failed: deliveries are queued after the import")
	}
	if err != nil {
		return cli.UsageError(c, err)
	}
	m := &move{system: &o.system, c: c, api: a, of: of}
	if source.SendsTokenInClear() {
		m.warning = "--from-url is http://, so the token and the secrets can be read on the way: use https://, or a tunnel to localhost"
	}
	all, err := m.endpoints()
	if err != nil {
		return err
	}
	plan, err := m.plan(all)
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
