package webhook

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

// A client key that can't be used is refused when it is set, and blocks the destination if it appears later. The reason names no
// file and nothing of a key.
func TestClientKeysThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	folder := t.TempDir()
	one, other := writeClient(t, folder, "one", a.sign(nil)), writeClient(t, folder, "other", a.sign(nil))
	key, err := os.ReadFile(one[1])
	require.NoError(t, err)
	block, _ := pem.Decode(key)
	old, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", block.Bytes, []byte("hidden"), x509.PEMCipherAES256) //nolint:staticcheck // old files exist
	require.NoError(t, err)
	write := func(name string, text []byte) string {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
		return name
	}
	cases := map[string]struct{ certificate, key, says string }{
		"of another":          {one[0], other[1], "don't belong together"},
		"encrypted, old form": {one[0], write("old.key", pem.EncodeToMemory(old)), "the key in http.key is encrypted"},
		"encrypted": {one[0], write("new.key", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("hidden")})),
			"the key in http.key is encrypted"},
		"no key":         {one[0], write("no.key", []byte("hidden")), "http.key contains no usable private key"},
		"broken":         {one[0], write("broken.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("hidden")})), "http.key contains no usable private key"},
		"a certificate":  {one[0], one[0], "http.key contains no usable private key"},
		"no certificate": {write("no.pem", []byte("hidden")), one[1], "http.certificate contains no usable certificate"},
	}
	if openssl, err := exec.LookPath("openssl"); err == nil {
		out, err := command(t, folder, openssl, "pkcs8", "-topk8", "-in", one[1], "-out", "real.key", "-passout", "pass:hidden").CombinedOutput()
		require.NoError(t, err, string(out))
		cases["encrypted by openssl"] = struct{ certificate, key, says string }{one[0], "real.key", "the key in http.key is encrypted"}
	}
	endpoint := newTLSEndpoint(t, a.sign(nil), a.pool())
	for name, c := range cases {
		target := to(endpoint.URL)
		h := target.Destination.HTTP
		h.CA, h.Certificate, h.Key = a.file(filepath.Join(folder, "ca.pem")), c.certificate, c.key
		err := CheckFiles(folder)(*h)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, "invalid_destination", event.CodeOf(err), name)
		result := newTestSender(t, folder).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Blocked, result.Kind, name)
		require.Equal(t, "tls_files", result.Code, name)
		require.Contains(t, result.Error, c.says, name)
		require.NotContains(t, result.Error, "hidden")
		require.NotContains(t, result.Error, folder)
	}

	h := delivery.HTTP{URL: endpoint.URL, Certificate: one[0], Key: one[1]}
	require.NoError(t, CheckFiles(folder)(h))
	require.NoError(t, CheckFiles("")(delivery.HTTP{URL: endpoint.URL}))
	require.Equal(t, delivery.CodeFilesUnread, event.CodeOf(CheckFiles(t.TempDir())(h)), "the workers may have them")
	require.NoError(t, CheckFiles("")(h), "only the workers have a folder")
	h.CA = write("empty.pem", nil)
	require.ErrorContains(t, CheckFiles(folder)(h), "http.ca contains no certificate")
}
