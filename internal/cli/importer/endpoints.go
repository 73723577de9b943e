package importer

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/declared"
	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
	"holdfast/operator/api/deliveryapi"
)

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
// nothing is sent before an endpoint is complete, and an interrupted run can be repeated.
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

// rotate replaces a secret with a newer one, unless that has been done, or an operator has set another one.
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
	grace := event.Duration(min(max(time.Until(older.Until), time.Minute), admin.MaxGrace))
	return m.api.Change(m.c.Context(), http.MethodPost, path+"/rotate-secret", deliveryapi.Rotation{
		Reasoned: cli.Reasoned(m.c), Secret: string(newer.Secret), Grace: &grace,
	}, nil)
}
