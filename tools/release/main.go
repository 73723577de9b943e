package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"holdfast/internal/buildinfo"
)

func main() {
	root := flag.String("root", "../..", "the checkout to release")
	out := flag.String("out", "", "the folder to fill; its former content is removed")
	only := flag.String("platform", "", "build for this platform only, such as linux/amd64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := release(ctx, *root, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds all artifacts of the checkout at root, for one platform or, if only is "", for all.
func release(ctx context.Context, root, out, only string) error {
	if out == "" {
		return fmt.Errorf("missing --out: name the folder for the artifacts")
	}
	s, err := readSource(ctx, root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("empty %s: %w", out, err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", out, err)
	}
	work, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	chosen := slices.DeleteFunc(slices.Clone(platforms), func(p platform) bool { return only != "" && p.String() != only })
	if len(chosen) == 0 {
		return fmt.Errorf("invalid --platform %q: use one of %v", only, platforms)
	}
	share, err := s.manual(ctx, work)
	if err != nil {
		return fmt.Errorf("write manual: %w", err)
	}
	for _, p := range chosen {
		if err := s.releaseFor(ctx, p, work, share, out); err != nil {
			return fmt.Errorf("release for %s: %w", p, err)
		}
	}
	if err := s.chart(ctx, filepath.Join(out, "holdfast-chart-"+buildinfo.Version+".tgz")); err != nil {
		return fmt.Errorf("package chart: %w", err)
	}
	if err := s.clients(ctx, work, out); err != nil {
		return fmt.Errorf("package clients: %w", err)
	}
	return writeSums(out)
}

// releaseFor builds the artifacts of one platform. The manual is in share.
func (s source) releaseFor(ctx context.Context, p platform, work, share, out string) error {
	named := func(program, ending string) string {
		return filepath.Join(out, program+"_"+buildinfo.Version+"_"+p.os+"_"+p.arch+ending)
	}
	dir := filepath.Join(work, p.os+"_"+p.arch)
	program, bench := filepath.Join(dir, "holdfast"), filepath.Join(dir, "holdfast-bench")
	fmt.Fprintf(os.Stdout, "building %s (some minutes, unless it is cached) ...\n", p)
	for path, module := range map[string]string{program: "", bench: "bench"} {
		if err := s.build(ctx, p, module, path); err != nil {
			return err
		}
		if err := writeDependencies(ctx, s.root, path, named(filepath.Base(path), ".cdx.json")); err != nil {
			return err
		}
	}
	if err := s.archive(program, share, named("holdfast", ".tar.gz")); err != nil {
		return err
	}
	if err := s.benchArchive(bench, named("holdfast-bench", ".tar.gz")); err != nil {
		return err
	}
	server, err := s.buildTemporal(ctx, p, filepath.Join(dir, "temporal"))
	if err != nil {
		return err
	}
	if err := s.devArchive(program, share, server, named("holdfast-dev", ".tar.gz")); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	if err := s.image(program, p, named("holdfast", "_image.tar")); err != nil {
		return err
	}
	name := "holdfast_" + buildinfo.Version + "_" + p.arch + ".deb"
	return s.debian(buildinfo.Version, program, share, p.arch, filepath.Join(out, name))
}
