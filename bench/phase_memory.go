package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const (
	memoryRate = 250
	memoryTime = 30 * time.Minute
	// memoryShare is the part of the measured rate that the machine can sustain.
	memoryShare = 0.9
)

func memory(ctx context.Context, s *suite) error {
	info, err := os.Stat(filepath.Join(s.bin, "holdfast"))
	if err != nil {
		return err
	}
	s.value("size of the binary", "MiB", figures.AtMost(60), mebibytes(info.Size()))
	return s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		d := drive{nodes: []*lab.Node{node}}
		d.Rate, d.Duration, d.Connections = memoryRate, s.lasting(memoryTime), 256
		if rate, ok := s.report.Value(rateOfProduct); ok {
			d.Rate = min(d.Rate, memoryShare*rate)
		}
		got, err := s.drive(ctx, d)
		if err != nil {
			return err
		}
		sizes := s.sizes(got.result.Started, got.result.Started.Add(got.result.Elapsed))
		third := len(sizes) / 3
		s.value("load", "/s", nil, d.Rate)
		s.value("RSS of serve, highest", "MiB", figures.AtMost(150), slices.Max(sizes))
		growth := figures.Median(sizes[2*third:]) / figures.Median(sizes[third:2*third])
		s.value("RSS of serve, last third / middle third", "", figures.AtMost(1.05), growth)
		return nil
	})
}

// sizes returns the samples of the product's memory, in MiB.
func (s *suite) sizes(from, to time.Time) (sizes []float64) {
	for _, sample := range s.lab.Meter.Between(from, to) {
		if size := sample.RSS[lab.LabelHoldfast]; size > 0 {
			sizes = append(sizes, mebibytes(size))
		}
	}
	return sizes
}
