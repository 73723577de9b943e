package deliveryapi

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/event/oversight"
	"holdfast/operator/httpapi"
)

// DestinationView is a destination as the caller may see it, never with its secrets or the values of its headers.
type DestinationView struct {
	delivery.Destination

	Condition delivery.Condition `json:"condition"`
	// Secrets are the fingerprints of the signing secrets, newest first; not in lists.
	Secrets []SecretView `json:"secrets,omitempty"`
	// CertificateUntil is when the client certificate expires; not in lists, and not if this process can't read its file.
	CertificateUntil *time.Time `json:"certificate_until,omitempty"`
	// Secret is the secret that this request generated or set. It is never shown again.
	Secret string `json:"secret,omitempty"`
	// Warnings are likely mistakes in the applied request.
	Warnings []string `json:"warnings,omitempty"`
}

// viewDestination hides header values from everyone, and from viewers anything else that can be a secret.
func viewDestination(c *fiber.Ctx, d delivery.Destination, how delivery.Condition) DestinationView {
	if httpapi.IsViewer(c) {
		d = d.Redacted()
	}
	return DestinationView{Destination: d.Shown(), Condition: how}
}

var (
	destinationName = httpapi.TextParameter("name", "Name or number of the destination.")
	pageParameters  = []httpapi.Parameter{httpapi.LimitParameter, httpapi.CursorParameter}
)

func (o *API) destinationRoutes() []httpapi.Route {
	const one = "/destinations/:name"
	change := func(name, verb, about string, handler fiber.Handler) httpapi.Route {
		return httpapi.Post(name, one+"/"+verb, about, handler).
			With(destinationName).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusOK, DestinationView{})
	}
	return []httpapi.Route{
		httpapi.Get("listDestinations", "/destinations", "Destinations by name, with their health", o.listDestinations).
			With(pageParameters...).Returns(fiber.StatusOK, httpapi.List[DestinationView]{}),
		httpapi.Post("createDestination", "/destinations", "Create a destination", o.createDestination).
			Explain("An HTTP endpoint gets a secret, which is shown once.").
			Takes(DestinationRequest{}, "name").Returns(fiber.StatusCreated, DestinationView{}),
		httpapi.Get("showDestination", one, "One destination, with the fingerprints of its secrets", o.showDestination).
			With(destinationName).Returns(fiber.StatusOK, DestinationView{}),
		httpapi.Put("replaceDestination", one, "Replace a destination, or create it", o.replaceDestination).
			Explain("Fields missing in the body get their defaults.").
			With(destinationName).Takes(DestinationRequest{}).Returns(fiber.StatusOK, DestinationView{}),
		httpapi.Patch("patchDestination", one, "Change fields of a destination", o.patchDestination).
			With(destinationName).Takes(DestinationRequest{}).Returns(fiber.StatusOK, DestinationView{}),
		httpapi.Delete("deleteDestination", one, "Delete a destination that has no subscription", o.deleteDestination).
			With(destinationName).MayTake(httpapi.Reasoned{}).Returns(fiber.StatusNoContent, nil),
		change("rotateSecretOfDestination", "rotate-secret", "Set a new secret, which is shown once", o.rotateSecret(Itself)).
			MayTake(Rotation{}),
		change("pauseDestination", "pause", "Pause a destination: nothing is sent until it is resumed, and matching events are kept",
			o.setState(Itself, delivery.DestinationPaused)),
		change("resumeDestination", "resume", "Resume a paused or disabled destination; an open breaker is probed at once",
			o.setState(Itself, delivery.DestinationReady)),
		change("disableDestination", "disable",
			"Disable a destination: nothing is sent until it is resumed, and matching events are kept",
			o.setState(Itself, delivery.DestinationDisabled)),
	}
}

func (o *API) listDestinations(c *fiber.Ctx) error {
	after, limit, err := afterName(c)
	if err != nil {
		return err
	}
	shown, err := o.destinationsAfter(c, after, limit+1)
	if err != nil {
		return err
	}
	return c.JSON(httpapi.NewPage(shown, limit, httpapi.Identity[DestinationView], func(d DestinationView) nameCursor {
		return nameCursor{d.Name}
	}))
}

// ListDestinations lists the destinations by name, as the caller of a request may see them, with their health.
func (o *API) ListDestinations(c *fiber.Ctx) (all []DestinationView, err error) {
	after := ""
	for {
		some, err := o.destinationsAfter(c, after, httpapi.MaxLimit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < httpapi.MaxLimit {
			return all, nil
		}
		after = some[len(some)-1].Name
	}
}

func (o *API) destinationsAfter(c *fiber.Ctx, after string, limit int) ([]DestinationView, error) {
	ctx := httpapi.RequestContext(c)
	some, err := o.Destinations.DestinationsAfter(ctx, after, limit)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(some))
	for i, d := range some {
		ids[i] = d.ID
	}
	how, err := o.Destinations.Conditions(ctx, ids)
	if err != nil {
		return nil, err
	}
	shown := make([]DestinationView, len(some))
	for i, d := range some {
		shown[i] = viewDestination(c, d, how[d.ID])
	}
	return shown, nil
}

func (o *API) showDestination(c *fiber.Ctx) error {
	if q := httpapi.QueryOf(c); q.Err != nil {
		return q.Err
	}
	return httpapi.Respond(c, o.ShowDestination)
}

// ShowDestination returns the destination in the request's path, as its caller may see it.
func (o *API) ShowDestination(c *fiber.Ctx) (view DestinationView, err error) {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return view, err
	}
	ctx := httpapi.RequestContext(c)
	d, err := o.Destinations.Destination(ctx, name)
	if err != nil {
		return view, err
	}
	return o.viewOf(ctx, c, d)
}

// viewOf returns the view of a destination with the fingerprints of its secrets.
func (o *API) viewOf(ctx context.Context, c *fiber.Ctx, d delivery.Destination) (view DestinationView, err error) {
	how, err := o.Destinations.Condition(ctx, d.ID)
	if err != nil {
		return view, err
	}
	secrets, err := o.Destinations.SecretsOf(ctx, d.ID)
	if err != nil {
		return view, err
	}
	view = viewDestination(c, d, how)
	view.CertificateUntil = o.Changes.ClientCertificateEnd(d)
	for _, s := range secrets {
		view.Secrets = append(view.Secrets, SecretView{Fingerprint: admin.Fingerprint(s), Until: s.Until})
	}
	return view, nil
}

const conditionUnknown = "the change is saved, but its condition can't be read now"

// viewChanged is viewOf after a change. It shows a new secret even if reads fail: no other response ever has it.
func (o *API) viewChanged(
	ctx context.Context, c *fiber.Ctx, d delivery.Destination, secret string,
) (view DestinationView, err error) {
	view, err = o.viewOf(ctx, c, d)
	if err != nil && secret != "" {
		view, err = viewDestination(c, d, delivery.Condition{}), nil
		view.Warnings = []string{conditionUnknown}
	}
	view.Secret = secret
	return view, err
}

// DestinationRequest is the body of a destination change.
type DestinationRequest struct {
	delivery.Destination
	httpapi.Reasoned

	// Secret replaces all existing secrets. For Standard Webhooks, text without the prefix whsec_ is encoded. Without it, existing
	// secrets are kept, or one is generated if needed.
	Secret string `json:"secret,omitempty" jsonschema:"minLength=16,maxLength=512"`
}

func (o *API) createDestination(c *fiber.Ctx) error {
	body := DestinationRequest{}
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	view, err := o.CreateDestination(c, body)
	if err != nil {
		return err
	}
	return c.Status(fiber.StatusCreated).JSON(view)
}

// CreateDestination creates a destination for the caller of a request. It refuses a name that is taken.
func (o *API) CreateDestination(c *fiber.Ctx, body DestinationRequest) (view DestinationView, err error) {
	ctx := httpapi.RequestContext(c)
	if err := mustBeNew(ctx, "destination", body.Name, o.Destinations.Destination); err != nil {
		return view, err
	}
	body.ID, body.Version = 0, delivery.MustBeNew
	return o.ApplyDestination(ctx, c, body)
}

// ApplyDestination creates or replaces a destination as requested. The view has the secret that this set, and warnings.
func (o *API) ApplyDestination(ctx context.Context, c *fiber.Ctx, body DestinationRequest) (view DestinationView, err error) {
	applied, secret, err := o.Changes.Apply(ctx, body.Destination, body.Secret, httpapi.Actor(c, body.Reason))
	if err != nil {
		return view, err
	}
	if view, err = o.viewChanged(ctx, c, applied, secret); err != nil {
		return view, err
	}
	view.Warnings = append(view.Warnings, o.Changes.Warnings(&applied, nil)...)
	return view, nil
}

// replaceDestination replaces the whole destination: fields missing in the body get their defaults.
func (o *API) replaceDestination(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	return o.changeDestination(httpapi.RequestContext(c), c, delivery.Destination{Name: name})
}

// patchDestination changes only the fields in the body.
func (o *API) patchDestination(c *fiber.Ctx) error {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return err
	}
	ctx := httpapi.RequestContext(c)
	stored, err := o.Destinations.Destination(ctx, name)
	if err != nil {
		return err
	}
	return o.changeDestination(ctx, c, stored)
}

func (o *API) changeDestination(ctx context.Context, c *fiber.Ctx, before delivery.Destination) error {
	body := DestinationRequest{Destination: before}
	if err := httpapi.ReadChange(c, &body); err != nil {
		return err
	}
	if body.Name != before.Name {
		return httpapi.BadField("name") // names are permanent
	}
	body.ID, body.Version = before.ID, before.Version
	view, err := o.ApplyDestination(ctx, c, body)
	if err != nil {
		return err
	}
	return c.JSON(view)
}

// DeleteDestination deletes the destination in the path.
func (o *API) DeleteDestination(c *fiber.Ctx) error {
	return httpapi.ChangeByPath(c, "name", o.Changes.DeleteDestination)
}

func (o *API) deleteDestination(c *fiber.Ctx) error {
	if err := o.DeleteDestination(c); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Named returns the destination that a path refers to.
type Named func(ctx context.Context, name string) (destination string, err error)

// Itself is Named for a path with the destination's own name.
func Itself(_ context.Context, name string) (string, error) { return name, nil }

// SetState pauses, resumes or disables a destination.
func (o *API) SetState(c *fiber.Ctx, of Named, to delivery.DestinationState) (view DestinationView, err error) {
	err = httpapi.ChangeByPath(c, "name", func(ctx context.Context, name string, by oversight.Actor) error {
		destination, err := of(ctx, name)
		if err != nil {
			return err
		}
		if _, err := o.Changes.SetDestinationState(ctx, destination, to, by); err != nil {
			return err
		}
		d, err := o.Destinations.Destination(ctx, destination)
		if err != nil {
			return err
		}
		view, err = o.viewChanged(ctx, c, d, "")
		return err
	})
	return view, err
}

// TryAgain makes a destination's next attempt due now, and returns how the destination was before. It returns event.ErrNotFound
// unless the destination is ready.
func (o *API) TryAgain(c *fiber.Ctx) (d delivery.Destination, before delivery.Condition, err error) {
	err = httpapi.ChangeByPath(c, "name", func(ctx context.Context, name string, by oversight.Actor) error {
		if d, err = o.Destinations.Destination(ctx, name); err != nil {
			return err
		}
		conditions, err := o.Destinations.Conditions(ctx, []int64{d.ID})
		if err != nil {
			return err
		}
		before = conditions[d.ID]
		_, err = o.Changes.ProbeDestination(ctx, name, by)
		return err
	})
	return d, before, err
}

func (o *API) setState(of Named, to delivery.DestinationState) fiber.Handler {
	return httpapi.Answers(func(c *fiber.Ctx) (DestinationView, error) { return o.SetState(c, of, to) })
}
