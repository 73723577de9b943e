package jws

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The examples of RFC 7515, appendices A.2, A.3 and A.4.
const (
	rfcClaims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
	rfcRS256  = "eyJhbGciOiJSUzI1NiJ9." + rfcClaims + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm" +
		"4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K" +
		"0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywl" +
		"VmtVrBp0igcN_IoypGlUPQGe77Rw"
	rfcES256 = "eyJhbGciOiJFUzI1NiJ9." + rfcClaims +
		".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
	rfcES512 = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0" +
		"aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"

	rfcRSA = `{"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1P` +
		`t0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo` +
		`7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb5` +
		`4h4FRWyuXpoQ"}`
	rfcP256 = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`
	rfcP521 = `{"kty":"EC","crv":"P-521",` +
		`"x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",` +
		`"y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}`
)

func parsed(t *testing.T, text string) Token {
	t.Helper()
	token, err := Parse(text)
	require.NoError(t, err)
	return token
}

func keyOf(t *testing.T, text string) crypto.PublicKey {
	t.Helper()
	key, ok := ParseKey([]byte(text))
	require.True(t, ok)
	return key.Public
}

// Each example is valid with its own key and algorithm, and with no other: neither can be confused.
func TestTheExamplesOfTheStandard(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{RS256: rfcRS256, ES256: rfcES256, ES512: rfcES512}
	keys := map[string]string{RS256: rfcRSA, ES256: rfcP256, ES512: rfcP521}
	for of, text := range tokens {
		token := parsed(t, text)
		for algorithm := range tokens {
			for kind, key := range keys {
				require.Equal(t, [2]string{of, of} == [2]string{algorithm, kind}, token.Verify(algorithm, keyOf(t, key)), "%s as %s with a key of %s", of, algorithm, kind)
			}
		}
		changed := token
		changed.Content += "x"
		require.False(t, changed.Verify(of, keyOf(t, keys[of])))
	}
	require.JSONEq(t, `{"iss":"joe","exp":1300819380,"http://example.com/is_root":true}`, string(parsed(t, rfcRS256).Payload))
}

// What Sign signs is valid. A signature in DER, of another length, or with zeros isn't.
func TestSignatures(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, MinRSABits)
	require.NoError(t, err)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	for algorithm, key := range map[string]crypto.Signer{RS256: rsaKey, ES256: p256, ES512: p521} {
		token := Token{Algorithm: algorithm, Content: "a.b"}
		for range 20 { // r and s have leading zeros at times
			token.Signature, err = Sign(algorithm, key, token.Content)
			require.NoError(t, err)
			require.True(t, token.Verify(algorithm, key.Public()))
		}
		signature := token.Signature
		sum, hash := digest(algorithm, token.Content)
		der, err := key.Sign(rand.Reader, sum, hash)
		require.NoError(t, err)
		for what, other := range map[string][]byte{
			"none": nil, "one byte more": append([]byte{0}, signature...), "one byte less": signature[1:], "zeros": make([]byte, len(signature)),
			"in DER": append([]byte{}, der...),
		} {
			token.Signature = other
			require.Equal(t, algorithm == RS256 && what == "in DER", token.Verify(algorithm, key.Public()), "%s: %s", algorithm, what)
		}
	}
	_, err = Sign(RS256, p256, "a.b")
	require.ErrorIs(t, err, ErrUnfit)
	_, err = Sign("HS256", rsaKey, "a.b")
	require.ErrorIs(t, err, ErrUnfit)
}

// A text that isn't exactly a compact token is refused, and so is one that demands an extension.
func TestMalformedTokens(t *testing.T) {
	t.Parallel()
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for name, text := range map[string]string{
		"empty": "", "one part": "a", "two parts": "e30.e30", "four parts": "e30.e30.e30.e30", "padding": "e30=.e30.AA",
		"standard base64": encode(`{"a":"??>"}`) + ".e30.+/8", "spaces": " e30.e30.AA", "header: text": encode(`"a"`) + ".e30.AA",
		"header: list": encode(`[]`) + ".e30.AA", "header: null": encode(`null`) + ".e30.AA",
		"header: crit":    encode(`{"alg":"ES256","crit":["b64"],"b64":false}`) + ".e30.AA",
		"header: no crit": encode(`{"alg":"ES256","crit":[]}`) + ".e30.AA",
		"header: two alg": encode(`{"alg":"ES256","alg":"none"}`) + ".e30.AA",
		"header: two kid": encode(`{"kid":"a","KID":"b"}`) + ".e30.AA",
		"header: kid 5":   encode(`{"kid":5}`) + ".e30.AA",
		"trailing bits":   "e30.e30.AB",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		_, _ = Parse(text)
		_, _, _ = ParseKeys([]byte(text))
		_, _ = ParsePublic(text)
	})
}

// One key of a set that can't be used says nothing about the others.
func TestKeysAreReadOneByOne(t *testing.T) {
	t.Parallel()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	n := base64.RawURLEncoding.EncodeToString(short.N.Bytes())
	with := func(key, fields string) string { return strings.TrimSuffix(key, "}") + "," + fields + "}" }
	odd := []string{
		`{"kty":"RSA","n":"` + n + `","e":"AQAB"}`, `{"kty":"AKP","alg":"ML-DSA-44","pub":"AA"}`, `{"kty":"oct","k":"c2VjcmV0"}`,
		`{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"}`, `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`,
		with(rfcRSA, `"use":"enc"`), with(rfcRSA, `"key_ops":["encrypt"]`), with(rfcRSA, `"key_ops":[]`), `null`, `5`, `{}`,
		strings.Replace(rfcRSA, "AQAB", "Ag", 1), strings.Replace(rfcRSA, "AQAB", "AQ", 1), strings.Replace(rfcRSA, "AQAB", "AQAAAAE", 1),
		strings.Replace(rfcP256, "f83O", "f83P", 1), strings.Replace(rfcP256, "P-256", "P-521", 1),
	}
	good := []string{
		with(rfcRSA, `"kid":"1","use":"sig","alg":"RS256","key_ops":["verify"]`), with(rfcP256, `"kid":"1"`), with(rfcP521, `"kid":"2"`),
		with(rfcP256, `"kid":"3","alg":"ES512"`),
	}
	keys, skipped, err := ParseKeys([]byte(`{"keys":[` + strings.Join(append(odd, good...), ",") + `]}`))
	require.NoError(t, err)
	require.Len(t, keys, len(good))
	require.Equal(t, len(odd), skipped)

	ids := func(token Token, algorithm string) (all []string) {
		for _, key := range For(token, algorithm, keys, time.Now()) {
			all = append(all, key.ID)
		}
		return all
	}
	require.Equal(t, []string{"1"}, ids(Token{KeyID: "1"}, RS256))
	require.Equal(t, []string{"1"}, ids(Token{KeyID: "1"}, ES256), "another key with the same ID")
	require.Equal(t, []string{"1"}, ids(Token{}, ES256), "a key of which another algorithm is said isn't tried")
	require.Empty(t, ids(Token{KeyID: "3"}, ES512), "the curve of ES256 isn't that of ES512")
	require.Empty(t, ids(Token{KeyID: "9"}, RS256))

	for _, text := range []string{"", "{}", "[]", `{"keys":null}`, `{"keys":{}}`, `<html>`} {
		_, _, err := ParseKeys([]byte(text))
		require.Error(t, err, text)
	}
	many, _, err := ParseKeys([]byte(`{"keys":[` + strings.TrimSuffix(strings.Repeat(rfcP256+",", 1000), ",") + `]}`))
	require.NoError(t, err)
	require.Len(t, many, maxKeys)
	require.Len(t, For(Token{}, ES256, many, time.Now()), maxTried)
}

// Coordinates that some publishers write without leading zeros are the same key.
func TestCoordinatesWithoutZeros(t *testing.T) {
	t.Parallel()
	short := strings.Replace(rfcP521, "ADSm", "NKZ", 1) // not the same bits: decoded below
	_, ok := ParseKey([]byte(short))
	require.False(t, ok)
	var k map[string]string
	require.NoError(t, json.Unmarshal([]byte(rfcP521), &k))
	y, err := base64.RawURLEncoding.DecodeString(k["y"])
	require.NoError(t, err)
	require.Zero(t, y[0])
	k["y"] = base64.RawURLEncoding.EncodeToString(y[1:])
	text, err := json.Marshal(k)
	require.NoError(t, err)
	require.True(t, parsed(t, rfcES512).Verify(ES512, keyOf(t, string(text))))
}

// An API answers with one key at a path.
func TestTheAnswerOfAnAPI(t *testing.T) {
	t.Parallel()
	at := Set{URL: "https://api.example.com", Body: []byte("{}"), Answer: "data.key"}
	keys, err := at.ParseAnswer([]byte(`{"data":{"key":` + rfcP256 + `},"request_id":"r"}`))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	for _, text := range []string{``, `{}`, `{"data":[]}`, `{"data":{"key":null}}`, `{"data":{"key":{"kty":"oct"}}}`, rfcP256} {
		_, err := at.ParseAnswer([]byte(text))
		require.Error(t, err, text)
	}
}

// A publisher can say when a key ends. One whose end can't be read is unusable.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	const key = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",` +
		`"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","expired_at":`
	for end, valid := range map[string]bool{
		"null": true, "1800000001": true, "1800000000.5": false, "1800000000": false, "1": false, "0": false, "-1": false,
		"1e300": true, `"soon"`: false, "true": false,
	} {
		one, ok := ParseKey([]byte(key + end + "}"))
		require.Equal(t, valid, ok && len(For(Token{}, ES256, []Key{one}, now)) == 1, end)
	}
}

// A public key is read as PEM, also with its line ends written as \n, and as base64 alone. Anything else is none.
func TestPublicKeysAsText(t *testing.T) {
	t.Parallel()
	der, err := x509.MarshalPKIXPublicKey(keyOf(t, rfcP256))
	require.NoError(t, err)
	block := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	for name, text := range map[string]string{
		"PEM": block, "PEM without its last line end": strings.TrimSpace(block), "PEM with CRLF": strings.ReplaceAll(block, "\n", "\r\n"),
		`PEM with \n`: strings.ReplaceAll(block, "\n", `\n`), "base64": base64.StdEncoding.EncodeToString(der),
		"base64 without padding": base64.RawStdEncoding.EncodeToString(der),
	} {
		key, ok := ParsePublic(text)
		require.True(t, ok, name)
		require.True(t, parsed(t, rfcES256).Verify(ES256, key), name)
	}
	for _, text := range []string{
		"", "secret", strings.ReplaceAll(block, "PUBLIC KEY", "PRIVATE KEY"), strings.ReplaceAll(block, "PUBLIC KEY", "CERTIFICATE"), block[:60],
	} {
		_, ok := ParsePublic(text)
		require.False(t, ok, text)
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	c, ok := ParseClaims([]byte(`{"a":"x","b":true,"n":5,"d":{"e":"f"},"https://x.y/z":"q","aud":["one","two"],"exp":1.9e9,"iat":"5","nbf":-1}`))
	require.True(t, ok)
	for path, value := range map[string]string{"a": "x", "b": "true", "d.e": "f", "https://x.y/z": "q"} {
		require.True(t, c.Is(path, value), path)
		require.False(t, c.Is(path, value+"x"), path)
		require.False(t, c.Is(path, ""), path)
	}
	for _, path := range []string{"n", "d", "aud", "missing", "a.b", "d.e.f", ""} {
		require.False(t, c.Is(path, ""), path)
		require.False(t, c.Is(path, "5"), path)
	}
	require.True(t, c.IsFor([]string{"three", "two"}))
	require.False(t, c.IsFor([]string{"three", ""}))
	require.False(t, c.IsFor(nil))
	require.False(t, Claims{}.IsFor([]string{""}))
	require.True(t, Claims{"aud": "one"}.IsFor([]string{"one"}))
	at, ok := c.Time("exp")
	require.True(t, ok)
	require.Equal(t, time.Unix(1.9e9, 0), at)
	for _, name := range []string{"iat", "nbf", "missing"} {
		_, ok = c.Time(name)
		require.False(t, ok, name)
	}
	for _, text := range []string{"", "null", "[]", `"a"`, "{"} {
		_, ok = ParseClaims([]byte(text))
		require.False(t, ok, text)
	}
}
