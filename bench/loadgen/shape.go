package loadgen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"holdfast/internal/ledger"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/reading"
)

// shape makes the events of one type: the sample of its definition as a template, for one time.
type shape struct {
	provider  *providers.Provider
	eventType string
	at        time.Time
	padding   int // bytes; negative means none

	path    string
	headers []headerPattern
	// A body is before, the items separated by commas, and after. A request that isn't a batch is one item.
	before, after pattern
	items         []itemPattern
	isBatch       bool
	// exact is false if the template's output differs from the sample's. Then every event is evaluated.
	exact bool
}

type headerPattern struct {
	name  string
	value pattern
}

type itemPattern struct {
	body, key pattern
	// hashed means that the key ends with the hash of the body.
	hashed bool
	// content returns the hash that a guessed key ends with; nil if the key isn't guessed.
	content func(body []byte) string
}

// unsent is an unsigned request with its events.
type unsent struct {
	request *auth.Request
	events  []ledger.Event
}

func newShape(p *providers.Provider, eventType string, at time.Time, size int) (*shape, error) {
	s := &shape{provider: p, eventType: eventType, at: at, padding: -1}
	marked, items, err := s.evaluate(markID, markEntity)
	if err == nil && size > 0 {
		s.padding = size - len(marked.Body) - len(paddingField)
		marked, items, err = s.evaluate(markID, markEntity)
	}
	if err != nil {
		return nil, fmt.Errorf("make an event of %s %s: %w", p.Name(), eventType, err)
	}
	s.path = marked.Path
	for name, values := range marked.Header {
		s.headers = append(s.headers, headerPattern{name, newPattern([]byte(values[0]))})
	}
	s.isBatch = items[0].Root != nil
	if !arePieces(items, marked.Body) {
		return nil, fmt.Errorf("make an event of %s %s: its events aren't pieces of the body", p.Name(), eventType)
	}
	s.cut(marked.Body, items)
	s.exact = s.isExact()
	return s, nil
}

// evaluate makes a request with the provider's definition, slowly but exactly.
func (s *shape) evaluate(id, entity string) (*auth.Request, []reading.Item, error) {
	r, err := s.provider.SampleOf(s.eventType, id, entity, s.at)
	if err != nil {
		return nil, nil, err
	}
	if r.Body, err = pad(r.Body, s.padding); err != nil {
		return nil, nil, err
	}
	// Keys may only use what the signature covers, so the request is authenticated before it is split.
	signed := *r
	signed.Header = cloneHeaders(r.Header)
	signed.RemoteIP, signed.URL = netip.IPv6Loopback(), "http://localhost"+r.Path
	if err := s.provider.SignWithSecrets(&signed, time.Now()); err != nil {
		return nil, nil, fmt.Errorf("sign: %w: is %s set?", err, strings.Join(s.provider.SecretNames(), " or "))
	}
	if !bytes.Equal(signed.Body, r.Body) {
		return nil, nil, errors.New("its signature is in the body, so a ledger can't record the body in advance")
	}
	// A request refused here for its address or its secret may be accepted by the target.
	_ = s.provider.Authenticate(&signed, time.Now())
	items, err := s.provider.Split(&signed)
	if err == nil && len(items) == 0 {
		err = errors.New("the sample has no event")
	}
	return r, items, err
}

func cloneHeaders(h map[string][]string) map[string][]string {
	clone := make(map[string][]string, len(h)+2)
	for name, values := range h {
		clone[name] = values
	}
	return clone
}

// arePieces reports whether each event is a piece of the body as it was sent. Some are assembled from several pieces.
func arePieces(items []reading.Item, body []byte) bool {
	for i := range items {
		at := bytes.Index(body, items[i].Body)
		if at < 0 {
			return false
		}
		body = body[at+len(items[i].Body):]
	}
	return true
}

// cut makes patterns from a request with markers.
func (s *shape) cut(body []byte, items []reading.Item) {
	from, to := 0, len(body)
	for i := range items {
		start := bytes.Index(body[from:], items[i].Body) + from
		if i == 0 {
			s.before = newPattern(body[:start])
		}
		from = start + len(items[i].Body)
		to = from
		s.items = append(s.items, s.newItem(&items[i]))
	}
	s.after = newPattern(body[to:])
}

func (s *shape) newItem(i *reading.Item) itemPattern {
	sum := sha256.Sum256(i.Body)
	p := itemPattern{body: newPattern(i.Body)}
	hash := hex.EncodeToString(sum[:])
	if i.Content != "" {
		hash = i.Content
		p.content = func(body []byte) string { return s.provider.ContentOf(i.Type, body) }
	}
	key, hashed := strings.CutSuffix(i.Key, hash)
	p.key, p.hashed = newPattern([]byte(key)), hashed
	return p
}

// isExact compares the template with the sample, using other values than those it was made from.
func (s *shape) isExact() bool {
	const id, entity = "another0000000001", "another"
	r, items, err := s.evaluate(id, entity)
	if err != nil {
		return false
	}
	made := s.fill([]string{id}, entity, 0)
	want := &unsent{request: r, events: eventsOf(s.provider, items)}
	if !bytes.Equal(made.request.Body, want.request.Body) || len(made.events) != len(want.events) {
		return false
	}
	for i := range made.events {
		if made.events[i] != want.events[i] {
			return false
		}
	}
	for name, values := range want.request.Header {
		if got := made.request.Header[name]; len(got) != 1 || got[0] != values[0] {
			return false
		}
	}
	return true
}

func eventsOf(p *providers.Provider, items []reading.Item) []ledger.Event {
	events := make([]ledger.Event, len(items))
	for i := range items {
		events[i] = ledger.Event{Provider: p.Name(), Key: items[i].Key, SHA256: sha256.Sum256(items[i].Body)}
	}
	return events
}

// fill makes a request: with one ID the items of the sample, with more IDs one item for each.
func (s *shape) fill(ids []string, entity string, room int) *unsent {
	n := len(ids)
	if n == 1 {
		n = len(s.items)
	}
	u := &unsent{events: make([]ledger.Event, n)}
	body := s.before.append(make([]byte, 0, room), ids[0], entity)
	for i := range n {
		item, id := &s.items[i%len(s.items)], ids[i%len(ids)]
		if i > 0 {
			body = append(body, ',')
		}
		start := len(body)
		body = item.body.append(body, id, entity)
		u.events[i] = item.event(s.provider.Name(), body[start:], id, entity)
	}
	body = s.after.append(body, ids[0], entity)
	u.request = &auth.Request{Method: "POST", Path: s.path, Body: body, Header: s.header(ids[0], entity)}
	return u
}

func (s *shape) header(id, entity string) map[string][]string {
	h := make(map[string][]string, len(s.headers)+2)
	for _, one := range s.headers {
		h[one.name] = []string{one.value.fill(id, entity)}
	}
	return h
}

func (p *itemPattern) event(provider string, body []byte, id, entity string) ledger.Event {
	e := ledger.Event{Provider: provider, SHA256: sha256.Sum256(body)}
	key := p.key.append(make([]byte, 0, 80), id, entity)
	switch {
	case p.hashed && p.content != nil:
		key = append(key, p.content(body)...)
	case p.hashed:
		key = hex.AppendEncode(key, e.SHA256[:])
	}
	e.Key = string(key)
	return e
}

// make calls fill, or evaluate if the template isn't exact.
func (s *shape) make(ids []string, entity string) (*unsent, error) {
	if s.exact {
		return s.fill(ids, entity, 1024), nil
	}
	r, items, err := s.evaluate(ids[0], entity)
	if err != nil {
		return nil, err
	}
	return &unsent{request: r, events: eventsOf(s.provider, items)}, nil
}

const paddingField = `"padding":"",`

// pad adds a field to a JSON object.
func pad(body []byte, length int) ([]byte, error) {
	if length < 0 {
		return body, nil
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, errors.New("only a body that is a JSON object can be padded")
	}
	padded := make([]byte, 0, len(body)+len(paddingField)+length)
	padded = append(padded, `{"padding":"`...)
	padded = append(padded, bytes.Repeat([]byte("x"), length)...)
	padded = append(padded, `",`...)
	return append(padded, body[1:]...), nil
}
