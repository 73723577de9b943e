package desk

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// Books keep destinations. Each change writes one audit entry in its transaction.
type Books interface {
	// Destination is one by its name or number, or event.ErrNotFound.
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	// ApplyDestination makes a destination, or makes the one of its name what it is; nil keeps the secrets.
	ApplyDestination(
		ctx context.Context, d delivery.Destination, secrets []delivery.Secret, by oversight.Actor,
	) (delivery.Destination, error)
	DeleteDestination(ctx context.Context, nameOrID string, by oversight.Actor) error
	// RotateSecret makes the new secret the first one; those before it are used until the grace has passed.
	RotateSecret(ctx context.Context, destination string, to delivery.Secret, grace time.Duration, by oversight.Actor) error
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
}

// Desk changes destinations. Its methods may be called at the same time, by several processes.
type Desk struct {
	Books

	// NewSecret makes a secret in the form of Standard Webhooks.
	NewSecret func() string
	// CheckSignature says what is wrong with a declared signature.
	CheckSignature func(declared json.RawMessage) error
	// CheckAddress reports why no request is sent to a URL, as far as the URL shows it; nil if it doesn't.
	CheckAddress func(url string) error
	// Providers are the names of the definitions.
	Providers func() []string
	// Reserved says what a destination and its subscription use that is reserved for Holdfast, as far as it shows without an event.
	Reserved func(delivery.Target) []string
}

// Warnings names what is probably a mistake in a destination, and in a subscription to it. Either can be nil.
func (d *Desk) Warnings(to *delivery.Destination, s *delivery.Subscription) (warnings []string) {
	if to != nil && to.HTTP != nil {
		if err := d.CheckAddress(to.HTTP.URL); err != nil {
			warnings = append(warnings, "http.url: "+err.Error())
		}
	}
	if s != nil {
		warnings = append(warnings, s.Events.Warnings(d.Providers())...)
	}
	return append(warnings, d.reservedWarnings(to, s)...)
}

func (d *Desk) reservedWarnings(to *delivery.Destination, s *delivery.Subscription) (warnings []string) {
	if to == nil {
		return nil
	}
	t := delivery.Target{Destination: *to}
	if s != nil {
		t.Subscription = *s
	}
	for _, conflict := range d.Reserved(t) {
		warnings = append(warnings, conflict+"; until then every delivery fails")
	}
	return warnings
}

// The bounds of a secret that somebody gives, in bytes, and of the time for which the one before it is used as well.
const (
	minSecret = 16
	maxSecret = 512
	MaxGrace  = 7 * 24 * time.Hour
)

// Apply makes a destination, or makes the one of its name what it is. A new HTTP endpoint whose secrets are in no variable gets
// the secret that is given, or a new one; it is returned, and never shown again. Of an endpoint that is there a secret that is
// given takes the place of all others; without one they stay.
func (d *Desk) Apply(
	ctx context.Context, wanted delivery.Destination, secret string, by oversight.Actor,
) (applied delivery.Destination, made string, err error) {
	if wanted.HTTP != nil && !wanted.HTTP.IsStandard() {
		if err := d.CheckSignature(wanted.HTTP.Signature); err != nil {
			return applied, "", err
		}
	}
	secrets, err := d.secretsFor(ctx, &wanted, secret)
	if err != nil {
		return applied, "", err
	}
	if applied, err = d.ApplyDestination(ctx, wanted, secrets, by); err != nil {
		return applied, "", err
	}
	if len(secrets) > 0 {
		made = shownSecret(*wanted.HTTP, secrets[0].Value)
	}
	return applied, made, nil
}

// secretsFor are the secrets that replace those of a destination; nil keeps them. A secret that is made belongs to the version
// that was read: of two requests at once, the second is refused, and doesn't replace the secret that the first one has shown.
func (d *Desk) secretsFor(ctx context.Context, wanted *delivery.Destination, given string) ([]delivery.Secret, error) {
	if wanted.HTTP == nil || wanted.HTTP.Secrets != "" {
		if given != "" {
			return nil, event.Rejectf("invalid_secret", "secret is given, and the destination takes none or has those of a variable")
		}
		return nil, nil
	}
	if given == "" {
		stored, err := d.Destination(ctx, wanted.Name)
		switch {
		case err == nil && stored.HTTP != nil && stored.HTTP.Secrets == "":
			return nil, nil
		case event.CodeOf(err) == delivery.CodeUnreadable:
			return nil, nil // to apply it repairs it, and its secrets are those that its receiver knows
		case errors.Is(err, event.ErrNotFound):
			wanted.Version = delivery.MustBeNew
		case err != nil:
			return nil, err
		default:
			wanted.Version = stored.Version
		}
		return []delivery.Secret{{Value: d.NewSecret()}}, nil
	}
	if err := checkSecret(*wanted.HTTP, given); err != nil {
		return nil, err
	}
	return []delivery.Secret{{Value: given}}, nil
}

// Rotate gives a destination a new secret: the one that is given, or one that it makes. Requests are signed with the old one as
// well until the grace, of at most MaxGrace, has passed. The secret is returned, and never shown again.
func (d *Desk) Rotate(
	ctx context.Context, nameOrID, given string, grace time.Duration, by oversight.Actor,
) (secret string, err error) {
	if grace < 0 || grace > MaxGrace {
		return "", event.Rejectf("invalid_grace", "grace must be 0s to %s", event.Duration(MaxGrace))
	}
	to, err := d.Destination(ctx, nameOrID)
	if err != nil {
		return "", err
	}
	switch {
	case to.HTTP == nil:
		return "", event.Rejectf("invalid_secret", "%s is a task queue: nothing that goes there is signed", to.Name)
	case to.HTTP.Secrets != "":
		return "", event.Rejectf("invalid_secret", "the secrets of %s are in the variable %s: put the new one there, before the old",
			to.Name, to.HTTP.Secrets)
	}
	if secret = given; secret == "" {
		secret = d.NewSecret()
	}
	if err := checkSecret(*to.HTTP, secret); err != nil {
		return "", err
	}
	return shownSecret(*to.HTTP, secret), d.RotateSecret(ctx, to.Name, delivery.Secret{Value: secret}, grace, by)
}

// checkSecret refuses a secret that can't sign. Any text of one line can, except behind the prefix of Standard Webhooks, where
// base64 is expected.
func checkSecret(h delivery.HTTP, given string) error {
	if len(given) < minSecret || len(given) > maxSecret || strings.ContainsAny(given, "\r\n\x00") {
		return event.Rejectf("invalid_secret", "secret must be one line of %d to %d bytes", minSecret, maxSecret)
	}
	encoded, prefixed := strings.CutPrefix(given, delivery.SecretPrefix)
	if !h.IsStandard() || !prefixed {
		return nil
	}
	if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
		return event.Rejectf("invalid_secret", "secret has no base64 after %s", delivery.SecretPrefix)
	}
	return nil
}

// shownSecret is a secret in the form that the receiver needs: that of Standard Webhooks, unless a signature is declared.
func shownSecret(h delivery.HTTP, secret string) string {
	if !h.IsStandard() {
		return secret
	}
	return delivery.StandardSecret(secret)
}

// Fingerprint tells secrets apart without telling them: it is the beginning of the SHA-256.
func Fingerprint(secret delivery.Secret) string {
	sum := sha256.Sum256([]byte(secret.Value))
	return "sha256:" + hex.EncodeToString(sum[:4])
}
