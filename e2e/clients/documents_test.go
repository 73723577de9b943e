package clients

import (
	"cmp"
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

// document is what a provider publishes about its events, with events of every type: a file in testdata/documents.
type document struct {
	Provider string `json:"provider"`
	Bodies   []body `json:"bodies"`
}

// body is an event of a type, and the same one under another ID.
type body struct {
	Type   string  `json:"type"`
	First  request `json:"first"`
	Second request `json:"second"`
	// Entity is the kind and the ID of what the event is about; empty if the document doesn't say it.
	Entity []string `json:"entity"`
	// Nothing means that the event names nothing that has an ID.
	Nothing bool `json:"nothing"`
}

// generated has a function for each document that makes its events once.
var generated sync.Map

func generate(t *testing.T, name string) document {
	t.Helper()
	once, _ := generated.LoadOrStore(name, sync.OnceValues(func() (d document, err error) {
		command := exec.Command("node", "--disable-warning=ExperimentalWarning", "bodies.mjs", name)
		// With LATEST=1, those of the newest packages.
		command.Dir, command.Stderr = cmp.Or(os.Getenv("NEWEST"), folder), os.Stderr
		command.Env = append(os.Environ(), "STRIPE_OPENAPI="+stripeDocument())
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

// documents are the names of the documents that are on this machine: Stripe's is in a module of Go.
func documents(t *testing.T) (names []string) {
	t.Helper()
	libraries(t)
	files, err := filepath.Glob(filepath.Join(folder, "documents", "*.mjs"))
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".mjs")
		if name == "stripe" && stripeDocument() == "" && os.Getenv("NO_SKIP") == "" {
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

// wrong says what the definition makes of an event that it shouldn't; "" if nothing.
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

// libraryOf is a library for the provider: it has secrets of the form that the definition wants.
func libraryOf(t *testing.T, provider string) library {
	t.Helper()
	all := libraries(t).library
	at := slices.IndexFunc(all, func(l library) bool { return l.Provider == provider })
	require.GreaterOrEqual(t, at, 0, "no library is for this provider", provider)
	return all[at]
}

func firstOf(text string) string { return text[:min(len(text), 200)] }
