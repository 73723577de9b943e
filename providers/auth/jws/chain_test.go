package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The certificates and the token in testdata/apple are those of apple/app-store-server-library-node's tests; those named apple-…
// are Apple's own.
func appleFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "apple", name))
	require.NoError(t, err)
	return string(text)
}

func appleTrust(t *testing.T, root string) Trust {
	t.Helper()
	certificate, ok := ParseRoot(appleFile(t, root+".pem"))
	require.True(t, ok)
	return Trust{Roots: []*x509.Certificate{certificate}, Leaf: "1.2.840.113635.100.6.11.1", Issuer: "1.2.840.113635.100.6.2.1"}
}

// inBase64 returns certificates as a token's header has them.
func inBase64(t *testing.T, names ...string) (chain []string) {
	t.Helper()
	for _, name := range names {
		block, _ := pem.Decode([]byte(appleFile(t, name+".pem")))
		chain = append(chain, base64.StdEncoding.EncodeToString(block.Bytes))
	}
	return chain
}

func tokenWith(t *testing.T, chain any) Token {
	t.Helper()
	head, err := json.Marshal(map[string]any{"alg": ES256, "x5c": chain})
	require.NoError(t, err)
	return parsed(t, base64.RawURLEncoding.EncodeToString(head)+".e30.AA")
}

// Apple's chain leads to Apple's root, and the chain of its library's tests to theirs. A chain to another root, without the marks of
// either certificate, in another order or encoding, or with an issuer as the signer is none.
func TestChains(t *testing.T) {
	t.Parallel()
	ours, apples := appleTrust(t, "root"), appleTrust(t, "apple-root")
	url := func(chain []string) []string {
		return []string{strings.NewReplacer("+", "-", "/", "_").Replace(chain[0]), chain[1]}
	}
	for name, c := range map[string]struct {
		trust Trust
		chain any
		ok    bool
	}{
		"Apple's own":                      {apples, inBase64(t, "apple-leaf", "apple-issuer", "apple-root"), true},
		"without the root":                 {apples, inBase64(t, "apple-leaf", "apple-issuer"), true},
		"of the library's tests":           {ours, inBase64(t, "leaf", "issuer", "root"), true},
		"to another root":                  {apples, inBase64(t, "leaf", "issuer", "root"), false},
		"to no root":                       {Trust{}, inBase64(t, "leaf", "issuer", "root"), false},
		"no issuer":                        {ours, inBase64(t, "leaf", "root"), false},
		"an issuer without its mark":       {ours, inBase64(t, "leaf-of-unmarked", "issuer-unmarked", "root"), false},
		"a signer without its mark":        {ours, inBase64(t, "leaf-unmarked", "issuer", "root"), false},
		"the issuer signs":                 {Trust{Roots: ours.Roots}, inBase64(t, "issuer", "root"), false},
		"the root signs":                   {Trust{Roots: ours.Roots}, inBase64(t, "root"), false},
		"root first":                       {ours, inBase64(t, "root", "issuer", "leaf"), false},
		"more than five":                   {ours, inBase64(t, "leaf", "issuer", "root", "root", "root", "root"), false},
		"none":                             {ours, []string{}, false},
		"one that issues nothing":          {ours, inBase64(t, "leaf", "issuer", "apple-issuer", "root"), false},
		"the issuer twice":                 {ours, inBase64(t, "leaf", "issuer", "issuer"), false},
		"one text":                         {ours, inBase64(t, "leaf")[0], false},
		"in base64url":                     {ours, url(inBase64(t, "leaf", "issuer")), false},
		"one that is no certificate":       {ours, []string{inBase64(t, "leaf")[0], "AAAA"}, false},
		"the same, with its marks in ours": {Trust{Roots: ours.Roots, Leaf: "1.2.3"}, inBase64(t, "leaf", "issuer"), false},
	} {
		chain, ok := c.trust.Chain(tokenWith(t, c.chain))
		require.Equal(t, c.ok, ok, name)
		if ok {
			require.Len(t, chain, 3, name)
			require.IsType(t, &ecdsa.PublicKey{}, chain[0].PublicKey, name)
		}
	}
}

// Anyone can send certificates that issue each other. Refusing them costs about as much as accepting a chain: one signature of the
// root's key. Otherwise each of the ways through them would be verified, or a key of any size.
func TestStrangersChainsCostLittle(t *testing.T) {
	t.Parallel()
	ours := appleTrust(t, "root")
	good := tokenWith(t, inBase64(t, "leaf", "issuer", "root"))
	hostile := tokenWith(t, manyWays(t))
	took := func(one Token, want bool) time.Duration {
		best := time.Hour
		for range 5 {
			start := time.Now()
			_, ok := ours.Chain(one)
			require.Equal(t, want, ok)
			best = min(best, time.Since(start))
		}
		return best
	}
	require.Less(t, took(hostile, false), 5*took(good, true))
}

// manyWays returns a signer and four issuers with one name and one key, but different alternative names, so that each may have
// issued each: 64 signatures.
func manyWays(t *testing.T) (chain []string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	above, err := newTemplate(1, "Stranger", true, "")
	require.NoError(t, err)
	below, err := newTemplate(2, "Signer", false, "1.2.840.113635.100.6.11.1")
	require.NoError(t, err)
	for i := range maxChain {
		template := below
		if i > 0 {
			template, above.DNSNames = above, []string{fmt.Sprintf("%d.example.com", i)}
		}
		one, err := issue(template, above, key.Public(), key)
		require.NoError(t, err)
		chain = append(chain, base64.StdEncoding.EncodeToString(one.Raw))
	}
	return chain
}

// A chain is valid while all of its certificates are: the signing counts, not today.
func TestChainsExpire(t *testing.T) {
	t.Parallel()
	chain, ok := appleTrust(t, "root").Chain(tokenWith(t, inBase64(t, "leaf", "issuer")))
	require.True(t, ok)
	for at, valid := range map[string]bool{
		"2023-01-05T21:31:33Z": false, "2023-01-05T21:31:34Z": true, "2033-01-01T21:31:05Z": true, "2033-01-01T21:31:06Z": false,
	} {
		when, err := time.Parse(time.RFC3339, at)
		require.NoError(t, err)
		require.Equal(t, valid, chain.ValidAt(when, 0), at)
		require.True(t, chain.ValidAt(when, time.Second), at)
	}
}

// The notification of the library's tests is signed by the key of its chain. A key of another curve signs nothing by ES256.
func TestTheSignerOfAChain(t *testing.T) {
	t.Parallel()
	trust := appleTrust(t, "notification-root")
	token := parsed(t, strings.TrimSpace(appleFile(t, "notification.jws")))
	_, ok := trust.Chain(token)
	require.True(t, ok)
	signer, ok := token.Signer()
	require.True(t, ok)
	require.True(t, token.Verify(ES256, signer))
	other := token
	other.Content += "A"
	require.False(t, other.Verify(ES256, signer))

	root, err := NewRoot()
	require.NoError(t, err)
	trial := Trust{Roots: []*x509.Certificate{root.Certificate}, Leaf: trust.Leaf, Issuer: trust.Issuer}
	for curve, valid := range map[elliptic.Curve]bool{elliptic.P256(): true, elliptic.P384(): false, elliptic.P521(): false} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		issued, err := root.Issue(key.Public(), trial)
		require.NoError(t, err)
		token := tokenWith(t, issued)
		_, ok := trial.Chain(token)
		require.True(t, ok)
		digestOf, _ := digest(ES256, token.Content)
		signature, err := key.Sign(rand.Reader, digestOf, crypto.SHA256)
		require.NoError(t, err)
		if valid {
			signature, err = Sign(ES256, key, token.Content)
			require.NoError(t, err)
		}
		token.Signature = signature
		require.Equal(t, valid, token.Verify(ES256, key.Public()), curve.Params().Name)
	}
	_, ok = trust.Chain(tokenWith(t, mustIssue(t, root, trial)))
	require.False(t, ok, "a trial's root counts for nothing else")
}

func mustIssue(t *testing.T, root *Root, s Trust) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	chain, err := root.Issue(key.Public(), s)
	require.NoError(t, err)
	return chain
}

// A root is one certificate that may issue others.
func TestRoots(t *testing.T) {
	t.Parallel()
	root := appleFile(t, "root.pem")
	for name, text := range map[string]string{
		"nothing": "", "a signer": appleFile(t, "leaf.pem"), "two": root + root, "text": "root",
		"a key": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")})),
		"junk":  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
	} {
		_, ok := ParseRoot(text)
		require.False(t, ok, name)
	}
	_, ok := ParseRoot(root)
	require.True(t, ok)
}

// A token without its payload is parsed only as such, and signs what is attached.
func TestDetachedTokens(t *testing.T) {
	t.Parallel()
	parts := strings.Split(rfcES512, ".")
	token, err := ParseDetached(parts[0] + ".." + parts[2])
	require.NoError(t, err)
	require.True(t, token.Attach([]byte("Payload")).Verify(ES512, keyOf(t, rfcP521)))
	require.False(t, token.Attach([]byte("payload")).Verify(ES512, keyOf(t, rfcP521)))
	require.False(t, token.Verify(ES512, keyOf(t, rfcP521)))
	for name, text := range map[string]string{
		"with a payload": rfcES512, "one dot": parts[0] + "." + parts[2], "three dots": parts[0] + "..." + parts[2], "empty": "",
		"padded": parts[0] + ".." + parts[2] + "=",
	} {
		_, err := ParseDetached(text)
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES512","tl_headers":"X-A,X-B","n":1}`))
	token, err = ParseDetached(head + "..AA")
	require.NoError(t, err)
	require.Equal(t, []string{"X-A,X-B", "", ""}, []string{token.Field("tl_headers"), token.Field("n"), token.Field("none")})
}
