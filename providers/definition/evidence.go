package definition

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Source is one piece of evidence for a definition; exactly one of its fields is set.
type Source struct {
	// Vectors is the place where signatures are published with their content and secret.
	Vectors string `yaml:"vectors"`
	// Library is the sender's own library, with its version and the file that signs or verifies.
	Library string `yaml:"library"`
	// Documentation is the URL of the sender's documentation.
	Documentation string `yaml:"documentation"`
	// Observed says who has seen such requests, for a sender without documentation.
	Observed string `yaml:"observed"`
	// Checked is the day on which the definition was last compared with it, such as 2026-11-28; "" if that isn't known.
	Checked string `yaml:"checked"`
}

// Fact is something outside that a definition relies on: a schedule of retries, a tolerance, a limit.
type Fact struct {
	Provider string `json:"provider"`
	// Source is where it is from.
	Source string `json:"source"`
	// Checked is the day on which the definition was last compared with the source, such as 2026-11-28; "" if that isn't known.
	Checked string `json:"checked,omitempty"`
}

// IsOld reports whether the fact was checked more than a year ago, or at an unknown time.
func (f Fact) IsOld(now time.Time) bool {
	at, err := time.Parse(time.DateOnly, f.Checked)
	return err != nil || at.Before(now.AddDate(-1, 0, 0))
}

// Facts returns what the definition relies on.
func (d *Definition) Facts() (facts []Fact) {
	for _, s := range d.Sources {
		for _, e := range Evidences {
			if text := e.Of(s); text != "" {
				facts = append(facts, Fact{Provider: d.Name, Source: text, Checked: s.Checked})
			}
		}
	}
	if d.Maximum != nil {
		facts = append(facts, Fact{Provider: d.Name, Source: d.Maximum.Source, Checked: d.Maximum.Checked})
	}
	return facts
}

// Maximum is the largest body that the sender documents: a body_limit below it refuses what the sender really sends.
type Maximum struct {
	Bytes int `yaml:"bytes"`
	// Source is the URL of the documentation, Checked the day on which it was read: 2026-11-28.
	Source  string `yaml:"source"`
	Checked string `yaml:"checked"`
}

// CheckMaximum reports a maximum that can't be verified.
func (p *Problems) CheckMaximum(field string, m *Maximum) {
	if m == nil {
		return
	}
	if m.Bytes < 1 {
		p.Add(field+".bytes", "want the number of bytes that the sender documents")
	}
	p.Required(field+".source", m.Source)
	p.checkDay(field+".checked", m.Checked)
}

func (p *Problems) checkDay(field, day string) {
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		p.Add(field, "want the day on which the source was read, such as 2026-11-28")
	}
}

// Evidence is how well a definition is known to match the sender.
type Evidence string

// The kinds of evidence, the strongest first.
const (
	// EvidenceVectors means that the sender has published signatures with their secret, and that they are authentic here.
	EvidenceVectors Evidence = "vectors"
	// EvidenceLibrary means that it matches the sender's own library.
	EvidenceLibrary Evidence = "library"
	// EvidenceDocumentation means that it matches the sender's documentation.
	EvidenceDocumentation Evidence = "documentation"
	// EvidenceObserved means that it matches requests that were observed.
	EvidenceObserved Evidence = "observed"
)

// Evidences are all kinds, the strongest first.
var Evidences = []Evidence{EvidenceVectors, EvidenceLibrary, EvidenceDocumentation, EvidenceObserved}

// IsProven reports whether the sender has published signatures, or a library, that the definition agrees with.
func (e Evidence) IsProven() bool { return e == EvidenceVectors || e == EvidenceLibrary }

// Text returns the evidence as people read it: "documentation, unproven", or "none" without a source.
func (e Evidence) Text() string {
	if e == "" || e.IsProven() {
		return cmp.Or(string(e), "none")
	}
	return string(e) + ", unproven"
}

// Of returns the text of a source of this kind; "" if it is of another one.
func (e Evidence) Of(s Source) string {
	return map[Evidence]string{
		EvidenceVectors: s.Vectors, EvidenceLibrary: s.Library, EvidenceDocumentation: s.Documentation, EvidenceObserved: s.Observed,
	}[e]
}

// Evidence returns the evidence of the strongest source; "" if there is none.
func (d *Definition) Evidence() Evidence {
	for _, e := range Evidences {
		if slices.ContainsFunc(d.Sources, func(s Source) bool { return e.Of(s) != "" }) {
			return e
		}
	}
	return ""
}

// Why explains the keys and entities, in one sentence each. They are inherited.
type Why struct {
	// Key is the sender's promise about the parts of the key.
	Key string `yaml:"key"`
	// Retry, Resend and Second say what another delivery has in common with the first: a retry of the sender, a manual resend,
	// and a second subscription to the same event.
	Retry  string `yaml:"retry"`
	Resend string `yaml:"resend"`
	Second string `yaml:"second"`
	// Wrong is the obvious wrong key, and the real event that it would lose or double.
	Wrong string `yaml:"wrong"`
	// Scope is where the IDs of the entities are unique.
	Scope string `yaml:"scope"`
	// Order is what orders two events of one entity, and what happens if that is equal.
	Order string `yaml:"order"`
}

// Missing returns the names of the missing reasons.
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

// CheckSources reports sources that set no field, or several.
func (p *Problems) CheckSources(field string, sources []Source) {
	for i, s := range sources {
		if s.Checked != "" {
			p.checkDay(fmt.Sprintf("%s[%d].checked", field, i), s.Checked)
		}
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
