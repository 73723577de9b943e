package tally

import (
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// maxPairs is how many labels a measurement has at most, and maxLabels how many sets of labels are kept. A definition needs a few
// for each of its event types.
const (
	maxPairs  = 4
	maxLabels = 4000
)

// pairs are a set of labels: alternating names and values.
type pairs [2 * maxPairs]string

var sets, _ = lru.New[pairs, metric.MeasurementOption](maxLabels) // the size is valid

// Labels returns up to maxPairs labels, of alternating names and values, as an option of a measurement. A label whose value is ""
// is left out.
// Building such a set takes longer than counting with it, so the sets that were used last are kept.
func Labels(namesAndValues ...string) metric.MeasurementOption {
	var key pairs
	if copy(key[:], namesAndValues) < len(namesAndValues) {
		panic("a measurement has more than maxPairs labels")
	}
	if set, ok := sets.Get(key); ok {
		return set
	}
	var labels []attribute.KeyValue
	for pair := range slices.Chunk(key[:], 2) {
		if pair[1] != "" {
			labels = append(labels, attribute.String(pair[0], pair[1]))
		}
	}
	set := metric.WithAttributeSet(attribute.NewSet(labels...))
	sets.Add(key, set)
	return set
}
