package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"holdfast/internal/config"
	"holdfast/persistence"
)

// verdict is what a check comes to.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn"
	verdictFail verdict = "fail"
	// verdictSkip: it could not be looked at, because of something that has failed before.
	verdictSkip verdict = "skip"
)

// finding is the result of one check.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	// Detail is what was found, Advice what to do about it.
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`
}

// doctor looks at an installation from where it stands.
type doctor struct {
	cfg      config.Config
	store    *persistence.Store // nil if no database is configured
	temporal client.Client
	findings []finding
}

// doctorLimit bounds each look.
const doctorLimit = 5 * time.Second

func doctorCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "doctor",
		Short:   "Look for what is wrong with this installation, and say what to do (exit 1 if something is)",
		GroupID: groupOperate,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, stop, err := newDoctor(c.Context())
			if err != nil {
				return err
			}
			defer stop()
			d.examine(c.Context())
			if err := d.report(c.OutOrStdout(), asksJSON(c)); err != nil {
				return err
			}
			if n := d.failures(); n > 0 {
				return fmt.Errorf("%d check(s) failed", n)
			}
			return nil
		},
	}
	addJSONFlag(command)
	return command
}

func newDoctor(ctx context.Context) (*doctor, func(), error) {
	cfg, _, err := config.LoadBesideDev()
	if err != nil {
		return nil, nil, err
	}
	quiet := cfg.Log
	quiet.Format = config.LogText
	setLogger(quiet, os.Stderr)
	d := &doctor{cfg: cfg}
	if d.temporal, err = newTemporalClient(cfg, nil, nil); err != nil {
		return nil, nil, err
	}
	if !cfg.Database.URL.IsSet() {
		return d, d.temporal.Close, nil
	}
	if d.store, err = openStore(ctx, cfg, nil); err != nil {
		d.temporal.Close()
		return nil, nil, err
	}
	return d, func() { d.store.Close(); d.temporal.Close() }, nil
}

func (d *doctor) examine(ctx context.Context) {
	d.examineDatabase(ctx)
	d.examineTemporal(ctx)
	d.examineProviders()
	d.examineHost()
}

func (d *doctor) found(check string, v verdict, detail, advice string) {
	if v == verdictOK {
		advice = ""
	}
	d.findings = append(d.findings, finding{check, v, detail, advice})
}

// either is ok, or the other verdict.
func either(ok bool, otherwise verdict) verdict {
	if ok {
		return verdictOK
	}
	return otherwise
}

func (d *doctor) failures() (n int) {
	for _, f := range d.findings {
		if f.Verdict == verdictFail {
			n++
		}
	}
	return n
}

func (d *doctor) report(w io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"ok": d.failures() == 0, "findings": d.findings})
	}
	var failed []error
	for _, f := range d.findings {
		_, err := fmt.Fprintf(w, "%-4s  %-22s %s\n", f.Verdict, f.Check, printable(f.Detail))
		failed = append(failed, err)
		if f.Advice != "" {
			_, err := fmt.Fprintf(w, "%30s %s\n", "→", f.Advice)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
