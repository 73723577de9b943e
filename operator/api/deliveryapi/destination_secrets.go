package deliveryapi

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"holdfast/event"
	"holdfast/operator/httpapi"
)

// SecretView is a secret's fingerprint and, if it was replaced, the end of its use.
type SecretView struct {
	// Fingerprint is the beginning of the secret's SHA-256.
	Fingerprint string `json:"fingerprint"`
	// Until is when a replaced secret is no longer used.
	Until *time.Time `json:"until,omitempty"`
}

// Rotation is the body of a Rotation request.
type Rotation struct {
	httpapi.Reasoned

	// Secret is the new secret. By default, one is generated.
	Secret string `json:"secret,omitempty" jsonschema:"minLength=16,maxLength=512"`
	// Grace is how long requests are also signed with the previous secret: 24h by default, at most 168h.
	Grace *event.Duration `json:"grace,omitempty"`
}

// DefaultGrace is long enough to deploy the new secret.
const DefaultGrace = 24 * time.Hour

func (o *API) rotateSecret(of Named) fiber.Handler {
	return httpapi.Answers(func(c *fiber.Ctx) (DestinationView, error) { return o.RotateSecret(c, of) })
}

// RotateSecret sets a new secret, which the view has.
func (o *API) RotateSecret(c *fiber.Ctx, of Named) (view DestinationView, err error) {
	name, err := httpapi.PathText(c, "name")
	if err != nil {
		return view, err
	}
	var body Rotation
	if err := httpapi.ReadChange(c, &body); err != nil {
		return view, err
	}
	grace := DefaultGrace
	if body.Grace != nil {
		grace = time.Duration(*body.Grace)
	}
	ctx := httpapi.RequestContext(c)
	destination, err := of(ctx, name)
	if err != nil {
		return view, err
	}
	d, err := o.Destinations.Destination(ctx, destination)
	if err != nil {
		return view, err
	}
	secret, err := o.Changes.Rotate(ctx, d.Name, body.Secret, grace, httpapi.Actor(c, body.Reason))
	if err != nil {
		return view, err
	}
	return o.viewChanged(ctx, c, d, secret)
}
