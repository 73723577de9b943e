package peers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are the built programs of the other systems.
type programs struct {
	convoy, outpost, outpostServer string
	// versions has a line for each system, and for each deviation from its source.
	versions []string
}

// build builds both systems into a folder. A program that was built from the same commit is kept.
func build(ctx context.Context, sources, dir string, say func(string, ...any)) (p programs, err error) {
	for _, s := range []source{convoySource, outpostSource} {
		if err := s.check(sources); err != nil {
			return p, err
		}
	}
	built, err := p.build(ctx, convoySource, sources, dir, say, "./cmd")
	if err != nil {
		return p, err
	}
	p.convoy = filepath.Join(built, "cmd")
	// Outpost's own builds have this tag.
	built, err = p.build(ctx, outpostSource, sources, dir, say, "-tags=nomsgpack", "./cmd/outpost", "./cmd/outpost-server")
	p.outpost, p.outpostServer = filepath.Join(built, "outpost"), filepath.Join(built, "outpost-server")
	return p, err
}

// build builds packages of a source, and returns the folder with their programs.
func (p *programs) build(
	ctx context.Context, s source, sources, dir string, say func(string, ...any), packages ...string,
) (built string, err error) {
	tree := filepath.Join(dir, "src", s.folder)
	version, err := s.copyTo(ctx, sources, tree)
	if err != nil {
		return "", err
	}
	p.versions = append(p.versions, fmt.Sprintf("%s %s", s.url, version))
	if s.folder == convoySource.folder {
		if err := p.replaceModules(ctx, sources, tree); err != nil {
			return "", err
		}
	}
	built = filepath.Join(dir, s.folder+"-"+s.commit[:8])
	if _, err := os.Stat(built); err == nil && version == s.commit[:8] {
		return built, nil
	}
	say("building %s from %s (some minutes)", s.folder, version)
	// The copy's go.mod may change: a replaced module may require other versions.
	args := append([]string{"build", "-mod=mod", "-o", built + string(os.PathSeparator)}, packages...)
	return built, run(ctx, tree, "go", args...)
}

// replaceModules uses the folders of modules that the module proxy may not serve.
func (p *programs) replaceModules(ctx context.Context, sources, tree string) error {
	for _, m := range modules {
		if !m.isThere(sources) {
			continue
		}
		to := tree + "-" + m.folder
		version, err := m.copyTo(ctx, sources, to)
		if err != nil {
			return err
		}
		if m.about != "" && version != "a folder" {
			p.versions = append(p.versions, m.about)
		}
		if err := run(ctx, tree, "go", "mod", "edit", "-replace", m.path+"="+to); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, dir, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		const shown = 4 << 10
		return fmt.Errorf("%v in %s: %w\n%s%s", command.Args, dir, err, out[max(0, len(out)-shown):], hintFor(out))
	}
	return nil
}

// hintFor says how to get a module that the proxy doesn't serve, if the output of the build names one.
func hintFor(out []byte) (hint string) {
	for _, m := range modules {
		if bytes.Contains(out, []byte(m.path)) {
			hint += fmt.Sprintf("\nIf no module proxy serves %s, put its source next to Convoy's, as %s:\n  git clone %s %s",
				m.path, m.folder, m.url, m.folder)
		}
	}
	return hint
}
