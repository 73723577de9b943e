package movein

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"holdfast/delivery"
)

// Endpoint is an endpoint as Holdfast has it.
type Endpoint struct {
	Destination   delivery.Destination
	Subscriptions []delivery.Subscription
	// Secrets sign requests, the newest first; the others expire.
	Secrets []Signing
	// State is not ready if the system doesn't send to the endpoint, or Holdfast can't send as the system did. Reason says why.
	State  delivery.DestinationState
	Reason string
	// Lost lists what can't be imported, and why.
	Lost []Loss
}

// Loss is something that can't be imported.
type Loss struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

func (e *Endpoint) lose(what, why string, args ...any) {
	e.Lost = append(e.Lost, Loss{what, fmt.Sprintf(why, args...)})
}

// hold keeps the endpoint from getting anything until an operator has acted.
func (e *Endpoint) hold(what, why string) {
	e.lose(what, "%s", why)
	reason := "imported without its " + what + ": " + why
	if e.State == delivery.DestinationReady {
		e.State = delivery.DestinationPaused
	}
	if e.Reason != "" {
		reason = e.Reason + "; " + reason
	}
	e.Reason = shortened(reason)
}

// shortened cuts a reason to what the operator API accepts. A plan has all of it.
func shortened(reason string) string {
	const most, end = 1024, "…"
	reason = strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", ""), "\ufffd")
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most-len(end)], "") + end
}

// checked makes an endpoint that Holdfast accepts: with a user and a password in a header instead of the URL, and with the
// default retry policy if it refuses the endpoint's. Otherwise the endpoint has no destination, so that the others are imported.
func (e *Endpoint) checked() Endpoint {
	if e.Destination.HTTP == nil {
		return *e
	}
	e.moveUser()
	refused := e.Destination.Check()
	if refused != nil {
		without := e.Destination
		if without.Retry = (delivery.Retry{}); without.Check() == nil {
			e.lose("retry policy", "Holdfast refuses it, and uses its default")
			e.Destination, refused = without, nil
		}
	}
	for _, s := range e.Subscriptions {
		if refused == nil {
			refused = s.CheckFor(e.Destination)
		}
	}
	if refused != nil {
		e.Destination.HTTP, e.Secrets = nil, nil
		e.lose("destination", "Holdfast refuses it: %s", refused)
	}
	return *e
}

// moveUser moves a user and a password from the URL to the header that they become in requests.
func (e *Endpoint) moveUser() {
	u, err := url.Parse(e.Destination.HTTP.URL)
	if err != nil || u.User == nil {
		return
	}
	password, _ := u.User.Password()
	headers := delivery.Headers{"authorization": basicAuth(u.User.Username(), password)}
	for name, value := range e.Destination.HTTP.Headers {
		if strings.EqualFold(name, "authorization") {
			delete(headers, "authorization")
		}
		headers[name] = value
	}
	u.User = nil
	e.Destination.HTTP.URL, e.Destination.HTTP.Headers = u.String(), headers
}

func basicAuth(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// maxName is the longest name of a destination, in bytes.
const maxName = 63

// nameOf returns a name for something of a system: the same for the same ID.
func nameOf(of From, id string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(id))
	name := string(of) + "-" + clean
	return name[:min(len(name), maxName)]
}

// subscription returns a subscription to the events of a source, whose body is their data.
func subscription(name, to, source string, types []string) delivery.Subscription {
	s := delivery.Subscription{Name: name, To: to, Body: ".body.data", Active: true}
	s.Events.Providers, s.Events.Types = []string{"events"}, types
	if source != "" {
		s.Events.Filter = ".body.source == " + quoted(source)
	}
	return s
}

// withoutAll returns nil for a list that selects everything.
func withoutAll(types []string) []string {
	if len(types) == 0 || slices.Contains(types, "*") {
		return nil
	}
	return types
}

func declare(hmac map[string]any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{"hmac": hmac}) //nolint:errchkjson // it has only texts
	return text
}

func perSecond(n int, seconds uint64) *delivery.Rate {
	if n <= 0 || seconds == 0 {
		return nil
	}
	return &delivery.Rate{Requests: n, Per: durationOf(seconds)}
}
