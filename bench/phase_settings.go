package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
)

const settingsEvents = 2000

// variant is the profile with one line changed.
type variant struct {
	name    string
	profile lab.Profile
}

// settings has servers of its own for each variant, one after the other, and the whole profile between them: the ratio is to
// the mean of the profile before and after.
func settings(ctx context.Context, s *suite) error {
	profile := s.lab.Profile
	if err := s.close(); err != nil {
		return err
	}
	variants, err := s.variants(profile)
	if err != nil {
		return err
	}
	before, err := s.underProfile(ctx, profile)
	if err != nil {
		return err
	}
	s.figure("CPU of an event, whole profile", "ms", nil, before.cost)
	s.figure("events end to end, whole profile", "/s", nil, before.rate)
	for _, v := range variants {
		with, err := s.underProfile(ctx, v.profile)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		after, err := s.underProfile(ctx, profile)
		if err != nil {
			return err
		}
		s.figure(v.name+": CPU / that of the whole profile", "", nil, with.cost/figures.Median([]float64{before.cost, after.cost}))
		s.figure(v.name+": rate / that of the whole profile", "", nil, with.rate/figures.Median([]float64{before.rate, after.rate}))
		before = after
	}
	return s.open(ctx, profile)
}

// variants take away one line each, and try other numbers of shards.
func (s *suite) variants(profile lab.Profile) ([]variant, error) {
	var all []variant
	for _, shards := range []int{4, 512} {
		p := profile
		p.Shards = shards
		all = append(all, variant{fmt.Sprintf("%d shards", shards), p})
	}
	for i, variable := range profile.Environ {
		p := profile
		p.Environ = slices.Delete(slices.Clone(profile.Environ), i, i+1)
		all = append(all, variant{"without " + variable, p})
	}
	p := profile
	p.Visibility = ""
	all = append(all, variant{"with all visibility indexes", p})
	for _, name := range slices.Sorted(maps.Keys(profile.Postgres)) {
		p := profile
		p.Postgres = maps.Clone(profile.Postgres)
		delete(p.Postgres, name)
		all = append(all, variant{"without " + name, p})
	}
	dynamic, err := s.dynamicVariants(profile)
	return append(all, dynamic...), err
}

// dynamicSetting is one entry of a dynamic configuration, with the lines that belong to it.
var dynamicSetting = regexp.MustCompile(`(?m)^([\w.]+):\n(?:[ \t]+.*\n?)+`)

// dynamicVariants leave out one group of Temporal's dynamic settings each; read and write partitions go together.
func (s *suite) dynamicVariants(profile lab.Profile) (all []variant, err error) {
	raw, err := os.ReadFile(profile.DynamicConfig)
	if err != nil {
		return nil, err
	}
	for _, group := range []string{"history.", "matching.numTaskqueue", "frontend.", "matching.rps"} {
		left := dynamicSetting.ReplaceAllStringFunc(string(raw), func(entry string) string {
			if strings.HasPrefix(entry, group) {
				return ""
			}
			return entry
		})
		path := filepath.Join(filepath.Dir(s.dir), "without-"+strings.Trim(group, ".")+".yaml")
		if err := os.WriteFile(path, []byte(left), 0o644); err != nil { //nolint:gosec // beside our own reports
			return nil, err
		}
		p := profile
		p.DynamicConfig = path
		all = append(all, variant{"without " + group + "*", p})
	}
	return all, nil
}

// underway is what a profile brings.
type underway struct{ rate, cost float64 }

func (s *suite) underProfile(ctx context.Context, profile lab.Profile) (u underway, err error) {
	if err := s.open(ctx, profile); err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	err = s.serving(ctx, lab.ProductDatabase, func(node *lab.Node) error {
		var rates, costs []float64
		for range s.rounds {
			d := drive{nodes: []*lab.Node{node}}
			d.Count = s.scaled(settingsEvents)
			got, err := s.drive(ctx, d)
			if err != nil {
				return err
			}
			rates, costs = append(rates, got.perSecond()), append(costs, sum(cost(got.used, d.Count)))
		}
		u = underway{figures.Median(rates), figures.Median(costs)}
		return nil
	})
	return u, err
}
