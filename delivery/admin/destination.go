package admin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// Store stores destinations. Each change writes one audit entry in its transaction.
type Store interface {
	// Destination returns one by its name or number, or event.ErrNotFound.
	Destination(ctx context.Context, nameOrID string) (delivery.Destination, error)
	// ApplyDestination creates a destination, or updates the one of its name; nil keeps the secrets.
	ApplyDestination(
		ctx context.Context, d delivery.Destination, secrets []delivery.Secret, by oversight.Actor,
	) (delivery.Destination, error)
	DeleteDestination(ctx context.Context, nameOrID string, by oversight.Actor) error
	// RotateSecret puts the new secret first; the older ones are used until the grace period has passed.
	RotateSecret(ctx context.Context, destination string, to delivery.Secret, grace time.Duration, by oversight.Actor) error
	SetDestinationState(
		ctx context.Context, nameOrID string, to delivery.DestinationState, by oversight.Actor,
	) (delivery.Condition, error)
	// ProbeDestination makes the next attempt due now; event.ErrNotFound unless the destination is ready.
	ProbeDestination(ctx context.Context, nameOrID string, by oversight.Actor) (delivery.Condition, error)
}

// Service changes destinations. It is safe for concurrent use, also by several processes.
type Service struct {
	Store

	// NewSecret returns a new secret in the form of Standard Webhooks.
	NewSecret func() string
	// CheckSignature returns what is wrong with a declared signature.
	CheckSignature func(declared json.RawMessage) error
	// CheckAddress returns why requests to a URL are blocked, as far as the URL alone shows it; nil if they aren't.
	CheckAddress func(url string) error
	// CheckFiles returns why an endpoint's certificates can't be used; delivery.CodeFilesUnread is only a warning.
	CheckFiles func(delivery.HTTP) error
	// CertificateEnd returns when an endpoint's client certificate expires; false if it has none, or this process can't read it.
	CertificateEnd func(delivery.HTTP) (time.Time, bool)
	// Proxies are the names of the proxies that destinations may use.
	Proxies []string
	// Providers returns the names of the definitions.
	Providers func() []string
	// Reserved lists what a destination and its subscription use that is reserved for Holdfast, as far as it shows without an
	// event.
	Reserved func(delivery.Target) []string
}

// Warnings lists likely mistakes in a destination, and in a subscription to it. Either can be nil.
func (d *Service) Warnings(to *delivery.Destination, s *delivery.Subscription) (warnings []string) {
	if to != nil && to.Link() != nil {
		if err := d.CheckAddress(to.Link().URL); err != nil {
			warnings = append(warnings, to.Kind()+".url: "+err.Error())
		}
		if err := d.CheckFiles(*to.Link()); err != nil {
			warnings = append(warnings, err.Error())
		}
		if end := d.ClientCertificateEnd(*to); end != nil && time.Until(*end) < delivery.CertificateWarning {
			warnings = append(warnings, to.Kind()+".certificate: "+delivery.CertificateState(*end, time.Now()))
		}
	}
	if s != nil {
		warnings = append(warnings, s.Events.Warnings(d.Providers())...)
	}
	return append(warnings, d.reservedWarnings(to, s)...)
}

// ClientCertificateEnd returns when a destination's client certificate expires; nil if it has none that this process can read.
func (d *Service) ClientCertificateEnd(to delivery.Destination) *time.Time {
	link := to.Link()
	if link == nil || link.Certificate == "" {
		return nil
	}
	end, ok := d.CertificateEnd(*link)
	if !ok {
		return nil
	}
	return &end
}

func (d *Service) reservedWarnings(to *delivery.Destination, s *delivery.Subscription) (warnings []string) {
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

// The bounds of a given secret, in bytes, and of the grace period of the one before it.
const (
	minSecret = 16
	maxSecret = 512
	MaxGrace  = 7 * 24 * time.Hour
)

// Apply creates a destination, or updates the one of its name. A new HTTP endpoint whose secrets are in no variable gets the
// given secret, or a new one; it is returned, and never shown again. For an existing endpoint a given secret replaces all
// others; without one they stay. The secret of a queue is only stored: none is generated or returned.
func (d *Service) Apply(
	ctx context.Context, wanted delivery.Destination, secret string, by oversight.Actor,
) (applied delivery.Destination, made string, err error) {
	if wanted.HTTP != nil && !wanted.HTTP.IsStandard() {
		if err := d.CheckSignature(wanted.HTTP.Signature); err != nil {
			return applied, "", err
		}
	}
	if link := wanted.Link(); link != nil {
		if err := d.CheckFiles(*link); err != nil && event.CodeOf(err) != delivery.CodeFilesUnread {
			return applied, "", err
		}
	}
	if err := d.checkProxy(wanted); err != nil {
		return applied, "", err
	}
	secrets, err := d.secretsFor(ctx, &wanted, secret)
	if err != nil {
		return applied, "", err
	}
	if applied, err = d.ApplyDestination(ctx, wanted, secrets, by); err != nil {
		return applied, "", err
	}
	if len(secrets) > 0 && wanted.HTTP != nil {
		made = shownSecret(*wanted.HTTP, secrets[0].Value)
	}
	return applied, made, nil
}

// checkProxy refuses a name that the installation doesn't define: its operators alone decide where requests go.
func (d *Service) checkProxy(wanted delivery.Destination) error {
	link := wanted.Link()
	if link == nil {
		return nil
	}
	name := link.Proxy
	if name == "" || name == delivery.ProxyDirect || slices.Contains(d.Proxies, name) {
		return nil
	}
	known := "which names none"
	if len(d.Proxies) > 0 {
		known = "which has " + strings.Join(d.Proxies, ", ")
	}
	field := wanted.Kind() + ".proxy"
	reason := "must be the name of a proxy in HOLDFAST_PROXIES of the process that serves the API, " + known
	rejected := event.Rejectf("invalid_destination", "%s %s", field, reason)
	rejected.Fields = []event.FieldProblem{{Field: field, Reason: reason}}
	return rejected
}

// secretsFor returns the secrets that replace a destination's secrets; nil keeps them. A generated secret belongs to the version
// that was read: of two concurrent requests the second is refused, and doesn't replace the secret that the first one has shown.
func (d *Service) secretsFor(ctx context.Context, wanted *delivery.Destination, given string) ([]delivery.Secret, error) {
	if link := wanted.Link(); link == nil || link.Secrets != "" {
		if given != "" {
			return nil, event.Rejectf("invalid_secret", "secret is given, and the destination takes none or has those of a variable")
		}
		return nil, nil
	}
	if wanted.HTTP == nil {
		if given == "" {
			return nil, nil
		}
		return []delivery.Secret{{Value: given}}, checkPassword(given)
	}
	if given == "" {
		stored, err := d.Destination(ctx, wanted.Name)
		switch {
		case err == nil && stored.HTTP != nil && stored.HTTP.Secrets == "":
			return nil, nil
		case event.CodeOf(err) == delivery.CodeUnreadable:
			return nil, nil // applying repairs it, and the endpoint knows its secrets
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

// Rotate gives a destination a new secret: the given one or a generated one. Requests are also signed with the old one until
// the grace period, of at most MaxGrace, has passed. The secret is returned, and never shown again. A queue needs the given one,
// which replaces the old at once and isn't returned.
func (d *Service) Rotate(
	ctx context.Context, nameOrID, given string, grace time.Duration, by oversight.Actor,
) (secret string, err error) {
	if grace < 0 || grace > MaxGrace {
		return "", event.Rejectf("invalid_grace", "grace must be 0s to %s", event.Duration(MaxGrace))
	}
	to, err := d.Destination(ctx, nameOrID)
	if err != nil {
		return "", err
	}
	link := to.Link()
	switch {
	case link == nil:
		return "", event.Rejectf("invalid_secret", "%s is a task queue: nothing that goes there is signed", to.Name)
	case link.Secrets != "":
		return "", event.Rejectf("invalid_secret", "the secrets of %s are in the variable %s: put the new one there, before the old",
			to.Name, link.Secrets)
	case to.HTTP == nil:
		if err := checkPassword(given); err != nil {
			return "", err
		}
		return "", d.RotateSecret(ctx, to.Name, delivery.Secret{Value: given}, 0, by)
	}
	if secret = given; secret == "" {
		secret = d.NewSecret()
	}
	if err := checkSecret(*to.HTTP, secret); err != nil {
		return "", err
	}
	return shownSecret(*to.HTTP, secret), d.RotateSecret(ctx, to.Name, delivery.Secret{Value: secret}, grace, by)
}

// maxPassword bounds the secret of a queue, in bytes: it may be the credentials file of an account.
const maxPassword = 4 << 10

// checkPassword refuses what can't be the secret of a queue.
func checkPassword(given string) error {
	if given == "" || len(given) > maxPassword || strings.ContainsRune(given, 0) {
		return event.Rejectf("invalid_secret", "secret must be the password, token or credentials of the broker, of 1 to %d bytes: "+
			"give it with --secret-stdin", maxPassword)
	}
	return nil
}

// checkSecret refuses a secret that can't sign. Any one-line text can, except after the prefix of Standard Webhooks, which
// requires base64.
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

// shownSecret returns a secret in the form that the endpoint needs: Standard Webhooks' form, unless a signature is declared.
func shownSecret(h delivery.HTTP, secret string) string {
	if !h.IsStandard() {
		return secret
	}
	return delivery.StandardSecret(secret)
}

// Fingerprint identifies a secret without revealing it: it is a prefix of the SHA-256.
func Fingerprint(secret delivery.Secret) string {
	sum := sha256.Sum256([]byte(secret.Value))
	return "sha256:" + hex.EncodeToString(sum[:4])
}
