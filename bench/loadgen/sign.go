package loadgen

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast/providers"
	"holdfast/providers/auth"
)

// wrongSecrets fit every scheme, but no provider has them.
var wrongSecrets = func() []string {
	key := base64.StdEncoding.EncodeToString([]byte("nobody signs with these 32 bytes"))
	return []string{key, "whsec_" + key, "whsk_" + key, hex.EncodeToString([]byte(key))}
}()

// sign makes a request authentic for the target, and returns the URL to call.
func (t *target) sign(p *providers.Provider, r *auth.Request, now time.Time) (string, error) {
	t.address(r)
	if err := p.SignWithSecrets(r, now); err != nil {
		return "", fmt.Errorf("sign: %w: is %s set?", err, strings.Join(p.SecretNames(), " or "))
	}
	return t.called(r), nil
}

// forge signs with a wrong secret.
func (t *target) forge(p *providers.Provider, r *auth.Request, now time.Time) (string, error) {
	t.address(r)
	var err error
	for _, secret := range slices.Concat(wrongSecrets, auth.TrialSecrets()) {
		if err = p.Sign(r, secret, now); err == nil {
			return t.called(r), nil
		}
	}
	return "", fmt.Errorf("forge a signature of %s: %w", p.Name(), err)
}

// address sets the URL of the request to the target's public one.
func (t *target) address(r *auth.Request) {
	if t.path != "" {
		r.Path = t.path
	}
	r.URL = t.public + r.Path
	if t.query != "" {
		r.Query, _ = url.ParseQuery(t.query)
		r.URL += "?" + t.query
	}
}

// called returns the URL to call for a request.
func (t *target) called(r *auth.Request) string { return t.base + r.URL[len(t.public):] }
