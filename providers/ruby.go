package providers

import "holdfast/event"

func decodeRubyOrJSON(string) (any, error) {
	return nil, event.Rejectf("malformed_ruby", "not implemented")
}
