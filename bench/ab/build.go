package ab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/internal/devstack/program"
	"holdfast/internal/ledger"
)

// build is the product at one revision, with its own database and process. Only its commands, environment and counters are used,
// and what the servers count, so it may have other tables.
type build struct {
	name    string // "now" or "before"
	product lab.Product
	node    *lab.Node
	// endpoint gets every event; nil without deliveries.
	endpoint *lab.Endpoint

	suite *suite.Suite
}

func newBuild(s *suite.Suite, name, path string) *build {
	return &build{name: name, suite: s, product: lab.Product{
		Role: suite.RoleServe, Label: lab.LabelHoldfast + " " + name, Program: path, Environ: []string{suite.Loopback},
	}}
}

// compileBase returns the program of the revision suite.Options.Base, and compiles it when it is first needed.
func compileBase(ctx context.Context, s *suite.Suite) (path string, err error) {
	path = filepath.Join(s.Dir, "before")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	s.Say("  building %s", s.Base)
	tree := path + "-tree"
	if err := git(ctx, s.Root, "worktree", "add", "--detach", "--force", tree, s.Base); err != nil {
		return "", err
	}
	err = program.Build(ctx, tree, path)
	return path, errors.Join(err, git(context.WithoutCancel(ctx), s.Root, "worktree", "remove", "--force", tree))
}

func git(ctx context.Context, root string, arguments ...string) error {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w\n%s", arguments, err, out)
	}
	return nil
}

// needs is what a phase needs of both builds.
type needs struct {
	database string
	delivers bool // everything goes to an endpoint
	counts   bool // PostgreSQL counts the statements
}

// serve runs f with the build as a process with a new database.
func (b *build) serve(ctx context.Context, n needs, f func() error) (err error) {
	b.product.Database = n.database + "_" + b.name
	if err := b.suite.Lab.MigrateFor(ctx, b.product); err != nil {
		return err
	}
	if n.counts {
		if err := b.suite.Lab.CountPages(ctx, b.product.Database); err != nil {
			return err
		}
	}
	if n.delivers {
		if b.endpoint, err = lab.NewEndpoint(0); err != nil {
			return err
		}
		defer b.endpoint.Close()
		b.endpoint.ByBody = true
		err := b.suite.Lab.Command(ctx, b.product, "subscription", "create", "endpoint", "--url", b.endpoint.URL)
		if err != nil {
			return err
		}
	}
	if b.node, err = b.suite.Lab.StartProduct(ctx, b.product); err != nil {
		return err
	}
	d := b.load(suite.Stripe)
	d.Count = b.suite.Scaled(suite.WarmUpEvents)
	if _, err = b.suite.Drive(ctx, d); err != nil {
		err = fmt.Errorf("warm up %s: %w", b.name, err)
	} else {
		err = f()
	}
	return errors.Join(err, b.node.Stop())
}

// load returns a load of a provider on the build, which ends with the last event or delivery.
func (b *build) load(provider string) suite.Drive {
	o := suite.Outlet{Suite: b.suite, Database: b.product.Database, Node: b.node, Each: 1}
	d := suite.Load(b.node, provider)
	if b.endpoint != nil {
		o.Endpoints = []*lab.Endpoint{b.endpoint}
		d = o.Load(provider)
	}
	d.Database, d.ByCounters = b.product.Database, true
	return d
}

// without returns a side named after the build, without what the other build used meanwhile: its process and its database.
func (b *build) without(other *build, one suite.Side) suite.Side {
	measure := one.Measure
	one.Name = sideOf(one.Name, b)
	one.Measure = func(ctx context.Context) (suite.Slice, error) {
		got, err := measure(ctx)
		delete(got.Cost, other.product.Label)
		delete(got.Cost, lab.DatabaseLabel(other.product.Database))
		return got, err
	}
	return one
}

// waits returns the time from the answer to the arrival of each acknowledged event in a ledger, in ms. An event that didn't
// arrive is an error.
func (b *build) waits(path string) (all []float64, err error) {
	sent, err := ledger.ReadFile(path)
	if err != nil {
		return nil, err
	}
	arrived := b.endpoint.Remember()
	for _, e := range sent.Entries {
		if e.Outcome() != ledger.OutcomeOK {
			continue
		}
		at, ok := arrived[e.Key]
		if !ok {
			return nil, fmt.Errorf("%s: event %s was acknowledged and didn't arrive", b.name, e.Key)
		}
		all = append(all, suite.Milliseconds(at.Sub(e.AnsweredAt())))
	}
	return all, nil
}
