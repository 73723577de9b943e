package providers

import "holdfast/event"

// Parser parses events with the definitions that lookup returns at that moment.
func Parser(lookup func(name string) (*Provider, bool)) event.Parser {
	return func(r event.Receipt, body []byte) (event.Parsed, error) {
		provider, ok := lookup(r.Provider)
		if !ok {
			return event.Parsed{}, &event.Error{
				Class: event.ClassFailed,
				Code:  "unknown_provider",
				Text:  "this process has no definition of provider " + r.Provider,
			}
		}
		return provider.Parse(r, body)
	}
}
