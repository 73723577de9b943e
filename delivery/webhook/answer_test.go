package webhook

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
)

// A success with a large header is a success, over both protocols, and its body is kept as far as the header was read.
func TestAnswersWithLargeHeaders(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	folder := t.TempDir()
	for _, protocol := range []string{"h2", "http/1.1", "plain"} {
		for _, size := range []int{20 << 10, 200 << 10, 1 << 20, 12 << 20} {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				for range size / 1024 {
					w.Header().Add("Set-Cookie", strings.Repeat("c", 1024))
				}
				_, _ = io.WriteString(w, "ok")
			})
			server := httptest.NewUnstartedServer(handler)
			server.Config.ErrorLog = discarded()
			target := to("")
			if protocol == "plain" {
				server.Start()
			} else {
				server.TLS = &tls.Config{Certificates: []tls.Certificate{a.sign(nil)}, MinVersion: tls.VersionTLS12}
				server.EnableHTTP2 = protocol == "h2"
				server.StartTLS()
				target.Destination.HTTP.CA = a.file(folder + "/ca.pem")
			}
			t.Cleanup(server.Close)
			target.Destination.HTTP.URL = server.URL
			result := newTestSender(t, folder).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
			if protocol == "h2" && size > maxHeaderBytes {
				continue // the status of such an answer isn't known
			}
			require.Equal(t, delivery.OK, result.Kind, "%s %d: %s", protocol, size, result.Error)
			require.Equal(t, "200", result.Code)
			if size < maxHeaderBytes {
				require.Equal(t, "ok", string(result.Answer))
			}
		}
	}
}

// A redirect says where it leads: roughly in the error, which viewers and the log have, and exactly in the answer.
func TestRedirectsNameTheirTarget(t *testing.T) {
	t.Parallel()
	var location string
	endpoint := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusMovedPermanently)
	})
	secure := "https" + strings.TrimPrefix(endpoint.URL, "http")
	for to301, says := range map[string]string{
		"https://hooks.example.com/in?token=hidden": "it leads to https://hooks.example.com",
		"https://u:hidden@hooks.example.com/in":     "it leads to https://hooks.example.com",
		secure + "/hooks/hidden":                    "it leads to the same address with https",
		"/hooks/hidden/":                            "it leads to the same address with or without a slash at the end",
		"/login":                                    "it leads to another path of the same host",
		"":                                          "redirects are not followed",
		"http://%zz":                                "redirects are not followed",
	} {
		location = to301
		result := newTestSender(t).Send(t.Context(), to(endpoint.URL+"/hooks/hidden"), jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Bad, result.Kind)
		require.True(t, strings.HasSuffix(result.Error, says), "%s: %s", to301, result.Error)
		require.NotContains(t, result.Error, "hidden")
		if to301 != "" {
			require.Equal(t, "Location: "+to301+"\n\n", string(result.Answer))
		}
	}
}

func packed(t *testing.T, text string, to func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := to(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// A compressed answer is kept as text, up to the usual length. What can't be decompressed is named.
func TestCompressedAnswersAreReadable(t *testing.T) {
	t.Parallel()
	gzipped := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	zlibbed := func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
	deflated := func(w io.Writer) io.WriteCloser { d, _ := flate.NewWriter(w, 9); return d } //nolint:nlreturn // the level is valid
	const reason = `{"error": "no such tenant"}`
	long := strings.Repeat(reason, 10_000)
	half := packed(t, long, gzipped)
	for name, c := range map[string]struct{ coding, body, want string }{
		"gzip":                      {"gzip", packed(t, reason, gzipped), reason},
		"in capitals":               {"GZIP", packed(t, reason, gzipped), reason},
		"deflate":                   {"deflate", packed(t, reason, zlibbed), reason},
		"deflate without a header":  {"deflate", packed(t, reason, deflated), reason},
		"a long one":                {"gzip", half, long[:delivery.MaxAnswer]},
		"one that breaks off":       {"gzip", packed(t, reason, gzipped)[:30], ""},
		"identity":                  {"identity", reason, reason},
		"gzip that is none":         {"gzip", reason, reason},
		"another":                   {"br", "\x0b\x02\x80\xff\xfe\x03", "(compressed with br, which can't be shown)"},
		"another that is none":      {"br", reason, reason},
		"nothing":                   {"gzip", "", ""},
		"a name that never ends":    {strings.Repeat("x", 100), "\xff", "(compressed with " + strings.Repeat("x", 20) + ", which can't be shown)"},
		"what only looks like zlib": {"deflate", "\x78\x9c\xff\xff\xff", "(compressed with deflate, which can't be shown)"},
	} {
		endpoint := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", c.coding)
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, c.body)
		})
		result := newTestSender(t).Send(t.Context(), to(endpoint.URL), jobOf(0), messageOf(`{}`))
		require.Equal(t, "422", result.Code, name)
		if name == "one that breaks off" {
			require.True(t, strings.HasPrefix(reason, string(result.Answer)), name)
			continue
		}
		require.Equal(t, c.want, string(result.Answer), name)
	}
}

// The handshake may take as long as the attempt, whose timeout it shares.
func TestAHandshakeMayTakeLong(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	folder := t.TempDir()
	config := newTLSEndpointConfig(a.sign(nil))
	shown := config.Certificates[0]
	server := newTLSServer(t, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		<-time.After(connectTimeout + 100*time.Millisecond)
		return &shown, nil
	}}, "http/1.1")
	target := to(server.URL)
	target.Destination.HTTP.CA = a.file(folder + "/ca.pem")
	result := newTestSender(t, folder).Send(t.Context(), target, jobOf(0), messageOf(`{}`))
	require.Equal(t, delivery.OK, result.Kind, result.Error)
}
