package lint

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
)

// Pasted is a request copied from a log, a terminal or a browser.
type Pasted struct {
	// URL is as pasted: complete, a path with its query, or "".
	URL    string
	Header map[string][]string
	Body   []byte
}

// ReadPasted parses a curl command, a raw HTTP request, or headers, a blank line and a body; text that begins like JSON or XML
// is a body alone. Line ends become LF, since a browser has changed them anyway: see ExplainPasted.
func ReadPasted(text string) (Pasted, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	start := strings.TrimLeft(text, " \t\n")
	switch {
	case start == "":
		return Pasted{}, errors.New("there is nothing in it")
	case strings.HasPrefix(start, "curl "), strings.HasPrefix(start, "curl\t"), strings.HasPrefix(start, "curl\\"):
		return readCurl(start)
	case strings.ContainsRune(`{["<`, rune(start[0])):
		return Pasted{Header: map[string][]string{}, Body: []byte(text)}, nil
	}
	return readHTTP(start)
}

// readHTTP parses headers and a body, with or without a request line.
func readHTTP(text string) (p Pasted, err error) {
	p.Header = map[string][]string{}
	line, rest, _ := strings.Cut(text, "\n")
	if fields := strings.Fields(line); len(fields) == 3 && strings.HasPrefix(fields[2], "HTTP/") {
		p.URL, text = fields[1], rest
	}
	head, body, _ := strings.Cut("\n"+text, "\n\n")
	lines, err := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimPrefix(head, "\n") + "\n\n"))).ReadMIMEHeader()
	if err != nil {
		return p, errors.New("its headers can't be read: use one 'Name: value' per line, a blank line, then the body")
	}
	for name, values := range lines {
		p.Header[strings.ToLower(name)] = values
	}
	p.Body = []byte(body)
	return p, nil
}

// flagsOfCurl are the options that don't affect the request; those with a value are true.
var flagsOfCurl = map[string]bool{
	"-s": false, "--silent": false, "-S": false, "--show-error": false, "-v": false, "--verbose": false, "-i": false,
	"--include": false, "-k": false, "--insecure": false, "-L": false, "--location": false, "--compressed": false,
	"--http1.1": false, "--http2": false,
	"-f": false, "--fail": false, "-X": true, "--request": true, "-o": true, "--output": true, "-m": true, "--max-time": true,
	"-w": true, "--write-out": true,
}

// readCurl parses a command as a shell would, and runs nothing.
func readCurl(text string) (Pasted, error) {
	words, err := shellWords(text)
	if err != nil {
		return Pasted{}, err
	}
	c := curl{Pasted: Pasted{Header: map[string][]string{}}}
	for i := 1; i < len(words); i++ {
		word, value := words[i], ""
		switch {
		case !strings.HasPrefix(word, "-"):
			c.URL = word
			continue
		case len(word) > 2 && strings.Trim(word[1:], "sSvikLf") == "": // -sSL
			continue
		}
		if len(word) > 2 && word[1] != '-' && strings.ContainsRune("XHdAu", rune(word[1])) { // -XPOST
			word, value = word[:2], word[2:]
		} else if takesValue(word) {
			if i++; i >= len(words) {
				return Pasted{}, fmt.Errorf("the option %s of curl lacks its value", word)
			}
			value = words[i]
		}
		if err := c.apply(word, value); err != nil {
			return Pasted{}, err
		}
	}
	return c.pasted(), nil
}

func takesValue(option string) bool {
	takes, known := flagsOfCurl[option]
	return takes || !known
}

// curl is a partially parsed command.
type curl struct {
	Pasted

	data []string
}

func (c *curl) apply(option, value string) error {
	switch option {
	case "-H", "--header":
		name, text, ok := strings.Cut(value, ":")
		if !ok {
			return errors.New("a header of curl is 'Name: value'")
		}
		c.add(name, strings.TrimSpace(text))
	case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json":
		if strings.HasPrefix(value, "@") && option != "--data-raw" {
			return errors.New("the body is in a file, which can't be read from here: paste it")
		}
		if option == "--json" {
			c.add("content-type", "application/json")
		}
		c.data = append(c.data, value)
	case "-A", "--user-agent":
		c.add("user-agent", value)
	case "-u", "--user":
		c.add("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(value)))
	case "--url":
		c.URL = value
	default:
		if _, known := flagsOfCurl[option]; !known {
			return fmt.Errorf("the option %s of curl is not known here", option)
		}
	}
	return nil
}

func (c *curl) add(name, value string) {
	name = strings.ToLower(strings.TrimSpace(name))
	c.Header[name] = append(c.Header[name], value)
}

func (c *curl) pasted() Pasted {
	c.Body = []byte(strings.Join(c.data, "&"))
	if len(c.data) > 0 && len(c.Header["content-type"]) == 0 {
		c.add("content-type", "application/x-www-form-urlencoded")
	}
	return c.Pasted
}

// Request returns the request as a provider would see it. A URL without a host gets the public one ("" for none).
func (p Pasted) Request(catalogue *providers.Catalogue, of *providers.Provider, publicURL string) (*auth.Request, error) {
	r := &auth.Request{Method: http.MethodPost, Path: of.Paths()[0], URL: p.URL, Header: map[string][]string{}, Body: p.Body}
	for name, values := range p.Header {
		r.Header[name] = values
	}
	if len(r.Header["content-type"]) == 0 {
		r.Header["content-type"] = []string{"application/json"}
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, errors.New("its URL can't be parsed")
	}
	if u.Host == "" {
		r.URL = publicURL + p.URL
	}
	r.Query = u.Query()
	if u.Path == "" || u.Path == "/" {
		return r, nil
	}
	if found, params, ok := catalogue.ByPath(u.EscapedPath()); ok && found.Name() == of.Name() {
		r.Path, r.PathParams = u.EscapedPath(), params
	}
	return r, nil
}

// bodyForm is a possible original of a pasted body.
type bodyForm struct{ as, body string }

// formsOf returns the possible originals of a body that has come through a form or an editor: whether its line ends were CR LF,
// and whether it ended with one, is unknown.
func formsOf(pasted []byte) []bodyForm {
	text := string(pasted)
	return []bodyForm{
		{"unchanged", text}, {"without the final newline", strings.TrimSuffix(text, "\n")},
		{"with CRLF line endings", strings.ReplaceAll(text, "\n", "\r\n")},
	}
}

// ExplainPasted is Explain for a pasted body. It uses the form for which the signature is valid, if there is one; as names that
// form.
func ExplainPasted(p *providers.Provider, r *auth.Request, now time.Time) (e Explanation, as string) {
	for _, form := range formsOf(r.Body) {
		other := *r
		other.Body = []byte(form.body)
		switch err := p.Authenticate(&other, now); {
		case err == nil, denial.ReasonOf(err) == denial.StaleTimestamp, denial.ReasonOf(err) == denial.TimestampFromFuture:
			return Explain(p, &other, now), form.as
		}
	}
	return Explain(p, r, now), "unchanged"
}
