package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// userPrograms are the programs of a page of a client, in the folder where its steps were followed.
type userPrograms struct {
	page, dir           string
	publisher, endpoint []string // command lines
}

const publisherToken = "0123456789abcdef0123"

// The clients for Go and TypeScript:
//   - their pages work as written: a service publishes, an endpoint verifies, the secret is rotated, the operator API lists
//   - an endpoint in the other language verifies what they publish, under either secret of a rotation
//   - a response that is lost, and refusals with Retry-After, are retried: the event exists once
//   - a wrong token and too large a body aren't
func TestTheTypedClients(t *testing.T) {
	t.Parallel()
	requirePackages(t, filepath.Join(root, "client", "typescript"))
	golang := userPrograms{"client/README.md", t.TempDir(), []string{"shop/bin/publisher"}, []string{"shop/bin/endpoint"}}
	typescript := userPrograms{
		"client/typescript/README.md", t.TempDir(), []string{"node", "shop/publisher.js"}, []string{"node", "shop/endpoint.js"},
	}
	golang.follow(t)
	typescript.follow(t)
	i := newPublishers(t)
	n := i.start(t, "serve")
	i.exchange(t, n, golang, typescript)
	i.exchange(t, n, typescript, golang)
	for _, p := range []userPrograms{golang, typescript} {
		i.publishThroughFaults(t, n, p)
		refusedOnce(t, n, p)
	}
	i.awaitCount(t, time.Minute, 6, "SELECT count(*) FROM events WHERE status = 'processed'")
	require.Equal(t, 6, i.count(t, allEvents))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

func newPublishers(t *testing.T) *installation {
	t.Helper()
	return newInstallation(t, "EVENTS_TOKEN="+publisherToken, "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
}

// follow follows the page, in a folder that stands in for the repository.
func (p userPrograms) follow(t *testing.T) {
	t.Helper()
	i := newPublishers(t)
	n := i.start(t, "serve")
	env := i.environment("EVENTS_URL="+n.ingress, "OPERATOR_URL="+n.operator, "npm_config_prefer_offline=true",
		"REPOSITORY="+root, "BUILT="+holdfast)
	port := freePorts(t, 1)[0][len("127.0.0.1:"):]
	f := &follower{dir: p.dir, env: env, prelude: `export PATH=$PWD/bin:$PATH EVENTS_TOKEN=` + publisherToken}
	f.run(t, `mkdir -p bin client/typescript
		ln -s "$BUILT" bin/holdfast
		cp -r "$REPOSITORY"/client/{*.go,go.mod,go.sum,operator} client
		cp -r "$REPOSITORY"/client/typescript/{*.json,*.md,src} client/typescript
		ln -s "$REPOSITORY/client/typescript/node_modules" client/typescript/node_modules`)
	var endpoint *node
	for _, step := range stepsOf(t, p.page, "Steps") {
		step.text = strings.ReplaceAll(step.text, "9099", port)
		switch {
		case step.language == "text" && strings.Contains(step.text, " verified "):
			endpoint.awaitLine(t, step.text)
		case step.language == "text":
			f.sees(t, step.text)
		case step.language != "sh":
			f.write(t, step)
		case step.text == "EVENTS_TOKEN="+publisherToken+" make run\n": // it runs already
		case strings.HasPrefix(step.text, "WEBHOOK_SECRETS="):
			if endpoint != nil {
				endpoint.kill()
			}
			endpoint = runProgram(t, p.dir, []string{"bash", "-c", "exec env " + step.text}, "PORT="+port)
			awaitEndpoint(t, "http://127.0.0.1:"+port+"/hooks")
		default:
			f.run(t, strings.TrimPrefix(step.text, "make clients\n")) // these are fetched already
		}
	}
}

// awaitLine waits for a line in the log of a program, as a page shows it.
func (n *node) awaitLine(t *testing.T, line string) {
	t.Helper()
	pattern := regexp.MustCompile(shownLine(line))
	eventually(t, time.Minute, "the endpoint has the delivery", func() error {
		if log := n.log.String(); !pattern.MatchString(log) {
			return fmt.Errorf("no %q in its log:\n%s", line, log)
		}
		return nil
	})
}

// exchange publishes in one language and receives in another, before and during a rotation.
func (i *installation) exchange(t *testing.T, n *node, from, to userPrograms) {
	t.Helper()
	name := "to-" + filepath.Base(to.dir)
	address := freePorts(t, 1)[0]
	hooks, port := "http://"+address+"/hooks", "PORT="+address[strings.LastIndex(address, ":")+1:]
	const foreign = secret
	first := i.shown(t, "subscription", "create", name, "--url", hooks, "--providers", "events")

	// The endpoint's first secret signs nothing, as after a rotation that the sender doesn't know yet.
	process := runProgram(t, to.dir, to.endpoint, port, "WEBHOOK_SECRETS="+foreign+" "+first)
	awaitEndpoint(t, hooks)
	i.passOn(t, n, from, process, 1)
	process.kill()

	second := i.shown(t, "subscription", "rotate-secret", name, "--grace", "48h", "--reason", "test")
	process = runProgram(t, to.dir, to.endpoint, port, "WEBHOOK_SECRETS="+second+" "+first)
	awaitEndpoint(t, hooks)
	i.passOn(t, n, from, process, 0)
	require.Equal(t, http.StatusUnauthorized, postSigned(t, hooks, foreign, "msg_1"))
	process.kill()
	out, err := i.run(t, "subscription", "delete", name, "--reason", "test")
	require.NoError(t, err, out)
}

// passOn publishes an event, and waits until an endpoint has verified it with the secret at a position.
func (i *installation) passOn(t *testing.T, n *node, from userPrograms, endpoint *node, position int) {
	t.Helper()
	id := uniqueID("evt")
	out, err := from.publish(t, n.ingress, publisherToken, id, `{"name":"café"}`)
	require.NoError(t, err, out)
	require.Contains(t, out, "duplicate: false")
	endpoint.awaitLine(t, fmt.Sprintf(
		`…secret %d verified {"id":%q,"type":"order.paid","source":"shop","data":{"name":"café"}}`, position, id))
}

// publish runs the publisher, and returns what it prints.
func (p userPrograms) publish(t *testing.T, address, token, id, data string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, p.publisher[0], append(p.publisher[1:], id)...)
	command.Dir, command.Stdin = p.dir, strings.NewReader(data)
	command.Env = append(cleanEnvironment(), "EVENTS_URL="+address, "EVENTS_TOKEN="+token)
	out, err := command.CombinedOutput()
	return string(out), err
}

// publishThroughFaults publishes an event whose first attempt is accepted without a response, and whose next two are refused.
func (i *installation) publishThroughFaults(t *testing.T, n *node, p userPrograms) {
	t.Helper()
	later := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(status)
		}
	}
	cut := func(w http.ResponseWriter, r *http.Request) {
		passer(t, n).ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	proxy := newFaultyProxy(t, cut, later(http.StatusServiceUnavailable), later(http.StatusTooManyRequests), passer(t, n).ServeHTTP)
	id := uniqueID("evt")
	out, err := p.publish(t, proxy.URL, publisherToken, id, `{"id":"o1"}`)
	require.NoError(t, err, out)
	require.Regexp(t, id+` is event [0-9a-f-]+: [a-z]+, duplicate: true`, out)
	requests := proxy.seen()
	require.Len(t, requests, 4)
	for k, request := range requests {
		require.Equal(t, requests[0].body, request.body)
		if k > 1 {
			require.GreaterOrEqual(t, request.at.Sub(requests[k-1].at), time.Second)
		}
	}
}

// refusedOnce publishes with a wrong token, and then a body over the limit: neither is sent again.
func refusedOnce(t *testing.T, n *node, p userPrograms) {
	t.Helper()
	for status, attempt := range map[string][]string{
		"status 401": {"a wrong token", `{"id":"o1"}`},
		"status 413": {publisherToken, `"` + strings.Repeat("x", 2<<20) + `"`},
	} {
		proxy := newFaultyProxy(t, passer(t, n).ServeHTTP)
		out, err := p.publish(t, proxy.URL, attempt[0], uniqueID("evt"), attempt[1])
		require.Error(t, err)
		require.Contains(t, out, "attempt 1: "+status)
		require.Len(t, proxy.seen(), 1)
	}
}

// faultyProxy hands the nth request to the nth handler, and further ones to the last.
type faultyProxy struct {
	*httptest.Server
	mu       sync.Mutex
	requests []proxiedRequest
}

type proxiedRequest struct {
	at   time.Time
	body string
}

func newFaultyProxy(t *testing.T, handlers ...http.HandlerFunc) *faultyProxy {
	t.Helper()
	p := &faultyProxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.mu.Lock()
		handler := handlers[min(len(p.requests), len(handlers)-1)]
		p.requests = append(p.requests, proxiedRequest{time.Now(), string(body)})
		p.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *faultyProxy) seen() []proxiedRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// passer passes requests on to the public port.
func passer(t *testing.T, n *node) *httputil.ReverseProxy {
	t.Helper()
	target, err := url.Parse(n.ingress)
	require.NoError(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
}
