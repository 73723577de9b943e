package event

// Identity is how a definition identifies an event. The receipt has the same fields.
type Identity struct {
	Key          string      `json:"key"`
	KeyFrom      KeyOrigin   `json:"key_from"`
	Source       string      `json:"source,omitempty"`
	DedupeWindow Duration    `json:"dedupe_window,omitempty"`
	Fingerprint  string      `json:"fingerprint,omitempty"`
	Certain      bool        `json:"certain,omitempty"`
	Content      string      `json:"content,omitempty"`
	Earlier      *EarlierKey `json:"earlier,omitempty"`
}

// Identity returns how the definition identified the event when the ingress accepted it.
func (r Receipt) Identity() Identity {
	return Identity{
		Key: r.Key, KeyFrom: r.KeyFrom, Source: r.Source, DedupeWindow: r.DedupeWindow, Fingerprint: r.Fingerprint,
		Certain: r.Certain, Content: r.Content, Earlier: r.Earlier,
	}
}

// IdentifiedAs returns the receipt that an ingress with another definition would have made of the event. It is for comparisons:
// the event keeps its own receipt, and with it its workflow ID.
func (r Receipt) IdentifiedAs(i Identity) Receipt {
	r.Key, r.KeyFrom, r.Source, r.DedupeWindow = i.Key, i.KeyFrom, i.Source, i.DedupeWindow
	r.Fingerprint, r.Certain, r.Content, r.Earlier = i.Fingerprint, i.Certain, i.Content, i.Earlier
	return r
}

// Equal reports whether two identities are the same, whatever the key was in an earlier release.
func (i Identity) Equal(other Identity) bool {
	i.Earlier, other.Earlier = nil, nil
	return i == other
}
