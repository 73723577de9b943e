package main

import (
	"context"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/loadgen"
)

// plot adds what was driven to the plots of the phase: throughput, CPU and memory over time, and the latency.
func (s *suite) plot(ctx context.Context, name string, got driven) error {
	acks := figures.Line{Name: name + ": ACKs", Unit: "a second"}
	for _, second := range got.result.Seconds {
		acks.Points = append(acks.Points, [2]float64{float64(second.At), float64(second.OK)})
	}
	points, err := s.lab.ProcessedBySecond(ctx, lab.ProductDatabase, got.result.Started, got.ended)
	if err != nil {
		return err
	}
	s.phase.Lines = append(s.phase.Lines, acks, figures.Line{Name: name + ": processed", Unit: "a second", Points: points})
	s.plotUsage(got.begun, got.ended)
	s.plotLatency(name, got.result)
	return nil
}

// plotLatency adds the latency of ACKs.
func (s *suite) plotLatency(name string, r loadgen.Result) {
	d := figures.Distribution{Name: name}
	for _, p := range r.Latency.Distribution {
		d.Points = append(d.Points, [2]float64{p.Quantile, milliseconds(p.Took)})
	}
	s.phase.Distributions = append(s.phase.Distributions, d)
}

// plotUsage adds CPU and memory by process.
func (s *suite) plotUsage(from, to time.Time) {
	samples := s.lab.Meter.Between(from, to)
	if len(samples) < 2 {
		return
	}
	cpu, memory := map[string]*figures.Line{}, map[string]*figures.Line{}
	for i := 1; i < len(samples); i++ {
		at, length := samples[i].At.Sub(from).Seconds(), samples[i].At.Sub(samples[i-1].At)
		if length <= 0 {
			continue
		}
		for label, used := range samples[i].CPU.Sub(samples[i-1].CPU) {
			add(cpu, label, "cores", at, float64(used)/float64(length))
		}
		for label, size := range samples[i].RSS {
			add(memory, label, "MiB", at, mebibytes(size))
		}
	}
	for _, lines := range []map[string]*figures.Line{cpu, memory} {
		for _, label := range []string{lab.LabelHoldfast, lab.LabelTemporal, "PostgreSQL: holdfast", "PostgreSQL: temporal",
			"PostgreSQL: temporal_visibility", lab.LabelBackground, lab.LabelLoad, lab.LabelYardstick} {
			if line := lines[label]; line != nil {
				s.phase.Lines = append(s.phase.Lines, *line)
			}
		}
	}
}

func add(lines map[string]*figures.Line, label, unit string, at, v float64) {
	if lines[label] == nil {
		lines[label] = &figures.Line{Name: label, Unit: unit}
	}
	lines[label].Points = append(lines[label].Points, [2]float64{at, v})
}

// charge adds the CPU time for each of n to the costs of the phase, and gives the sum in ms.
func (s *suite) charge(name string, used lab.Usage, n int64) float64 {
	labels := cost(used, n)
	s.phase.Costs = append(s.phase.Costs, figures.Cost{Name: name, Labels: labels})
	return sum(labels)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
