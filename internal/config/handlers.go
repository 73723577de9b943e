package config

import (
	"net/url"
	"strings"
)

const exampleHandler = "https://calls.example.com/inbound"

// Handler returns the URL under the name that a question's definition gives: the variable of that name, or the file that the
// variable NAME_FILE names, since it may hold a token. It returns "" if it is unset or unreadable; CheckHandlers says why.
func (c Config) Handler(name string) string {
	address, _, err := c.read(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(address)
}

// CheckHandlers reports all named handlers whose URL can't be posted to. An unset one isn't an error: its questions are answered
// by their definition. No error contains the URL.
func (c Config) CheckHandlers(names ...string) error {
	var wrong problems
	for _, name := range names {
		address, _, err := c.read(name)
		if err != nil {
			wrong.addError(err)
			continue
		}
		if address = strings.TrimSpace(address); address != "" && !isHandler(address) {
			wrong.add(name, "is not the URL of a handler", exampleHandler)
		}
	}
	return wrong.join()
}

func isHandler(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != ""
}
