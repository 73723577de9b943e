package clients

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/lint"
	"holdfast/providers"
	"holdfast/providers/definition"
)

// What the provider's own library signs gets in with the bytes that it has signed, and `explain` foretells it. Nothing gets in
// that was changed, signed with another secret, signed long ago where the time is signed, or not signed.
func TestLibrarySignaturesAreAccepted(t *testing.T) {
	t.Parallel()
	for _, l := range everyLibrary(t) {
		if !l.Signs {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			d := l.openDoor(t, l.Secret)
			p := l.provider(t, d.catalogue)
			for _, eventType := range p.SampleTypes() {
				unsigned := sampleOf(t, p, eventType, uniqueID())
				signed := l.sign(t, unsigned, l.signing(), time.Now())
				d.takes(t, p, signed)
				before := d.count()
				for why, bad := range l.forgeries(t, p, unsigned) {
					status, answer := d.post(t, bad)
					require.Equal(t, p.Replies().Unauthentic, status, "%s, %s: %s", eventType, why, answer)
				}
				require.Equal(t, before, d.count(), "nothing of a refused request gets in")
			}
		})
	}
}

// During a rotation both secrets are configured: what the library signs with either gets in, and with a third one nothing does.
func TestBothSecretsOfARotationAreAccepted(t *testing.T) {
	t.Parallel()
	for _, l := range everyLibrary(t) {
		if !l.Signs {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			next := another(l.Secret)
			d := l.openDoor(t, l.Secret, next)
			p := l.provider(t, d.catalogue)
			eventType := p.SampleTypes()[0]
			for _, secret := range []string{l.Secret, next} {
				d.takes(t, p, l.sign(t, sampleOf(t, p, eventType, uniqueID()), secret, time.Now()))
			}
			status, answer := d.post(t, l.sign(t, sampleOf(t, p, eventType, uniqueID()), another(next), time.Now()))
			require.Equal(t, p.Replies().Unauthentic, status, answer)
		})
	}
}

// What `holdfast send` signs the provider's own library takes, and nothing that was changed since.
func TestLibrariesVerifyHoldfastsSignatures(t *testing.T) {
	t.Parallel()
	for _, l := range everyLibrary(t) {
		if !l.Verifies {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			p := l.provider(t, catalogueWith(t, l.Secret))
			for _, eventType := range p.SampleTypes() {
				r := inside(t, sampleOf(t, p, eventType, uniqueID()))
				require.NoError(t, p.Sign(r, l.signing(), time.Now()))
				signed := outside(r)
				require.NoError(t, l.verify(t, signed), eventType)
				require.Error(t, l.verify(t, l.changed(signed)), "%s: the library refuses nothing", eventType)
			}
		})
	}
}

func (l library) provider(t *testing.T, c *providers.Catalogue) *providers.Provider {
	t.Helper()
	p, ok := c.Lookup(l.Provider)
	require.True(t, ok, "%s is for a provider that does not exist: %s", l.Name, l.Provider)
	require.NotEmpty(t, p.SampleTypes(), l.Provider)
	return p
}

// takes posts a request twice: its events get in as `explain` says, once, with their bytes.
func (d *door) takes(t *testing.T, p *providers.Provider, r request) {
	t.Helper()
	e := d.explain(t, p, r)
	before := d.count()
	status, answer := d.post(t, r)
	require.Equal(t, e.Status, status, answer)
	again, answer := d.post(t, r)
	require.Less(t, again, 300, answer)
	require.Equal(t, before+len(e.Events), d.count())
	for _, one := range e.Events {
		require.Nil(t, one.DeadLetter, one.Type)
		if p.ItemPath() == "" {
			require.Equal(t, r.Body, d.in[one.WorkflowID])
		}
	}
}

func (d *door) explain(t *testing.T, p *providers.Provider, r request) lint.Explanation {
	t.Helper()
	e := explanation(t, d.catalogue, p.Name(), r)
	require.Empty(t, e.Refused, "%+v", e.Refusal)
	return e
}

// explanation says what an ingress with the catalogue makes of a request to a provider.
func explanation(t *testing.T, c *providers.Catalogue, provider string, r request) lint.Explanation {
	t.Helper()
	got := inside(t, r)
	p, params, ok := c.ByPath(got.Path)
	require.True(t, ok)
	require.Equal(t, provider, p.Name())
	got.PathParams = params
	return lint.Explain(p, got, time.Now())
}

// forgeries must not be accepted. Their names say what is wrong with each.
func (l library) forgeries(t *testing.T, p *providers.Provider, unsigned request) map[string]request {
	t.Helper()
	forged := map[string]request{
		"its body was changed": l.changed(l.sign(t, unsigned, l.signing(), time.Now())),
		"another secret":       l.sign(t, unsigned, another(l.signing()), time.Now()),
		"no signature":         unsigned,
	}
	if signsTime(p) {
		forged["signed an hour ago"] = l.sign(t, unsigned, l.signing(), time.Now().Add(-time.Hour))
	}
	return forged
}

func signsTime(p *providers.Provider) bool {
	for _, scheme := range p.Written().Auth {
		if timestampOf(scheme) == nil {
			return false
		}
	}
	return true
}

func timestampOf(s definition.Scheme) *definition.Timestamp {
	switch {
	case s.HMAC != nil:
		return s.HMAC.Timestamp
	case s.Ed25519 != nil:
		return s.Ed25519.Timestamp
	}
	return nil
}

// changed is a request of which a letter of the body was changed.
func (l library) changed(r request) request {
	at := strings.LastIndexFunc(r.Body, isLetter)
	if l.Covered != "" {
		at = strings.Index(r.Body, l.Covered)
	}
	r.Body = r.Body[:at] + otherThan(r.Body[at]) + r.Body[at+1:]
	return r
}

// another is a secret of the same form.
func another(secret string) string {
	at := len(secret) / 2
	return secret[:at] + otherThan(secret[at]) + secret[at+1:]
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

func otherThan(c byte) string {
	if c == '1' {
		return "2"
	}
	return "1"
}
