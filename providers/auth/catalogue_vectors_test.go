package auth

import (
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"hash"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"holdfast/providers/auth/denial"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
)

// publishedVector is one case of testdata/vectors/NAME.yaml: a request signed by a third party, and its expected result.
type publishedVector struct {
	Name string              `yaml:"name"`
	From definition.Evidence `yaml:"from"`
	// Source says where it was published, or which program has generated it.
	Source string `yaml:"source"`
	// Secret is used for every reference, and Secrets for single ones; several are separated by line breaks.
	Secret  string            `yaml:"secret"`
	Secrets map[string]string `yaml:"secrets"`
	// OtherSecret is a wrong one of the same form; by default one character of the secret is changed.
	OtherSecret string `yaml:"other_secret"`
	// Time is the arrival in unix seconds.
	Time    int64             `yaml:"time"`
	Method  string            `yaml:"method"`
	URL     string            `yaml:"url"`
	Address string            `yaml:"address"`
	Headers map[string]string `yaml:"headers"`
	// Repeated is a second value of headers.
	Repeated map[string]string `yaml:"repeated"`
	Body     string            `yaml:"body"`
	// OtherBody is a body for which the signature must be invalid; by default one byte is changed.
	OtherBody string `yaml:"other_body"`
	// Certificate is the public key of the certificate that the request names, as PEM; "" if it can't be fetched.
	Certificate string `yaml:"certificate"`
	// Keys is the set that the sender publishes, as JSON; "" if it can't be fetched.
	Keys string `yaml:"keys"`
	// Root is a certificate, as PEM, that stands in for that of the definition: only its owner can sign for that one.
	Root string `yaml:"root"`
	// Refused is the cause; "" if the request is authentic.
	Refused denial.Reason `yaml:"refused"`
}

func vectorsOf(t *testing.T, name string) (vectors []publishedVector) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "vectors", name+".yaml"))
	require.NoError(t, err, "every built-in definition needs a request that other code has signed")
	require.NoError(t, yaml.UnmarshalWithOptions(text, &vectors, yaml.Strict()))
	return vectors
}

func (v publishedVector) secretsOf(name string) []string {
	if secret, ok := v.Secrets[name]; ok {
		return strings.Split(strings.TrimSpace(secret), "\n")
	}
	if v.Secret == "" {
		return nil
	}
	return strings.Split(strings.TrimSpace(v.Secret), "\n")
}

// as returns the sender with the secrets of the vector, published ones included.
func (v publishedVector) as(s *sender) *Authenticator {
	a := s.WithSecrets(v.secretsOf).WithCertificates(v.key).WithKeySets(v.keySet)
	a.placeholders = true
	return a
}

func (v publishedVector) key(CertificateAt) (*rsa.PublicKey, error) {
	block, _ := pem.Decode([]byte(v.Certificate))
	if block == nil {
		return nil, errors.New("it cannot be fetched")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	return key.(*rsa.PublicKey), err
}

func (v publishedVector) keySet(at jws.Set, _ string) ([]jws.Key, error) {
	if root, ok := jws.ParseRoot(v.Root); at.URL == "" && ok {
		return []jws.Key{{Root: root}}, nil
	}
	if v.Keys == "" {
		return nil, denial.Of(denial.NoKeys)
	}
	keys, _, err := jws.ParseKeys([]byte(v.Keys))
	return keys, err
}

func (v publishedVector) now() time.Time { return time.Unix(v.Time, 0) }

func (v publishedVector) request(t *testing.T, s *sender) *Request {
	t.Helper()
	u, err := url.Parse(v.URL)
	require.NoError(t, err)
	r := &Request{
		Method: v.Method, URL: v.URL, Path: u.EscapedPath(), Query: u.Query(), Header: map[string][]string{}, Body: []byte(v.Body),
	}
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	for name, value := range v.Headers {
		r.Header[strings.ToLower(name)] = []string{value}
	}
	for name, value := range v.Repeated {
		r.Header[strings.ToLower(name)] = append(r.Header[strings.ToLower(name)], value)
	}
	if v.Address != "" {
		r.RemoteIP = netip.MustParseAddr(v.Address)
	}
	for _, path := range s.paths {
		if params, ok := path.Match(strings.Split(strings.Trim(r.Path, "/"), "/")); ok {
			r.PathParams = params
		}
	}
	return r
}

// Every built-in definition is tested with requests that this code didn't sign:
//   - authentic vectors are accepted, and the others are refused for their cause
//   - its evidence is no stronger than the best of its vectors
//   - with another secret, another body, without one of its headers, too late, or by another algorithm it is refused
func TestVectorsOfTheCatalogue(t *testing.T) {
	t.Parallel()
	files, err := definition.Collect(os.DirFS("../catalog"))
	require.NoError(t, err)
	for name, s := range builtIn(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p definition.Problems
			d, _ := p.Read(files, files[name])
			best := len(definition.Evidences)
			for _, v := range vectorsOf(t, name) {
				t.Run(v.Name, func(t *testing.T) {
					require.Contains(t, definition.Evidences, v.From)
					require.NotEmpty(t, v.Source)
					if v.From == definition.EvidenceLibrary {
						require.NotEqual(t, "make.py", v.Source, "name the library, or say that it is from documentation")
					}
					r := v.request(t, s)
					err := v.as(s).Authenticate(r, v.now())
					if v.Refused != "" {
						require.Error(t, err)
						require.Equal(t, v.Refused, denial.ReasonOf(err))
						return
					}
					require.NoError(t, err)
					best = min(best, slices.Index(definition.Evidences, v.From))
					refuseWhatIsOff(t, s, v, r.passed)
				})
			}
			require.LessOrEqual(t, best, slices.Index(definition.Evidences, d.Evidence()), "no vector is as strong as its sources")
		})
	}
}

// refuseWhatIsOff changes one thing at a time about an authentic request.
func refuseWhatIsOff(t *testing.T, s *sender, v publishedVector, passed scheme) {
	t.Helper()
	refused := func(what string, v publishedVector, r *Request, at time.Time) denial.Reason {
		err := v.as(s).Authenticate(r, at)
		require.Error(t, err, "with %s", what)
		return denial.ReasonOf(err)
	}
	other := v
	other.Secret, other.Secrets = v.otherSecret(passed.reference()), nil
	refused("another secret", other, v.request(t, s), v.now())
	if c := passed.covers(); !c.All && (c.Body == nil || len(c.Body) > 0) {
		r := v.request(t, s)
		r.Body = v.otherBody()
		refused("another body", v, r, v.now())
	}
	headers, _, _ := passed.hidden()
	if len(headers) > 1 { // of several signatures one is enough
		r := v.request(t, s)
		maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return slices.Contains(headers, name) })
		refused("no signature", v, r, v.now())
		headers = nil
	}
	for _, name := range append(headers, passed.covers().Headers...) {
		if r := v.request(t, s); r.Header[name] != nil {
			delete(r.Header, name)
			refused("no "+name, v, r, v.now())
		}
	}
	if late, why := lifeOf(passed); late > 0 {
		require.Equal(t, why, refused("time that has passed", v, v.request(t, s), v.now().Add(late+time.Hour)))
	}
	for what, forge := range otherAlgorithms(passed) {
		r := v.request(t, s)
		require.NoError(t, forge(r, v.secretsOf(passed.reference()), v.now()))
		refused(what, v, r, v.now())
	}
}

func (v publishedVector) otherSecret(reference string) string {
	if v.OtherSecret != "" {
		return v.OtherSecret
	}
	secret := []byte(v.secretsOf(reference)[0])
	middle := &secret[(len(secret)+1)/2]
	if *middle == 'A' {
		*middle = 'C'
	} else {
		*middle = 'A'
	}
	return string(secret)
}

func (v publishedVector) otherBody() []byte {
	if v.OtherBody != "" {
		return []byte(v.OtherBody)
	}
	if v.Body == "" {
		return []byte("x")
	}
	body := []byte(v.Body)
	body[len(body)/2] ^= 1
	return body
}

// lifeOf returns how long a request of the scheme is valid, and the refusal after that; 0 means forever.
func lifeOf(s scheme) (time.Duration, denial.Reason) {
	switch s := s.(type) {
	case *hmacScheme:
		return s.time.tolerance, denial.StaleTimestamp
	case *publicKeyScheme:
		return s.time.tolerance, denial.StaleTimestamp
	case *jwtScheme:
		if s.timeless {
			return 0, ""
		}
		return 100 * 365 * 24 * time.Hour, denial.Expired
	}
	return 0, ""
}

type forgery func(r *Request, secrets []string, now time.Time) error

// otherAlgorithms sign a request with the right secret by another algorithm, which its sender must not be able to choose.
func otherAlgorithms(s scheme) map[string]forgery {
	switch s := s.(type) {
	case *hmacScheme:
		longer := sha512.New
		if s.size == sha512.Size {
			longer = sha256.New // the shorter one, then
		}
		return map[string]forgery{"HMAC by a hash of one length": withHash(s, sameLength[s.size]), "HMAC by another one": withHash(s, longer)}
	case *jwtScheme:
		forged := func(header string, sign func(content string) []byte) forgery {
			return func(r *Request, _ []string, _ time.Time) error {
				token, err := s.find(r)
				if err != nil {
					return err
				}
				encode := base64.RawURLEncoding.EncodeToString
				content := encode([]byte(header)) + "." + strings.Split(token, ".")[1]
				return s.put(r, content+"."+encode(sign(content)))
			}
		}
		return map[string]forgery{
			"JWT without algorithm": forged(`{"alg":"none"}`, func(string) []byte { return nil }),
			"JWT by HMAC with a key that anyone knows": forged(`{"alg":"HS256","kid":"rsa-1"}`, func(content string) []byte {
				return jwtSum(content, "")
			}),
			"JWT by a key of its own": forged(`{"alg":"ES256","kid":"ec-1","jwk":{}}`, func(content string) []byte {
				signature, _ := jws.Sign(jws.ES256, trialP256(), content)
				return signature
			}),
		}
	case *publicKeyScheme: // the public key as the secret of an HMAC
		return map[string]forgery{"HMAC by the public key": func(r *Request, secrets []string, now time.Time) error {
			other := hmacScheme{signed: s.signed, newHash: sha256.New, keyForm: "text"}
			return other.sign(r, secrets, now)
		}}
	}
	return nil
}

// sameLength has a hash of as many bytes as a scheme's hash.
var sameLength = map[int]func() hash.Hash{
	sha256.Size: sha512.New512_256,
	sha1.Size:   func() hash.Hash { return cutHash{sha256.New()} },
	sha512.Size: func() hash.Hash { return sha3.New512() },
}

// cutHash is SHA-256 truncated to the length of SHA-1.
type cutHash struct{ hash.Hash }

func (h cutHash) Size() int           { return sha1.Size }
func (h cutHash) Sum(b []byte) []byte { return h.Hash.Sum(b)[:len(b)+sha1.Size] }

// withHash signs again: no other header keeps a valid signature.
func withHash(s *hmacScheme, with func() hash.Hash) forgery {
	other := *s
	other.newHash = with
	return func(r *Request, secrets []string, now time.Time) error {
		for _, name := range s.header.hidden() {
			delete(r.Header, name)
		}
		return other.sign(r, secrets, now)
	}
}
