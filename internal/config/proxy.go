package config

import "holdfast/internal/proxy"

// Proxies returns the proxies, and the default one; nil if there is none. Load has checked the variables, so that it panics only
// for a configuration that was built otherwise: without the proxies, requests would leave directly.
func (c Config) Proxies() (list proxy.List, standard *proxy.Proxy) {
	list, err := proxy.Parse(c.Proxy.List.Reveal())
	if err != nil {
		panic(err)
	}
	standard, ok := list.Find(c.Proxy.Default)
	if !ok && c.Proxy.Default != "" {
		panic("HOLDFAST_PROXY isn't the name of a proxy")
	}
	return list, standard
}
