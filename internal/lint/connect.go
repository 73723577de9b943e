package lint

import (
	"net/netip"
	"net/url"
	"strings"

	"holdfast/providers"
	"holdfast/providers/definition"
)

// UnknownHost stands for the host of an address if HOLDFAST_INGRESS_PUBLIC_URL isn't set.
const UnknownHost = "https://YOUR-HOST"

// Connection is what a user enters at a provider and sets here. It has no values of secrets.
type Connection struct {
	// Address is the URL to give to the provider, and Others are further ones. {name} in a path stands for a value.
	Address string   `json:"address"`
	Others  []string `json:"other_addresses,omitempty"`
	// Secrets are the variables for secrets: one of them is enough, unless the definition uses several.
	Secrets []string `json:"-"`
	// Docs is the URL of the provider's documentation; "" if the definition names none.
	Docs string `json:"docs,omitempty"`
	// Steps are sentences in order, with commands and variables in backticks.
	Steps []string `json:"steps"`
	// Send is the command that sends a signed sample; "" without samples.
	Send string `json:"send,omitempty"`
}

// Connect returns how to connect a provider. The public URL is HOLDFAST_INGRESS_PUBLIC_URL, or "".
func Connect(p *providers.Provider, publicURL string) Connection {
	host := strings.TrimSuffix(publicURL, "/")
	if host == "" {
		host = UnknownHost
	}
	paths := p.Paths()
	c := Connection{Address: host + paths[0], Secrets: p.SecretNames(), Docs: p.Written().Docs}
	for _, path := range paths[1:] {
		c.Others = append(c.Others, host+path)
	}
	if p.DefaultSample() != "" {
		c.Send = "holdfast send " + p.Name()
	}
	c.Steps = steps(c, p)
	return c
}

func steps(c Connection, p *providers.Provider) []string {
	at := p.Title()
	if at == "" {
		at = p.Name()
	}
	first := "Add a webhook at " + at + " with the address above."
	if strings.HasPrefix(c.Address, UnknownHost) {
		first += " Replace YOUR-HOST with the host of your ingress."
	}
	if isLoopback(c.Address) {
		first += " Only this machine can reach it: a provider needs the public address of a proxy or tunnel, which you set as " +
			"`HOLDFAST_INGRESS_PUBLIC_URL`."
	}
	if strings.Contains(c.Address, "{") {
		first += " Replace {…} with the value that it names."
	}
	var all []string
	if p.Origin() != definition.OriginBuiltIn {
		all = append(all, "Keep the definition in the folder that `HOLDFAST_PROVIDERS_DIR` names. `make run` reloads the "+
			"folder when a file changes; in production, send SIGHUP to each process, or restart it.")
	}
	all = append(all, first)
	if len(c.Secrets) > 0 {
		variables := make([]string, len(c.Secrets))
		for i, name := range c.Secrets {
			variables[i] = "`" + name + "`"
		}
		all = append(all, "Put the webhook's secret into "+strings.Join(variables, " or ")+" and restart Holdfast, or into the file "+
			"that `"+c.Secrets[0]+"_FILE` names. Files are read again every second.")
	}
	last := "Send a test event from the webhook settings at " + at + ", or cause a real event there."
	if c.Send != "" {
		last += " To try it without " + at + ", run `" + c.Send + "`, which sends a signed sample."
	}
	return append(all, last)
}

// isLoopback reports whether only its own machine reaches an address.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
