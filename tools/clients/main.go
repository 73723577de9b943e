// Clients runs providers' Go libraries for the tests of e2e/clients, as e2e/clients/testdata/main.mjs runs those for Node.js. It
// answers each line of standard input, {call, …}, with a line on standard output, {value} or {error}, and exits at the end of its
// input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// request is one as the tests see it; headers have lower-case names.
type request struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body,omitempty"`
}

// library is a library to run. Sign returns the headers to add. Sign or Verify is nil if the library can't do that.
type library struct {
	Name          string `json:"name"`
	Provider      string `json:"provider"`
	Secret        string `json:"secret"`
	SigningSecret string `json:"signingSecret,omitempty"`
	Covered       string `json:"covered,omitempty"`
	Signs         bool   `json:"signs"`
	Verifies      bool   `json:"verifies"`

	Sign   func(r request, secret string, at time.Time) (map[string]string, error) `json:"-"`
	Verify func(r request, secret string) error                                    `json:"-"`
}

var libraries = map[string]library{}

// add registers a library under "go-" and a name.
func add(name string, l library) {
	l.Name, l.Signs, l.Verifies = "go-"+name, l.Sign != nil, l.Verify != nil
	libraries[l.Name] = l
}

var errRefused = errors.New("the library refuses it")

// unless returns errRefused unless a library has accepted a request.
func unless(accepted bool) error {
	if accepted {
		return nil
	}
	return errRefused
}

// header returns the headers under net/http's canonical names.
func (r request) header() http.Header {
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return h
}

// received returns the request as a server receives it.
func (r request) received() *http.Request {
	got, err := http.NewRequest(http.MethodPost, r.URL, strings.NewReader(r.Body))
	if err != nil {
		panic(err)
	}
	got.Header = r.header()
	return got
}

type call struct {
	Call    string    `json:"call"`
	Library string    `json:"library"`
	Request request   `json:"request"`
	Secret  string    `json:"secret"`
	At      time.Time `json:"at"`
}

func (c call) answer() (any, error) {
	switch l := libraries[c.Library]; c.Call {
	case "list":
		all := slices.Collect(maps.Values(libraries))
		slices.SortFunc(all, func(a, b library) int { return strings.Compare(a.Name, b.Name) })
		return all, nil
	case "sign":
		headers, err := l.Sign(c.Request, c.Secret, c.At)
		return request{Headers: headers}, err
	case "verify":
		return nil, l.Verify(c.Request, c.Secret)
	}
	return nil, fmt.Errorf("no such call: %s", c.Call)
}

func run(in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewReader(in), json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		var c call
		if err := errors.Join(err, json.Unmarshal(line, &c)); err != nil {
			return err
		}
		value, err := c.answer()
		answer := map[string]any{"value": value}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
