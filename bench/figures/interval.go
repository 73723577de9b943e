package figures

import "slices"

// Interval holds the median of what samples were drawn from.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// miss is how often an interval may fail to hold the median: it is one of at least 95 %.
const miss = 0.05

// Median of some values; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// MedianInterval is the narrowest interval between two of the samples, as many from either end, that holds the median in 95
// of 100 cases. It takes nothing for granted of how they are distributed. Fewer than six samples have none: nil.
func MedianInterval(samples []float64) *Interval {
	n := len(samples)
	// Each sample lies below the median as a coin falls. The sample k from an end lies beyond it if fewer than k+1 fell that way.
	k, atMost, chance := -1, 0.0, 1.0
	for range n {
		chance /= 2
	}
	for i := range n / 2 {
		if atMost += chance; 2*atMost > miss {
			break
		}
		k = i
		chance *= float64(n-i) / float64(i+1)
	}
	if k < 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(samples))
	return &Interval{sorted[k], sorted[n-1-k]}
}
