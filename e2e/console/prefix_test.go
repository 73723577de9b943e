package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
	"holdfast/operator/access"
)

const prefix = "/tools/holdfast"

// replica is a second operator process of the same installation, configured with a path prefix of a proxy.
var replica = sync.OnceValues(func() (address string, err error) {
	ports, err := stacktest.FreePorts(1)
	if err != nil {
		return "", err
	}
	address = "http://127.0.0.1:" + ports[0]
	log, err := os.Create(filepath.Join(holdfast.dir, "replica.log"))
	if err != nil {
		return "", err
	}
	command := exec.Command(filepath.Join(holdfast.dir, "holdfast"), "operator")
	command.Stdout, command.Stderr = log, log
	given, err := os.ReadFile(filepath.Join(holdfast.data, "env")) // what dev has configured
	if err != nil {
		return "", err
	}
	command.Env = append(append(append([]string{}, holdfast.env...), strings.Fields(string(given))...),
		"HOLDFAST_OPERATOR_ADDR=127.0.0.1:"+ports[0], "HOLDFAST_OPERATOR_PREFIX="+prefix)
	if err := command.Start(); err != nil {
		return "", err
	}
	stacktest.StopAtExit(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		_ = log.Close()
	})
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if response, err := client.Get(address + "/readyz"); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return address, nil
			}
		}
	}
	text, _ := os.ReadFile(log.Name())
	return "", &notReadyError{string(text)}
})

type notReadyError struct{ log string }

func (e *notReadyError) Error() string { return "the replica is not ready:\n" + e.log }

// proxied returns a proxy in front of the replica, with nothing on its other paths.
func proxied(t *testing.T, strips bool) (origin string) {
	t.Helper()
	address, err := replica()
	require.NoError(t, err)
	target, err := url.Parse(address)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		if strips {
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, prefix)
		}
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix+"/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// Behind a proxy the console works under a path, whether or not the proxy removes it: pages, forms, live updates.
func TestPagesWorkUnderAPath(t *testing.T) {
	t.Parallel()
	for name, strips := range map[string]bool{"kept": false, "taken off": true} {
		kind := uniqueID("note")
		b := newBrowser(t)
		b.origin = proxied(t, strips)
		require.Equal(t, 200, b.open(prefix+"/"), name)
		require.Equal(t, prefix+"/console/login?next=%2Ftools%2Fholdfast%2Fconsole", b.path(), name)
		b.fill("#token", holdfast.tokens[access.RoleOperator])
		b.submit(".login button")
		require.Equal(t, prefix+"/console", b.path(), name)
		b.open(prefix + "/console/events?provider=homemade&type=" + kind)
		b.await("#tail-state", "following")
		id := holdfast.send(t, uniqueID("msg"), `{"type":"`+kind+`"}`)
		b.await("#rows", id[len(id)-8:])
		b.submit("#rows a")
		require.Equal(t, prefix+"/console/events/"+id, b.path(), name)
		require.Equal(t, 200, b.submit(`button[aria-label="Resend to sample-http"]`), name)
		require.Equal(t, 200, b.submit("main form.confirm button"), name)
		require.Contains(t, b.text(".flash"), "Resending to sample-http", name)
		for section := range b.count("nav[aria-label=Sections] a") {
			b.open(prefix + "/console")
			require.Equal(t, 200, b.submit("nav[aria-label=Sections] li:nth-child("+string(rune('1'+section))+") a"), name)
		}
		b.submit(".who button")
		require.Equal(t, prefix+"/console/login", b.path(), name)
	}
}

// Every process of the installation accepts a session, and logging out ends it in all of them.
func TestASessionIsKnownToAnotherProcess(t *testing.T) {
	t.Parallel()
	address, err := replica()
	require.NoError(t, err)
	response, err := stays.PostForm(holdfast.operator+"/console/login", url.Values{"token": {holdfast.tokens[access.RoleViewer]}})
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 303, response.StatusCode)
	cookie := response.Cookies()[0]
	require.NotContains(t, cookie.Value, holdfast.tokens[access.RoleViewer])
	show := func(method, at, proof string) (status int, page string) {
		request, err := http.NewRequestWithContext(t.Context(), method, at, nil)
		require.NoError(t, err)
		request.AddCookie(cookie)
		request.Header.Set("X-Csrf-Token", proof)
		response, err := stays.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(text)
	}
	status, page := show("GET", address+"/console/events", "")
	require.Equal(t, 200, status)
	require.Contains(t, page, "the-viewer")
	_, proof, _ := strings.Cut(page, `name="csrf" value="`)
	proof, _, _ = strings.Cut(proof, `"`)
	status, _ = show("POST", address+"/console/logout", proof)
	require.Equal(t, 303, status)
	status, _ = show("GET", holdfast.operator+"/console", "")
	require.Equal(t, 303, status, "here as well")
	status, page = holdfast.look(t, access.RoleOperator, "/console/audit?actor=the-viewer&action=session.logout")
	require.Equal(t, 200, status)
	require.Contains(t, page, "session.logout")
}
