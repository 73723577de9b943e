package figures

import "slices"

// Interval is a confidence interval of a median.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// miss is the maximum probability that an interval misses the median: it is one of at least 95 %.
const miss = 0.05

// Median returns the median of the values; 0 for none.
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

// MedianInterval returns the narrowest interval between two of the samples, equally far from either end, that contains the
// median with 95 % confidence. It assumes nothing about their distribution. It is nil for fewer than six samples.
func MedianInterval(samples []float64) *Interval {
	n := len(samples)
	// Each sample is below the median with probability 1/2. The k-th sample from an end is beyond it if fewer than k+1 samples
	// are on that side.
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
