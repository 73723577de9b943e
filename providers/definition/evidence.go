package definition

import "slices"

// Source is one thing that a definition is made from; exactly one of its fields is set.
type Source struct {
	// Vectors is where signatures are published together with what they sign and the secret.
	Vectors string `yaml:"vectors"`
	// Library is the sender's own one, with its version and the file that signs or verifies.
	Library string `yaml:"library"`
	// Documentation is the URL of the sender's.
	Documentation string `yaml:"documentation"`
	// Observed says who has seen such requests, for a sender that documents nothing.
	Observed string `yaml:"observed"`
}

// Evidence is how sure it is that a definition is what the sender does.
type Evidence string

// The kinds of evidence, the strongest first.
const (
	// EvidenceVectors: the sender has published signatures with their secret, and they are authentic here.
	EvidenceVectors Evidence = "vectors"
	// EvidenceLibrary: it is as the sender's own library does it.
	EvidenceLibrary Evidence = "library"
	// EvidenceDocumentation: it is as the sender's documentation has it.
	EvidenceDocumentation Evidence = "documentation"
	// EvidenceObserved: it is as somebody has seen it.
	EvidenceObserved Evidence = "observed"
)

// Evidences are all kinds, the strongest first.
var Evidences = []Evidence{EvidenceVectors, EvidenceLibrary, EvidenceDocumentation, EvidenceObserved}

// Of gives the text of a source of this kind; "" if it is of another one.
func (e Evidence) Of(s Source) string {
	return map[Evidence]string{
		EvidenceVectors: s.Vectors, EvidenceLibrary: s.Library, EvidenceDocumentation: s.Documentation, EvidenceObserved: s.Observed,
	}[e]
}

// Evidence is that of the strongest source; "" if there is none.
func (d *Definition) Evidence() Evidence {
	for _, e := range Evidences {
		if slices.ContainsFunc(d.Sources, func(s Source) bool { return e.Of(s) != "" }) {
			return e
		}
	}
	return ""
}

// Why has the reasons for keys and entities, a sentence each. A definition passes them on to what extends it.
type Why struct {
	// Key is what the sender promises of what the key is made of.
	Key string `yaml:"key"`
	// Retry, Resend and Second say what another delivery has in common with the first: one that the sender tries again, one that
	// somebody sends again by hand, and that of a second subscription to the same event.
	Retry  string `yaml:"retry"`
	Resend string `yaml:"resend"`
	Second string `yaml:"second"`
	// Wrong is the key that one would take at first sight, and which real event it would lose or double.
	Wrong string `yaml:"wrong"`
	// Scope is where the IDs of the entities are unique.
	Scope string `yaml:"scope"`
	// Order is what orders two events of one entity, and what happens where that is the same for both.
	Order string `yaml:"order"`
}

// Missing names the reasons that are not given.
func (w Why) Missing() (names []string) {
	for _, reason := range []struct{ name, text string }{
		{"key", w.Key}, {"retry", w.Retry}, {"resend", w.Resend}, {"second", w.Second}, {"wrong", w.Wrong}, {"scope", w.Scope},
		{"order", w.Order},
	} {
		if reason.text == "" {
			names = append(names, reason.name)
		}
	}
	return names
}

// CheckSources reports sources that name nothing, or several things at once.
func (p *Problems) CheckSources(field string, sources []Source) {
	for _, s := range sources {
		named := 0
		for _, e := range Evidences {
			if e.Of(s) != "" {
				named++
			}
		}
		if named != 1 {
			p.Add(field, "want exactly one of vectors, library, documentation, observed each")
		}
	}
}
