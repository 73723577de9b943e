package chaos

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A customer's endpoint: it checks signatures as the specification says, and records each event that it has confirmed.
type receiver struct {
	t       testing.TB
	address string
	server  *http.Server

	mu        sync.Mutex
	behave    http.HandlerFunc    // nil while healthy
	confirmed map[string]int      // by event
	ids       map[string][]string // the webhook-ids of each event
	forged    []string
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{t: t, confirmed: map[string]int{}, ids: map[string][]string{}}
	r.listen("127.0.0.1:0")
	t.Cleanup(r.shut)
	return r
}

func (r *receiver) url() string { return "http://" + r.address + "/hooks" }

// listen opens it; shut closes it and its connections.
func (r *receiver) listen(address string) {
	listener, err := net.Listen("tcp", address)
	require.NoError(r.t, err)
	r.address = listener.Addr().String()
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(listener) }(r.server)
}

func (r *receiver) shut() { _ = r.server.Close() }

func (r *receiver) reopen() { r.listen(r.address) }

// behaves replaces its behaviour; nil makes it healthy again.
func (r *receiver) behaves(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behave = f
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 4<<20))
	if err != nil {
		return
	}
	id := request.Header.Get("holdfast-event-id")
	r.mu.Lock()
	behave := r.behave
	r.mu.Unlock()
	if !isAuthentic(request, body) {
		r.mu.Lock()
		r.forged = append(r.forged, id)
		r.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if behave != nil {
		request.Body = io.NopCloser(bytes.NewReader(body))
		behave(w, request)
		return
	}
	r.confirm(id, request.Header.Get("webhook-id"))
}

// confirm records what is about to be answered with 2xx.
func (r *receiver) confirm(id, webhookID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirmed[id]++
	if !slices.Contains(r.ids[id], webhookID) {
		r.ids[id] = append(r.ids[id], webhookID)
	}
}

// isAuthentic follows the specification:
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
func isAuthentic(request *http.Request, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", request.Header.Get("webhook-id"), request.Header.Get("webhook-timestamp"), body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.Contains(strings.Fields(request.Header.Get("webhook-signature")), want)
}

// seen returns the confirmed events.
func (r *receiver) seen() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.confirmed {
		ids = append(ids, id)
	}
	return ids
}

func (r *receiver) requireNoForgery() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.forged) > 0 {
		r.t.Errorf("%d deliveries were not signed as the book says, such as %s", len(r.forged), r.forged[0])
	}
}

// requireOneID asserts that each event came under one webhook-id, by which endpoints drop repeated deliveries.
func (r *receiver) requireOneID() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, webhookIDs := range r.ids {
		require.Len(r.t, webhookIDs, 1, "webhook-ids of event %s", id)
	}
}
