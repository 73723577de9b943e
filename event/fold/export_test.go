package fold

import "encoding/json"

// MergePatch merges encoded values.
func MergePatch(target, patch json.RawMessage) (json.RawMessage, error) {
	t, err := decodeExact(target)
	if err != nil {
		return nil, err
	}
	p, err := decodeExact(patch)
	if err != nil {
		return nil, err
	}
	return encodeExact(merge(t, p))
}
