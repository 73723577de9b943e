package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/internal/lint"
	"holdfast/providers"
)

// document has events of every type that a provider publishes. It is generated from a file in testdata/documents.
type document struct {
	Provider string `json:"provider"`
	Bodies   []body `json:"bodies"`
}

// body is an event of a type, and the same one under another ID.
type body struct {
	Type   string  `json:"type"`
	First  request `json:"first"`
	Second request `json:"second"`
	// Entity is the kind and the ID of the entity that the event is about; empty if the document doesn't say it.
	Entity []string `json:"entity"`
	// Nothing means that the event names no entity with an ID.
	Nothing bool `json:"nothing"`
}

// generated has a function for each document that generates its events once.
var generated sync.Map

func generate(t *testing.T, name string) document {
	t.Helper()
	once, _ := generated.LoadOrStore(name, sync.OnceValues(func() (d document, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), maxWait)
		defer cancel()
		command := exec.CommandContext(ctx, "node", "--disable-warning=ExperimentalWarning", "bodies.mjs", name)
		// With LATEST=1, those of the newest packages.
		command.Dir, command.Stderr = cmp.Or(os.Getenv("NEWEST"), folder), os.Stderr
		command.Env = append(os.Environ(), "STRIPE_OPENAPI="+stripeDocument(ctx))
		out, err := command.Output()
		if err != nil {
			return d, err
		}
		err = json.Unmarshal(out, &d)
		return d, err
	}))
	d, err := once.(func() (document, error))()
	require.NoError(t, err, name)
	return d
}

// documents returns the names of the documents. Stripe's is in a module of Go, and is left out if that can't be fetched, unless
// NO_SKIP is set.
func documents(t *testing.T) (names []string) {
	t.Helper()
	libraries(t)
	files, err := filepath.Glob(filepath.Join(folder, "documents", "*.mjs"))
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".mjs")
		if name == "stripe" && stripeDocument(t.Context()) == "" && os.Getenv("NO_SKIP") == "" {
			t.Log("Stripe's OpenAPI document isn't read: its module can't be fetched")
			continue
		}
		names = append(names, name)
	}
	return names
}

// Every event type that a provider publishes has its name, a key and the entity that it is about, and two events with different
// IDs have two keys.
func TestEveryPublishedTypeOfEvent(t *testing.T) {
	t.Parallel()
	for _, name := range documents(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := generate(t, name)
			require.NotEmpty(t, d.Bodies)
			l := libraryOf(t, d.Provider)
			p := l.provider(t, catalogueWith(t, l.Secret))
			var wrong []string
			for _, b := range d.Bodies {
				if why := b.wrong(t, p, l.signing()); why != "" {
					wrong = append(wrong, b.Type+": "+why)
				}
			}
			require.Empty(t, wrong, "%d of %d types:\n%s", len(wrong), len(d.Bodies), strings.Join(wrong, "\n"))
		})
	}
}

// wrong explains how the definition misreads the events; "" if it reads them right.
func (b body) wrong(t *testing.T, p *providers.Provider, secret string) string {
	t.Helper()
	var keys []string
	for _, r := range []request{b.First, b.Second} {
		e := explained(t, p, r, secret)
		if e.Refused != "" || len(e.Events) != 1 {
			return fmt.Sprintf("refused as %q, with %d events: %s", e.Refused, len(e.Events), firstOf(r.Body))
		}
		got := e.Events[0]
		switch {
		case got.DeadLetter != nil:
			return "a dead letter: " + got.DeadLetter.Message
		case got.Type != b.Type:
			return "named " + got.Type
		case got.Key == "":
			return "has no key"
		case got.Unmapped != b.Nothing || len(b.Entity) > 0 && !b.among(got):
			return fmt.Sprintf("is about %v, not %v", changed(got), b.Entity)
		}
		keys = append(keys, got.Key)
	}
	if keys[0] == keys[1] {
		return "another ID has the same key"
	}
	return ""
}

// among reports whether the event changes the entity; its ID may follow that of its source.
func (b body) among(e lint.ExplainedEvent) bool {
	return slices.ContainsFunc(e.Changes, func(c event.Change) bool {
		return c.Kind == b.Entity[0] && (c.ExternalID == b.Entity[1] || strings.HasSuffix(c.ExternalID, ":"+b.Entity[1]))
	})
}

func changed(e lint.ExplainedEvent) (all []string) {
	for _, c := range e.Changes {
		all = append(all, c.Kind+":"+c.ExternalID)
	}
	return all
}

func explained(t *testing.T, p *providers.Provider, r request, secret string) lint.Explanation {
	t.Helper()
	r.URL = publicURL + p.Paths()[0]
	got := inside(t, r)
	require.NoError(t, p.Sign(got, secret, time.Now()))
	return lint.Explain(p, got, time.Now())
}

// libraryOf returns a library for the provider: its secrets have the form that the definition needs.
func libraryOf(t *testing.T, provider string) library {
	t.Helper()
	all := libraries(t).library
	at := slices.IndexFunc(all, func(l library) bool { return l.Provider == provider })
	require.GreaterOrEqual(t, at, 0, "no library is for this provider", provider)
	return all[at]
}

func firstOf(text string) string { return text[:min(len(text), 200)] }
