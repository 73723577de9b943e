package providers

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Samples are the types of event of which there is a sample body, sorted.
func (p *Provider) Samples() []string {
	entries, err := fs.ReadDir(embedded, samplesOf(p.name))
	if err != nil {
		return nil
	}
	var types []string
	for _, entry := range entries {
		types = append(types, strings.TrimSuffix(entry.Name(), ".json"))
	}
	slices.Sort(types)
	return types
}

// Sample is the body of an event to try things out with. The id makes it an event of its own; it is of letters and
// digits.
func (p *Provider) Sample(eventType, id string, now time.Time) ([]byte, error) {
	if !slices.Contains(p.Samples(), eventType) {
		return nil, fmt.Errorf("find sample of %s: there is none of %q, but of %s",
			p.name, eventType, strings.Join(p.Samples(), ", "))
	}
	text, err := embedded.ReadFile(samplesOf(p.name) + "/" + eventType + ".json")
	if err != nil {
		return nil, fmt.Errorf("read sample of %s: %w", p.name, err)
	}
	return []byte(strings.NewReplacer(
		"{{id}}", id, "{{unix}}", strconv.FormatInt(now.Unix(), 10), "{{rfc3339}}", now.UTC().Format(time.RFC3339Nano),
	).Replace(string(text))), nil
}

func samplesOf(provider string) string { return "catalog/samples/" + provider }
