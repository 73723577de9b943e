package soak

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// kind is the kind of an operation.
type kind string

const (
	send    kind = "send"
	replay  kind = "replay"
	discard kind = "discard"
	reopen  kind = "reopen"
	edit    kind = "edit"
	// forget is the first half of an expunge: it deletes the runs in Temporal.
	forget  kind = "forget"
	expunge kind = "expunge"
	// deliver is an attempt at the endpoint.
	deliver kind = "deliver"
	// read reads all that the database has about a key; finish does so when no work is pending.
	read   kind = "read"
	finish kind = "finish"
)

// generations limits how often a key is edited: the event as sent is generation 0, its edit generation 1, the edit of that 2.
const generations = 3

// call is the beginning of an operation.
type call struct {
	Key        string // as sent
	Kind       kind
	Generation int
}

// outcome is the end of an operation. Its fields other than Answer depend on the kind.
type outcome struct {
	Answer answer
	// EventID and Status are what the response to a sender says, and Result the result of the run; an edit has the ID of the new
	// event.
	EventID, Status, Result string
	// WebhookID is of a delivery; Confirmed says whether the endpoint answered it with a 2xx.
	WebhookID string
	Confirmed bool
	// Seen is the result of a read, by generation.
	Seen [generations]observation
}

// answer says whether an operation had its effect.
type answer string

const (
	acknowledged answer = "acknowledged"
	refused      answer = "refused"
	// unknown: no answer, or one that promises nothing. The effect may come later.
	unknown answer = "unknown"
)

// observation is the database's view of one generation of a key.
type observation struct {
	EventID  string // of the key's owner
	Rows     int
	Status   string // of the row
	Waits    bool   // it has an open dead letter
	Decision string
	Effect   bool // its entity has the field that the event sets
	// Reported is how often the change feed says that it was processed. Only finish reads it.
	Reported int
}

// history records operations. It is safe for concurrent use.
type history struct {
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// begin records a call and returns the function that records its outcome. Without an outcome, the operation never ends.
func (h *history) begin(c call) (end func(outcome)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.operations)
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: n, Input: c, Output: outcome{Answer: unknown}, Call: h.now(), Return: math.MaxInt64,
	})
	return func(o outcome) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.operations[n].Output = o
		if o.Answer != unknown {
			h.operations[n].Return = h.now()
		}
	}
}

// close ends the operations that got no answer, since their effect can't come later than now, and returns all.
func (h *history) close() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.operations {
		h.operations[i].Return = min(h.operations[i].Return, h.now())
	}
	return h.operations
}

// keys returns the keys sent so far, oldest first.
func (h *history) keys() (keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := map[string]bool{}
	for _, o := range h.operations {
		if key := o.Input.(call).Key; !known[key] {
			known[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// describe lists operations as a table, the earliest first.
func describe(operations ...porcupine.Operation) string {
	var b strings.Builder
	for _, o := range slices.SortedFunc(slices.Values(operations), func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Call, b.Call)
	}) {
		fmt.Fprintf(&b, "%9.3fs to %9.3fs  %s\n", time.Duration(o.Call).Seconds(), time.Duration(o.Return).Seconds(),
			describeOperation(o))
	}
	return b.String()
}

func describeOperation(o porcupine.Operation) string {
	c, out := o.Input.(call), o.Output.(outcome)
	text := fmt.Sprintf("%s r%d: %s", c.Kind, c.Generation, out.Answer)
	for _, more := range []string{out.Status, out.Result, out.EventID, out.WebhookID} {
		if more != "" {
			text += " " + more
		}
	}
	switch c.Kind {
	case deliver:
		text += fmt.Sprintf(" confirmed=%t", out.Confirmed)
	case read, finish:
		for g, seen := range out.Seen {
			if seen != (observation{}) {
				text += fmt.Sprintf("\n%27sr%d: %+v", "", g, seen)
			}
		}
	default:
	}
	return text
}
