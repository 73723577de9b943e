package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
)

// Secrets returns the current secrets of a reference, such as "STRIPE_WEBHOOK_SECRET". Several are valid during a rotation. It
// must be safe for concurrent use.
type Secrets func(name string) []string

// Unreadable is in place of secrets that are configured, and can't be read at the moment. It authenticates nothing, but the
// request may be authentic, and should be sent again.
const Unreadable = "\x00unreadable"

// placeholders are published secrets: from documentation, templates and test suites.
var placeholders = []string{
	"changeme", "change-me", "change_me", "secret", "your-secret", "your_secret", "your-webhook-secret", "password",
	"test", "testing", "test-secret", "test_secret", "example", "placeholder", "todo", "xxx", "...", "null", "nil",
	"none", "undefined", "no-secret-provided",
}

// minSecret is the minimum length of a secret in bytes, without its prefix: shorter ones can be guessed.
const minSecret = 12

// isPlaceholder reports whether a secret is empty or well known. Such a secret never authenticates.
func isPlaceholder(secret string) bool {
	s := strings.ToLower(withoutPrefix(secret))
	return s == "" || slices.Contains(placeholders, s) || strings.HasPrefix(strings.ToLower(secret), "whsec_test_")
}

// isShortSecret reports whether a secret can be guessed. It never authenticates either.
func isShortSecret(secret string) bool { return len(withoutPrefix(secret)) < minSecret }

func withoutPrefix(secret string) string {
	s := strings.TrimSpace(secret)
	for _, prefix := range []string{"whsec_", "whpk_", "whsk_", "pdl_ntfset_"} {
		if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			s = s[len(prefix):]
		}
	}
	return s
}

// keyring contains the secrets that schemes verify and sign with.
type keyring struct {
	source       Secrets
	certificates Certificates
	keySets      KeySets
	// placeholders admits well-known secrets, which the published signature vectors and first-time users have.
	placeholders bool
}

// raw returns the configured secrets of a reference.
func (k keyring) raw(reference string) []string {
	if k.source == nil {
		return nil
	}
	return k.source(reference)
}

// usable returns the secrets of a reference that can prove anything. The error is a *denial.Error.
func (k keyring) usable(reference string) ([]string, error) {
	var usable []string
	reason := denial.NoSecret
	for _, s := range k.raw(reference) {
		switch {
		case s == Unreadable:
			reason = denial.UnreadableSecret
		case strings.TrimSpace(s) == "":
		case isPlaceholder(s) && !k.placeholders:
			reason = denial.PlaceholderSecret
		case isShortSecret(s) && !k.placeholders:
			reason = denial.ShortSecret
		default:
			usable = append(usable, s)
		}
	}
	if len(usable) == 0 {
		return nil, &denial.Error{Reason: reason}
	}
	return usable, nil
}

// keysOf returns the usable secrets of a reference as keys. The error is a *denial.Error.
func keysOf[K any](k keyring, reference string, read func(secret string) (K, bool)) ([]K, error) {
	secrets, err := k.usable(reference)
	if err != nil {
		return nil, err
	}
	var keys []K
	for _, secret := range secrets {
		if key, ok := read(secret); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, denial.Of(denial.UnusableSecret)
	}
	return keys, nil
}

// decodeKey decodes the base64 after the prefix, padded or not.
func decodeKey(secret, prefix string) ([]byte, bool) {
	text := strings.TrimRight(strings.TrimPrefix(secret, prefix), "=")
	key, err := base64.RawStdEncoding.DecodeString(text)
	return key, err == nil && len(key) > 0
}

// CheckSecrets returns why the current secrets could authenticate no request; nil if they could.
func (a *Authenticator) CheckSecrets() error {
	var first error
	for _, s := range a.schemes {
		err := s.ready(a.keyring)
		if err == nil {
			return nil
		}
		if first == nil || denial.Further(err, first) {
			first = err
		}
	}
	return first
}

// HasNoSecret reports whether no request can be authentic. One whose secret can't be read at the moment may be.
func (a *Authenticator) HasNoSecret() bool {
	err := a.CheckSecrets()
	return err != nil && denial.ReasonOf(err) != denial.UnreadableSecret
}

// SecretState says whether the configured secrets can authenticate requests.
type SecretState string

// The states of the secrets of a provider.
const (
	SecretConfigured SecretState = "configured"
	SecretMissing    SecretState = "missing"
	SecretUnusable   SecretState = "unusable"
)

// SecretState returns the state of the secrets, and the reason if they are unusable.
func (a *Authenticator) SecretState() (state SecretState, because denial.Reason) {
	err := a.CheckSecrets()
	if err == nil {
		return SecretConfigured, ""
	}
	if because = denial.ReasonOf(err); because == denial.NoSecret {
		return SecretMissing, because
	}
	return SecretUnusable, because
}

// SecretNames returns the distinct references to secrets in the definition.
func (a *Authenticator) SecretNames() []string {
	var names []string
	for _, s := range a.schemes {
		for _, name := range s.references() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// references returns all variables of a scheme: most have one.
func (a alternative) references() []string {
	if s, ok := a.scheme.(interface{ references() []string }); ok {
		return s.references()
	}
	return []string{a.reference()}
}

// SecretProblems lists what is wrong with the configured secrets: an unset secret isn't a problem. A secret that one scheme can
// use may be useless to another.
func (a *Authenticator) SecretProblems() (problems []string) {
	for _, name := range a.SecretNames() {
		given := a.raw(name)
		for _, s := range given {
			switch {
			case s == Unreadable:
				problems = append(problems,
					fmt.Sprintf("the file of the secret %s cannot be read: every request gets 503", name))
			case strings.TrimSpace(s) == "":
				problems = append(problems, fmt.Sprintf("the secret %s is empty or cannot be read: every request is refused", name))
			case isPlaceholder(s):
				problems = append(problems,
					fmt.Sprintf("the secret %s is a placeholder that anyone can look up: every request is refused", name))
			case isShortSecret(s) && !a.IsPublic(name):
				problems = append(problems,
					fmt.Sprintf("the secret %s has fewer than %d characters: every request is refused", name, minSecret))
			}
		}
		if hint := a.hint(name); hint != "" {
			problems = append(problems, hint)
		}
		if len(given) > 0 && a.IsUnusable(name) {
			problems = append(problems, fmt.Sprintf("the secret %s is not in the form that the scheme needs", name))
		}
	}
	return problems
}

// IsPublic reports whether a reference names what needn't be secret and may be short: networks, or accounts.
func (a *Authenticator) IsPublic(name string) bool {
	return slices.ContainsFunc(a.schemes, func(s alternative) bool {
		_, isAddress := s.scheme.(*addressScheme)
		_, isProxied := s.scheme.(*proxiedScheme)
		token, isToken := s.scheme.(*jwtScheme)
		return slices.Contains(s.references(), name) && (isAddress || isProxied || isToken && token.isPublic(name))
	})
}

// isPublic reports whether a reference names accounts, and no secret in the path.
func (s *jwtScheme) isPublic(name string) bool {
	return s.isShared() && (s.detached == nil || name != s.secretsName)
}

// IsUnusable reports whether the secrets that a reference names aren't in the form that any scheme with the reference needs.
func (a *Authenticator) IsUnusable(name string) bool {
	for _, s := range a.schemes {
		if slices.Contains(s.references(), name) && denial.ReasonOf(s.ready(a.keyring)) != denial.UnusableSecret {
			return false
		}
	}
	return true
}

// NewSecrets generates secrets for every scheme except those by certificate: text and base64 with a prefix, base64 alone, hex,
// and key pairs, each as the private key after "whsk_" followed by its public key.
func NewSecrets() []string { return secretsWith(newRSA()) }

// TrialSecrets returns NewSecrets of this process, for trying out a definition.
func TrialSecrets() []string { return slices.Clone(trialSecrets()) }

// TrialCertificates returns the key with which this process signs in place of a sender with a certificate, whatever the URL.
func TrialCertificates(CertificateAt) (*rsa.PublicKey, error) { return &trialRSA().PublicKey, nil }

// TrialKeySets returns the keys with which this process signs in place of a sender that publishes its keys, whatever the address,
// or the root of its certificates.
func TrialKeySets(at jws.Set, _ string) (keys []jws.Key, err error) {
	if at.URL == "" {
		root, err := trialRoot()
		if err != nil {
			return nil, err
		}
		return []jws.Key{{ID: trialKeyID, Root: root.Certificate}}, nil
	}
	for _, algorithm := range []string{jws.RS256, jws.ES256, jws.ES512} {
		keys = append(keys, jws.Key{ID: trialKeyID, Algorithm: algorithm, Public: trialSigner(algorithm).Public()})
	}
	return keys, nil
}

const trialKeyID = "trial"

var (
	trialRSA     = sync.OnceValue(newRSA)
	trialP256    = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC(elliptic.P256()) })
	trialP521    = sync.OnceValue(func() *ecdsa.PrivateKey { return newEC(elliptic.P521()) })
	trialRoot    = sync.OnceValues(jws.NewRoot)
	trialSecrets = sync.OnceValue(func() []string { return secretsWith(trialRSA()) })
)

func trialSigner(algorithm string) crypto.Signer {
	switch algorithm {
	case jws.ES256:
		return trialP256()
	case jws.ES512:
		return trialP521()
	}
	return trialRSA()
}

// privateSigner parses the private key after its prefix.
func privateSigner(secret string) (crypto.Signer, bool) {
	der, ok := decodeKey(secret, privatePrefix)
	if !ok || !strings.HasPrefix(secret, privatePrefix) {
		return nil, false
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	key, ok := parsed.(crypto.Signer)
	return key, err == nil && ok
}

// newRSA and the like never fail: the only error is a failure of the random numbers, which ends the process.
func newRSA() *rsa.PrivateKey {
	key, _ := rsa.GenerateKey(rand.Reader, minRSABits)
	return key
}

func newEC(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, _ := ecdsa.GenerateKey(curve, rand.Reader)
	return key
}

func secretsWith(rsaKey crypto.Signer) []string {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed)
	text, public := base64.StdEncoding.EncodeToString(seed), ed25519.NewKeyFromSeed(seed)[ed25519.PublicKeySize:]
	all := []string{
		"whsec_" + text, text, hex.EncodeToString(seed),
		privatePrefix + text, "whpk_" + base64.StdEncoding.EncodeToString(public), hex.EncodeToString(public),
		base64.StdEncoding.EncodeToString(public),
	}
	return slices.Concat(all, pairOf(newEC(elliptic.P256())), pairOf(newEC(elliptic.P521())), pairOf(rsaKey))
}

func pairOf(key crypto.Signer) []string {
	private, err1 := x509.MarshalPKCS8PrivateKey(key)
	public, err2 := x509.MarshalPKIXPublicKey(key.Public())
	if err1 != nil || err2 != nil {
		return nil
	}
	return []string{
		privatePrefix + base64.StdEncoding.EncodeToString(private), base64.StdEncoding.EncodeToString(public),
	}
}

// hinted are the reasons for which a slip in the configured secret is worth checking.
var hinted = []denial.Reason{denial.BadSignature, denial.BadToken, denial.UnusableSecret}

// hint names the first slip in the secrets of a reference: "the secret X begins and ends with a quote"; "" if there is none.
func (k keyring) hint(reference string) string {
	for _, secret := range k.raw(reference) {
		if slip := slipIn(reference, secret); slip != "" {
			return "the secret " + reference + " " + slip
		}
	}
	return ""
}

// slipIn says what about a secret looks like a mistake of the file or variable that it comes from; "" for nothing. It is only a
// hint, since a sender may have chosen such a secret.
func slipIn(name, secret string) string {
	before, _, hasEquals := strings.Cut(secret, "=")
	quoted := len(secret) > 1 && secret[0] == secret[len(secret)-1] && strings.ContainsRune("\"'`", rune(secret[0]))
	switch {
	case strings.HasPrefix(secret, "\ufeff"):
		return "begins with a byte order mark: save its file without one"
	case quoted:
		return "begins and ends with a quote: remove both, since `docker run --env-file` and secret files keep them"
	case hasEquals && strings.TrimPrefix(strings.TrimSpace(before), "export ") == name:
		return fmt.Sprintf("begins with %s=: give the value alone", name)
	case !jws.IsPEM(secret) && slices.ContainsFunc([]rune(secret), isInvisible):
		return "contains an invisible character: copy it again"
	}
	return ""
}

func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == '\u00a0'
}
