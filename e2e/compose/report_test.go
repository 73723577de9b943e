package compose

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/devstack/faulttest"
)

// report collects figures for docs/internals/compose-report.md.
type report struct {
	started        time.Time
	steps          faulttest.Steps
	engine, commit string
	previous       string
	images         []standIn
	up             time.Duration
	orders         int // dependencies whose order was checked
	starts         []startTime
	unhealthy      []startTime
	stops          []stopTime
	watching       watching
	released       string // the image of a release
	printed        string // by it
	hardened       []hardening
	outcomes       []faulttest.Outcome
}

// startTime is how long after the beginning something happened to a service.
type startTime struct {
	service string
	after   time.Duration
}

// stopTime is how long a container took to stop.
type stopTime struct {
	service     string
	took, grace time.Duration
	code        int
}

type hardening struct {
	service, user, pids string
	processes           int
	readOnly            bool
}

// markdown returns the page.
func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Report: docker-compose.yml on a Docker engine\n")
	p("Written by `make compose-test`, don't edit. The test started on %s and took %.0f minutes.\n",
		r.started.UTC().Format("2 January 2006, 15:04 UTC"), time.Since(r.started).Minutes())
	p("- Engine: %s", r.engine)
	p("- Network: its own namespace, which leads nowhere")
	p("- Compose: v2 of `tools/compose`")
	if r.steps.Ran("images") {
		p("- Images of Holdfast: built by Compose with `deploy/Dockerfile` from %s; the previous release from %s", r.commit, r.previous)
	} else {
		p("- Images of Holdfast: those of an earlier run; the test is from %s", r.commit)
	}
	p("- Services: all of the file except Grafana\n")
	r.steps.Write(p)
	r.writeImages(p)
	r.writeOutcomes(p)
	r.writeStarts(p)
	r.writeHardening(p)
	r.writeOthers(p)
	p("## What this can't show\n")
	p("- The published images themselves. Their files, users and entry points differ from the stand-ins', above all those of PostgreSQL 17.")
	p("- Grafana: neither Debian nor the module proxy has it, so no stand-in could be built.")
	p("- A newer engine: Docker's own packages are several versions ahead of Debian's.")
	p("- Ports that are published beyond loopback, and deliveries to the internet: the engine's network leads nowhere.")
	p("- One-off containers (`migrate`, `temporal-schema`, `temporal-namespace`) end too soon to look at their processes. They have the")
	p("  same settings as the rest.")
	p("- A loss of power: data that the disk hadn't written yet.")
	p("- Memory limits: the file sets none.")
	p("- A hung Temporal server: its health check only connects, and the kernel accepts connections for a process that has stopped.")
	return b.String()
}

func (r *report) writeImages(p faulttest.Print) {
	p("## Stand-ins\n")
	p("No registry was reachable. These images were built on the machine, under the names that the files use:\n")
	p("| Image | Content |\n|---|---|")
	for _, i := range r.images {
		p("| `%s` | %s |", i.image, i.content)
	}
	p("")
}

func (r *report) writeOutcomes(p faulttest.Print) {
	p("## Load and faults\n")
	p("%s of signed Stripe events, 20%% of them duplicates and 5%% with an invalid signature. Each load has its own ledger, which "+
		"`holdfast-bench verify-ledger` checked in a container of the project. Nothing resends a request without a 2xx. \"Up in\" is the time "+
		"from the fault until all containers were healthy.\n", faulttest.Rate)
	faulttest.WriteOutcomes(p, r.outcomes)
}

func (r *report) writeStarts(p faulttest.Print) {
	p("## Starts, health checks, stops\n")
	p("From `docker compose up` until everything was healthy: %.1f s. Each of the file's %d dependencies was ready before the service that "+
		"needs it started.\n", r.up.Seconds(), r.orders)
	p("| Started | After |\n|---|--:|")
	for _, s := range r.starts {
		p("| %s | %.1f s |", s.service, s.after.Seconds())
	}
	p("\nMain processes were stopped with SIGSTOP, and became healthy again after SIGCONT:\n")
	p("| Unhealthy | After |\n|---|--:|")
	for _, s := range r.unhealthy {
		p("| %s | %.0f s |", s.service, s.after.Seconds())
	}
	p("\n`docker compose stop` under load:\n")
	p("| Stopped | Took | Grace period | Exit code |\n|---|--:|--:|--:|")
	for _, s := range r.stops {
		p("| %s | %.1f s | %s | %d |", s.service, s.took.Seconds(), s.grace, s.code)
	}
	p("")
}

func (r *report) writeHardening(p faulttest.Print) {
	p("## Hardening\n")
	p("Read from `/proc` and the cgroups. Every process had no capability in any set, `NoNewPrivs: 1`, `Seccomp: 2` and a user other than " +
		"root. Published ports listened on loopback only. PostgreSQL, on the internal network, reached no other network.\n")
	p("| Container | Processes | User | Read-only root | Max processes |\n|---|--:|--:|---|--:|")
	for _, h := range r.hardened {
		p("| %s | %d | %s | %s | %s |", h.service, h.processes, h.user, yes(h.readOnly), h.pids)
	}
	p("")
}

func (r *report) writeOthers(p func(string, ...any)) {
	p("## Prometheus and the release's image\n")
	if r.watching.rules > 0 {
		p("- Prometheus evaluated %d rules without an error. Its targets: %s.", r.watching.rules, strings.Join(r.watching.targets, ", "))
	}
	if r.released != "" {
		p("- `docker load` of the image that `tools/release` had built gave `%s`. Its `version` printed the same as the program in the release's", r.released)
		p("  archive: `%s`.", r.printed)
	}
	p("")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
