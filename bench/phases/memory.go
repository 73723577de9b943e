package phases

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	memoryRate = 250
	memoryTime = 30 * time.Minute
	// memoryShare is the part of the measured rate that the machine can sustain.
	memoryShare = 0.9
)

func memory(ctx context.Context, s *bench) error {
	info, err := os.Stat(filepath.Join(s.Bin, "holdfast"))
	if err != nil {
		return err
	}
	s.Value("size of the binary", "MiB", figures.AtMost(60), suite.Mebibytes(info.Size()))
	return s.Serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		d := drive{Nodes: []*lab.Node{node}}
		d.Rate, d.Duration, d.Connections = memoryRate, s.Lasting(memoryTime), 256
		if rate, ok := s.Report.Value(rateOfProduct); ok {
			d.Rate = min(d.Rate, memoryShare*rate)
		}
		got, err := s.Drive(ctx, d)
		if err != nil {
			return err
		}
		sizes := s.sizes(got.Result.Started, got.Result.Started.Add(got.Result.Elapsed))
		third := len(sizes) / 3
		s.Value("load", "/s", nil, d.Rate)
		s.Value("RSS of serve, highest", "MiB", figures.AtMost(150), slices.Max(sizes))
		growth := figures.Median(sizes[2*third:]) / figures.Median(sizes[third:2*third])
		s.Value("RSS of serve, last third / middle third", "", figures.AtMost(1.05), growth)
		return nil
	})
}

// sizes returns the samples of the product's memory, in MiB.
func (s *bench) sizes(from, to time.Time) (sizes []float64) {
	for _, sample := range s.Lab.Meter.Between(from, to) {
		if size := sample.RSS[lab.LabelHoldfast]; size > 0 {
			sizes = append(sizes, suite.Mebibytes(size))
		}
	}
	return sizes
}
