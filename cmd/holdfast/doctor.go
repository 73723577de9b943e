package main

import (
	"context"
	"time"

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

// report is what an examination has found; it is OK if no check has failed.
type report struct {
	Findings []finding `json:"findings"`
	OK       bool      `json:"ok"`
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

// examine looks at everything. Its error says that it could not even begin.
func examine(ctx context.Context, cfg config.Config) (report, error) {
	d := &doctor{cfg: cfg}
	var err error
	if d.temporal, err = newTemporalClient(cfg, nil, nil); err != nil {
		return report{}, err
	}
	defer d.temporal.Close()
	if cfg.Database.URL.IsSet() {
		if d.store, err = openStore(ctx, cfg, nil); err != nil {
			return report{}, err
		}
		defer d.store.Close()
	}
	d.examineDatabase(ctx)
	d.examineTemporal(ctx)
	d.examineProviders()
	d.examineHost()
	return newReport(d.findings), nil
}

func newReport(findings []finding) report {
	r := report{Findings: findings}
	r.OK = r.failures() == 0
	return r
}

// failures counts the checks that have failed.
func (r report) failures() (n int) {
	for _, f := range r.Findings {
		if f.Verdict == verdictFail {
			n++
		}
	}
	return n
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
