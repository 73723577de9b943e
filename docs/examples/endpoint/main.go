// Command endpoint receives deliveries of Holdfast. It verifies signatures, drops requests that it has already seen, and
// prints the rest. It must stay an example: it has no other dependency than a Standard Webhooks library.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxBody is in bytes. Holdfast's largest events have 25 MiB; an envelope is larger.
const maxBody = 50 << 20

func main() {
	// The secret is what `holdfast subscription create` has shown.
	r, err := newEndpoint(os.Getenv("WEBHOOK_SECRET"), func(id string, body []byte) error {
		_, err := fmt.Fprintf(os.Stdout, "%s %s\n", id, body)
		return err
	})
	if err != nil {
		slog.Error("read WEBHOOK_SECRET", "error", err)
		os.Exit(1)
	}
	server := &http.Server{Addr: "127.0.0.1:9099", Handler: r, ReadHeaderTimeout: 5 * time.Second}
	slog.Error("serve", "error", server.ListenAndServe())
	os.Exit(1)
}

// endpoint answers 204 once a delivery is processed, 401 if its signature is wrong, and 500 if processing failed: Holdfast then
// tries again.
type endpoint struct {
	verifier *standardwebhooks.Webhook
	process  func(id string, body []byte) error

	mu sync.Mutex
	// seen has the IDs of processed deliveries. Keep yours in your database, in the transaction that processes the delivery.
	seen map[string]bool
}

func newEndpoint(secret string, process func(id string, body []byte) error) (*endpoint, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	return &endpoint{verifier: verifier, process: process, seen: map[string]bool{}}, err
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if err := e.verifier.Verify(body, request.Header); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if err := e.once(request.Header.Get("webhook-id"), body); err != nil {
		slog.Error("answer 500", "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// once processes a delivery unless it was processed before: an attempt whose response got lost is repeated with the same ID.
func (e *endpoint) once(id string, body []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[id] {
		return nil
	}
	if err := e.process(id, body); err != nil {
		return fmt.Errorf("process delivery %s: %w", id, err)
	}
	e.seen[id] = true
	return nil
}
