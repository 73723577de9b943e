// Package clients holds the ingress against the providers' own client libraries: what they sign gets in, and what Holdfast signs
// they take. Those for Node.js run in one process, see testdata/main.mjs, and those for Go in another, see tools/clients.
package clients

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// library is a file in testdata/libraries or tools/clients.
type library struct {
	Name string `json:"name"`
	// Provider is the definition that is to understand it.
	Provider string `json:"provider"`
	// Secret is what a receiver is configured with, SigningSecret what signs, if that is another one.
	Secret        string `json:"secret"`
	SigningSecret string `json:"signingSecret"`
	// Covered begins what the signature covers, "" if that is the whole body.
	Covered string `json:"covered"`
	// Keys is the set of keys that the sender publishes; empty if it has none.
	Keys json.RawMessage `json:"keys"`
	// Signs and Verifies say which of the two the library can do.
	Signs    bool `json:"signs"`
	Verifies bool `json:"verifies"`
	// Error is why the file can't be loaded: the library has moved what it imports.
	Error string `json:"error"`

	// node runs it.
	node *node
}

// signing is the secret that signs.
func (l library) signing() string {
	if l.SigningSecret != "" {
		return l.SigningSecret
	}
	return l.Secret
}

// request is one as the libraries see it; headers have lower-case names. As the answer of a library that signs it has what
// is to be added, and the URL if that has changed.
type request struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitempty"`
}

// call asks a library to do something.
type call struct {
	Call    string    `json:"call"`
	Library string    `json:"library,omitempty"`
	Request *request  `json:"request,omitempty"`
	Secret  string    `json:"secret,omitempty"`
	At      time.Time `json:"at,omitzero"`
	// Keys is the set of keys with which Holdfast signs in place of a sender that publishes its own.
	Keys any `json:"keys,omitempty"`
}

// sign has the library sign a request at a time.
func (l library) sign(t *testing.T, r request, secret string, at time.Time) (signed request) {
	t.Helper()
	err := l.node.ask(call{Call: "sign", Library: l.Name, Request: &r, Secret: secret, At: at}, &signed)
	require.NoError(t, err, "%s does not sign", l.Name)
	require.NotEmpty(t, signed.Headers, "%s adds nothing", l.Name)
	return r.with(signed)
}

// verify is nil if the library takes the request.
func (l library) verify(t *testing.T, r request) error {
	t.Helper()
	asked := call{Call: "verify", Library: l.Name, Request: &r, Secret: l.Secret}
	if l.Keys != nil {
		asked.Keys = trialKeys(t)
	}
	return l.node.ask(asked, nil)
}

// with is the request with what was added.
func (r request) with(added request) request {
	headers := map[string]string{}
	for _, from := range []map[string]string{r.Headers, added.Headers} {
		for name, value := range from {
			headers[name] = value
		}
	}
	r.Headers = headers
	if added.URL != "" {
		r.URL = added.URL
	}
	return r
}

// node is a process that libraries run in. It answers one call at a time, and ends with this process.
type node struct {
	mu      sync.Mutex
	in      io.Writer
	out     *bufio.Reader
	library []library
	process *os.Process
}

const folder = "testdata"

var started = sync.OnceValues(func() (*node, error) { return startNode(folder) })

// libraries skips the test where they are not installed, unless NO_SKIP is set.
func libraries(t *testing.T) *node {
	t.Helper()
	const install = "install Node.js and npm (apt-get install npm), then `make clients`"
	if missing := installed(); missing != nil {
		if os.Getenv("NO_SKIP") == "" {
			t.Skipf("the providers' client libraries are not on this machine: %s", install)
		}
		require.NoError(t, missing, install)
	}
	n, err := started()
	require.NoError(t, err, "do the libraries fit package-lock.json? `make clients` installs them")
	files, err := os.ReadDir(filepath.Join(folder, "libraries")) // go test, too, sees by this that a file is new
	require.NoError(t, err)
	require.Len(t, n.library, len(files))
	for _, l := range n.library {
		require.Empty(t, l.Error, l.Name)
	}
	return n
}

// installed says what is missing for the libraries.
func installed() error {
	_, noNode := exec.LookPath("node")
	_, notInstalled := os.Stat(filepath.Join(folder, "node_modules"))
	return errors.Join(noNode, notInstalled)
}

// startNode runs the libraries for Node.js of a folder.
func startNode(folder string) (*node, error) {
	command := exec.Command("node", "--disable-warning=ExperimentalWarning", "main.mjs")
	command.Dir = folder
	return start(command)
}

// start runs a process with libraries.
func start(command *exec.Cmd) (*node, error) {
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	n := &node{in: in, out: bufio.NewReader(out), process: command.Process}
	err = n.ask(call{Call: "list"}, &n.library)
	for i := range n.library {
		n.library[i].node = n
	}
	return n, err
}

// ask returns the answer to a call, or the error that the library has thrown. A library that hangs ends the process.
func (n *node) ask(c call, into any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer time.AfterFunc(maxWait, func() { _ = n.process.Kill() }).Stop()
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := n.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("ask the libraries: %w", err)
	}
	if line, err = n.out.ReadBytes('\n'); err != nil {
		return fmt.Errorf("the libraries have ended: %w", err)
	}
	var answer struct {
		Value json.RawMessage `json:"value"`
		Error string          `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}
