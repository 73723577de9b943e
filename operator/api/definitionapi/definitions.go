package definitionapi

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"holdfast/event"
	"holdfast/internal/lint"
	"holdfast/operator/httpapi"
	"holdfast/providers"
	"holdfast/providers/definition"
)

// API shows providers' definitions, tries changed ones, and compares them with what events look like.
type API struct {
	// Live returns the definitions.
	Live func() *providers.Live
	// Event finds an event wherever it is, with its body, or event.ErrNotFound.
	Event func(ctx context.Context, id string) (event.Record, error)
	// Shapes reads what events look like.
	Shapes ShapeStore

	trying sync.Mutex
}

// Definition is a provider's definition as this process uses it.
type Definition struct {
	Provider string `json:"provider"`
	// Digest changes with everything that the definition does, also with what it extends.
	Digest string `json:"digest"`
	// BuiltIn definitions can't be changed: one in a file of your own can extend them.
	BuiltIn bool `json:"built_in,omitempty"`
	// File is the path of the definition's file; absent if it is built in.
	File string `json:"file,omitempty"`
	// Text is the YAML that is in use.
	Text string `json:"text"`
	// NewerFile is set if the file has another text, which wasn't reloaded yet or was rejected. Rejected says why.
	NewerFile bool     `json:"newer_file,omitempty"`
	Rejected  []string `json:"rejected,omitempty"`
}

// DefinitionTrial is the body of a request that explains an event.
type DefinitionTrial struct {
	// EventID is the event to explain, stored, dead or waiting.
	EventID string `json:"event_id" jsonschema:"format=uuid"`
	// Text is a changed definition to try instead of the one in use, as YAML; "" tries that one.
	Text string `json:"text,omitempty"`
}

// CheckReason accepts every trial: it changes nothing.
func (DefinitionTrial) CheckReason() error { return nil }

// TriedDefinition is what a definition makes of an event.
type TriedDefinition struct {
	// Digest is that of the tried definition; InUse is set if it is the one that this process uses.
	Digest string `json:"digest,omitempty"`
	InUse  bool   `json:"in_use"`
	// Rejected are the errors for which a changed text can't be used. Nothing else is set then.
	Rejected []string `json:"rejected,omitempty"`
	// Problems are what can't be meant in a changed definition. Unchecked is set if there was no time to run all of its samples.
	Problems  []lint.Finding `json:"problems,omitempty"`
	Unchecked bool           `json:"unchecked,omitempty"`
	// Event is what the parse step would make of the event.
	Event *lint.ExplainedEvent `json:"event,omitempty"`
}

// trialSamples is how long the samples of a changed definition may take. All of them can take minutes.
const trialSamples = 3 * time.Second

var errTrying = &httpapi.RefusalError{
	Code: httpapi.CodeUnavailable, Detail: "another definition is being tried: repeat the request in a second",
}

var definitionProvider = httpapi.TextParameter("provider", "Name of the provider.")

// Routes returns the routes.
func (a *API) Routes() []httpapi.Route {
	return append(a.observedRoutes(),
		httpapi.Get("showDefinition", "/definitions/:provider", "Definition of a provider, as this process uses it", a.showDefinition).
			With(definitionProvider).Returns(fiber.StatusOK, Definition{}),
		httpapi.Post("tryDefinition", "/definitions/:provider/try", "What a definition, or a changed one, makes of an event",
			a.tryDefinition).
			Explain("It changes nothing and asks no provider's API. One definition is tried at a time: 503 means that another one is.").
			With(definitionProvider).Takes(DefinitionTrial{}, "event_id").Returns(fiber.StatusOK, TriedDefinition{}))
}

func (a *API) definitionOf(name string) (*providers.Provider, error) {
	p, ok := a.Live().Lookup(name)
	if !ok {
		return nil, event.ErrNotFound
	}
	return p, nil
}

func (a *API) showDefinition(c *fiber.Ctx) error {
	return httpapi.ReadByPath(c, "provider", func(_ context.Context, name string) error {
		p, err := a.definitionOf(name)
		if err != nil {
			return err
		}
		live := a.Live()
		view := Definition{
			Provider: p.Name(), Digest: p.Digest(), BuiltIn: p.Origin() == definition.OriginBuiltIn, File: live.Path(p),
			Text: string(p.Text()),
		}
		if !view.BuiltIn {
			text, err := live.Source(p)
			view.NewerFile = err != nil || !bytes.Equal(text, p.Text())
		}
		if rejected := live.Loading().Rejected; view.NewerFile && rejected != nil {
			view.Rejected = strings.Split(rejected.Error(), "\n")
		}
		return c.JSON(view)
	})
}

func (a *API) tryDefinition(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "provider")
	if err != nil {
		return err
	}
	var body DefinitionTrial
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if uuid.Validate(body.EventID) != nil {
		return httpapi.BadField("event_id")
	}
	p, err := a.definitionOf(name)
	if err != nil {
		return err
	}
	record, err := a.Event(httpapi.RequestContext(c), body.EventID)
	if err != nil {
		return err
	}
	if record.Receipt.Provider != p.Name() {
		return &httpapi.RefusalError{Code: httpapi.CodeBadField, Field: "event_id", Detail: "it is an event of another provider"}
	}
	tried, err := a.try(p, record, body.Text)
	if err != nil {
		return err
	}
	return c.JSON(tried)
}

// try explains an event with a definition, or with another text of it. One is tried at a time: a body can be large, and a changed
// definition slow.
func (a *API) try(p *providers.Provider, r event.Record, text string) (t TriedDefinition, err error) {
	if !a.trying.TryLock() {
		return t, errTrying
	}
	defer a.trying.Unlock()
	inUse := p.Digest()
	if text != "" && p.Origin() == definition.OriginBuiltIn {
		return t, &httpapi.RefusalError{
			Code: httpapi.CodeBadField, Field: "text",
			Detail: "this definition is built in: extend it in a file of your own, then try that",
		}
	}
	if text != "" {
		draft, err := a.Live().Draft(p, []byte(text))
		if err != nil {
			return TriedDefinition{Rejected: strings.Split(err.Error(), "\n")}, nil
		}
		if draft.Digest() != inUse {
			problems, all := lint.Problems(draft, trialSamples)
			p, t.Problems, t.Unchecked = draft, problems, !all
		}
	}
	explained := lint.ExplainStored(p, r.Receipt, r.Body)
	explained.Lane = "" // the parse step doesn't know it
	t.Digest, t.InUse, t.Event = p.Digest(), p.Digest() == inUse, &explained
	return t, nil
}
