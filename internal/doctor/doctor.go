package doctor

import (
	"cmp"
	"context"
	"fmt"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/persistence"
)

const (
	resultOK   oversight.CheckResult = "ok"
	resultWarn oversight.CheckResult = "warn"
	resultFail oversight.CheckResult = "fail"
	// resultSkip means that an earlier failure prevented the check.
	resultSkip oversight.CheckResult = "skip"
)

// Report is the result of an examination; it is OK if no check has failed.
type Report struct {
	Findings []oversight.Finding `json:"findings"`
	OK       bool                `json:"ok"`
}

type doctor struct {
	cfg      config.Config
	store    *persistence.Store // nil if no database is configured
	temporal client.Client
	findings []oversight.Finding
	// down maps each server that doesn't answer to the checks skipped because of it.
	down map[string][]string
}

// doctorTimeout bounds each check.
const doctorTimeout = 5 * time.Second

// Examine runs all checks. An error means that it couldn't begin.
func Examine(ctx context.Context, cfg config.Config) (Report, error) {
	d := &doctor{cfg: cfg}
	var err error
	if d.temporal, err = stores.NewTemporalClient(cfg, nil, nil); err != nil {
		return Report{}, err
	}
	defer d.temporal.Close()
	if cfg.Database.URL.IsSet() {
		if d.store, err = stores.OpenStore(ctx, cfg, nil); err != nil {
			return Report{}, err
		}
		defer d.store.Close()
	}
	d.examineDatabase(ctx)
	d.examineTemporal(ctx)
	d.examineProviders(ctx)
	d.examineProxies(ctx)
	d.examineHost()
	d.examineSettings()
	d.reportSkipped()
	return newReport(d.findings), nil
}

func newReport(findings []oversight.Finding) Report {
	r := Report{Findings: findings}
	r.OK = r.Failures() == 0
	return r
}

// Failures counts the checks that have failed.
func (r Report) Failures() int { return r.count(resultFail) }

// Attention counts the checks that have failed or warn.
func (r Report) Attention() int { return r.count(resultFail) + r.count(resultWarn) }

// Healthy counts the checks that found nothing wrong.
func (r Report) Healthy() int { return r.count(resultOK) }

func (r Report) count(v oversight.CheckResult) (n int) {
	for _, f := range r.Findings {
		if f.Result == v {
			n++
		}
	}
	return n
}

func (d *doctor) add(check string, v oversight.CheckResult, detail, advice string) {
	if v == resultOK {
		advice = ""
	}
	d.findings = append(d.findings, oversight.Finding{Check: check, Result: v, Detail: detail, Advice: advice})
}

// above returns ok up to the first bound, a warning up to the second, and a failure beyond it.
func above[T cmp.Ordered](value, warn, fail T) oversight.CheckResult {
	switch {
	case value > fail:
		return resultFail
	case value > warn:
		return resultWarn
	default:
		return resultOK
	}
}

// either returns ok, or the other result.
func either(ok bool, otherwise oversight.CheckResult) oversight.CheckResult {
	if ok {
		return resultOK
	}
	return otherwise
}

// The thresholds for disk usage, in percent.
const (
	diskWarn = 85
	diskFail = 95
)

func (d *doctor) examineHost() { d.examineDisk("disk of this host", ".") }

// examineSettings reports settings with the name that they had in the release before.
func (d *doctor) examineSettings() {
	for _, r := range d.cfg.Renamed() {
		d.add("settings", resultWarn, r.Former+" is set, the former name of "+r.Name,
			"rename it once you won't roll back to the release before, which doesn't have the new name")
	}
}

// examineDisk skips directories that aren't on this machine or not accessible.
func (d *doctor) examineDisk(check, dir string) {
	var disk syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &disk) != nil || disk.Blocks == 0 {
		return
	}
	free := disk.Bavail * 100 / disk.Blocks
	d.add(check, above(100-free, diskWarn, diskFail), fmt.Sprintf("%d%% free", free),
		"free some space: PostgreSQL stops when its disk is full")
}
