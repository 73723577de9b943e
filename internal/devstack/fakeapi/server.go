package fakeapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Credential is the only credential that the servers accept: as token, password, or client secret.
const Credential = "fake-api-credential" //nolint:gosec // of a fake

// Event is an event of a provider.
type Event struct {
	ID   string
	Type string
	// Time is when it happened. Listed later than its neighbors, it has an old time.
	Time time.Time
	// Object is the ID of the object that the event is about; "" for the style's own.
	Object string
	// Text is more of the object, if the style has it.
	Text string
	// IsDelivered: a log of deliveries has it as delivered, and otherwise as failed.
	IsDelivered bool
}

// Fault is an error to simulate for one request.
type Fault struct {
	// Status replaces the answer's, unless it is 0.
	Status int
	// RetryAfter is the header of that name.
	RetryAfter string
	// IsTruncated ends the JSON in the middle; IsDropped ends the connection there.
	IsTruncated, IsDropped bool
	// Delay is how long the answer takes.
	Delay time.Duration
}

// Server lists events in the form of one provider. It is safe for concurrent use.
type Server struct {
	style Style
	// PageCap limits the items of a page, whatever the request asks for; 0 for no limit.
	PageCap int
	// Fault returns what goes wrong with the n-th request, from 1; nil for nothing.
	Fault func(n int) Fault

	mu       sync.Mutex
	events   []Event
	requests int
	asked    []string
}

// Body returns an event as an item of the list. Stripe's webhooks have the same body.
func (s *Style) Body(e Event) []byte {
	body, err := json.Marshal(s.item(e))
	if err != nil {
		panic(err) // maps, lists, numbers and texts have JSON
	}
	return body
}

// New returns a server without events.
func New(style Style) *Server { return &Server{style: style} }

// Add lists further events. Their order is that in which they were created.
func (s *Server) Add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
}

// Requests returns the number of requests so far.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Asked returns the IDs of the events that it was asked to send again, in this order.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *Server) begin() (events []Event, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.Fault != nil {
		f = s.Fault(s.requests)
	}
	return slices.Clone(s.events), f
}

// ServeHTTP answers the request for a page, or for a token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.style.oauthPath != "" && r.URL.Path == s.style.oauthPath {
		serveToken(w, r)
		return
	}
	events, fault := s.begin()
	select {
	case <-time.After(fault.Delay):
	case <-r.Context().Done():
		return
	}
	switch {
	case fault.Status != 0:
		if fault.RetryAfter != "" {
			w.Header().Set("retry-after", fault.RetryAfter)
		}
		http.Error(w, `{"error": "this fake was told to fail"}`, fault.Status)
	case s.style.follows != nil && s.followsUp(w, r, events):
	case r.URL.Path != s.style.path || r.Method != s.style.method:
		http.Error(w, `{"error": "not found"}`, http.StatusNotFound)
	case !s.style.allows(r):
		http.Error(w, `{"error": "unauthorized"}`, http.StatusUnauthorized)
	default:
		s.list(w, r, events, fault)
	}
}

// followsUp answers the request for one event, if it is one.
func (s *Server) followsUp(w http.ResponseWriter, r *http.Request, events []Event) bool {
	for _, e := range events {
		method, path, status, answer := s.style.follows(e)
		if r.Method != method || r.URL.Path != path {
			continue
		}
		if !s.style.allows(r) {
			http.Error(w, `{"error": "unauthorized"}`, http.StatusUnauthorized)
			return true
		}
		if method == http.MethodPost {
			s.mu.Lock()
			s.asked = append(s.asked, e.ID)
			s.mu.Unlock()
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err) // maps, lists, numbers and texts have JSON
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(text)
		return true
	}
	return false
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, events []Event, fault Fault) {
	p, err := s.style.parametersOf(r)
	if err != nil {
		http.Error(w, `{"error": "unreadable parameters"}`, http.StatusBadRequest)
		return
	}
	events = s.style.selected(events, p)
	size := min(p.limit, s.style.maxLimit)
	if s.PageCap > 0 {
		size = min(size, s.PageCap)
	}
	at, ok := s.style.position(events, p, size)
	if !ok {
		http.Error(w, `{"error": "no such cursor"}`, http.StatusBadRequest)
		return
	}
	page := events[at:min(at+size, len(events))]
	next := ""
	if at+len(page) < len(events) {
		next = s.style.cursorAfter(page, at, size)
	}
	items := make([]any, len(page))
	for i, e := range page {
		items[i] = s.style.item(e)
	}
	answer, err := json.Marshal(s.style.answer(w, r, items, next))
	if err != nil {
		panic(err) // maps, lists, numbers and texts have JSON
	}
	w.Header().Set("content-type", "application/json")
	switch {
	case fault.IsTruncated:
		_, _ = w.Write(answer[:len(answer)/2])
	case fault.IsDropped:
		w.Header().Set("content-length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer[:len(answer)/2])
	default:
		_, _ = w.Write(answer)
	}
}

// serveToken answers client credentials (RFC 6749, 4.4).
func serveToken(w http.ResponseWriter, r *http.Request) {
	_, secret, ok := r.BasicAuth()
	if err := r.ParseForm(); err != nil || !ok || secret != Credential || r.PostForm.Get("grant_type") != "client_credentials" {
		http.Error(w, `{"error": "invalid_client"}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("content-type", "application/json")
	_, _ = io.WriteString(w, `{"access_token": "`+Credential+`", "token_type": "Bearer", "expires_in": 32400}`)
}

type parameters struct {
	from, to time.Time // zero for no bound
	cursor   string
	limit    int
}

// parametersOf reads the query, or the body of a POST.
func (s *Style) parametersOf(r *http.Request) (p parameters, err error) {
	values := r.URL.Query()
	if s.fromBody != nil {
		if values, err = s.fromBody(r); err != nil {
			return p, err
		}
	}
	p.limit = s.defaultLimit
	if text := values.Get(s.limit); text != "" {
		if p.limit, err = strconv.Atoi(text); err != nil {
			return p, err
		}
	}
	p.cursor = values.Get(s.cursor)
	for name, to := range map[string]*time.Time{s.from: &p.from, s.to: &p.to} {
		if text := values.Get(name); name != "" && text != "" {
			if *to, err = s.parseTime(text); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

func (s *Style) parseTime(text string) (time.Time, error) {
	if !s.isUnix {
		return time.Parse(time.RFC3339, text)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0), err
}

// selected returns the events in the order of the list, without those outside the bounds.
func (s *Style) selected(events []Event, p parameters) []Event {
	if s.isUnix {
		for i := range events {
			events[i].Time = events[i].Time.Truncate(time.Second)
		}
	}
	events = slices.DeleteFunc(events, func(e Event) bool {
		before, after := e.Time.Before(p.from), !p.to.IsZero() && e.Time.After(p.to)
		if s.isExclusive {
			before, after = before || e.Time.Equal(p.from), after || e.Time.Equal(p.to)
		}
		return before || after
	})
	if !s.isByID { // otherwise they have the order of their creation
		slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	}
	if s.isNewestFirst {
		slices.Reverse(events)
	}
	return events
}

// position returns where a page begins. ok is false for a cursor that doesn't exist.
func (s *Style) position(events []Event, p parameters, size int) (at int, ok bool) {
	if p.cursor == "" {
		return 0, true
	}
	if s.isPage {
		n, err := strconv.Atoi(p.cursor)
		return min((n-1)*size, len(events)), err == nil && n > 0
	}
	if s.isOffset {
		at, err := strconv.Atoi(p.cursor)
		return min(at, len(events)), err == nil && at >= 0
	}
	at = slices.IndexFunc(events, func(e Event) bool { return e.ID == p.cursor })
	return at + 1, at >= 0
}

func (s *Style) cursorAfter(page []Event, at, size int) string {
	if s.isPage {
		return strconv.Itoa(at/size + 2)
	}
	if s.isOffset {
		return strconv.Itoa(at + len(page))
	}
	return page[len(page)-1].ID
}

// with returns the URL of a request with another parameter.
func with(r *http.Request, name, value string) string {
	u := url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path}
	if r.TLS == nil {
		u.Scheme = "http"
	}
	query := r.URL.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}
