package cluster

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/devstack/faulttest"
)

// report collects figures for docs/internals/cluster-report.md.
type report struct {
	started              time.Time
	steps                faulttest.Steps
	node                 string
	commit, previous     string
	defaults, production time.Duration // until helm returned
	doctor               string        // its last line
	outcomes             []faulttest.Outcome
	leastReady           int // ingresses during the drain
	rotated              time.Duration
}

// markdown returns the page.
func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Report: the Helm chart on Kubernetes\n")
	p("Written by `make cluster-test`, don't edit. The test started on %s and took %.0f minutes.\n",
		r.started.UTC().Format("2 January 2006, 15:04 UTC"), time.Since(r.started).Minutes())
	p("- Kubernetes: two nodes on one machine, %s, built by `tools/kubernetes`. Helm: that of `tools/deploy`", r.node)
	p("- Network: a namespace per node, which leads nowhere. Pods: the `ptp` plugin. Services: kube-proxy with iptables. " +
		"Names: dnsmasq")
	p("- Holdfast: %s, and the previous release from %s with its own chart", r.commit, r.previous)
	p("- Namespace `webhooks`: enforces the restricted Pod Security Standard\n")
	r.steps.Write(p)
	r.writeLoads(p)
	p("## Findings of single steps\n")
	p("- Default values: all pods were ready %.0f s after `helm install`. `holdfast doctor` ended with: %s", r.defaults.Seconds(), r.doctor)
	p("- Values for production (`e2e/cluster/testdata/production.yaml`): ready after %.0f s.", r.production.Seconds())
	p("- Drain: all pods of Holdfast were on the drained node. The PodDisruptionBudgets delayed evictions; at least %d of 2 "+
		"ingresses were ready at each moment.", r.leastReady)
	p("- Secret rotation: all ingresses accepted the new secret %.0f s after the Secret had changed. Of both loads, only requests "+
		"with an invalid signature were refused.\n", r.rotated.Seconds())
	p("## Not shown\n")
	p("- The published image and images of registries: nodes import archives. PostgreSQL is Debian's 15, Temporal the server of")
	p("  `tools/server`, and both run from one stand-in image on a Debian root.")
	p("- A DNS server of the cluster: dnsmasq has two entries, for PostgreSQL and Temporal.")
	p("- Cloud load balancers, Ingress controllers and the Gateway API: the load calls the Service. The chart's Ingress is created,")
	p("  and nothing serves it.")
	p("- Network policies: the cluster has them, but nothing that enforces them.")
	p("- Storage classes and volumes that move: PostgreSQL's data is a directory of the first node.")
	p("- Several machines, zones, a control plane with replicas, and the failure of a node: both nodes share a kernel and two cores.")
	p("- Autoscaling (metrics server, KEDA), the Prometheus operator and Temporal's worker controller, which didn't run.")
	p("- Deliveries to the internet, and the rotation of secrets other than those of senders.")
	return b.String()
}

func (r *report) writeLoads(p faulttest.Print) {
	p("## Load and faults\n")
	p("%s of signed Stripe events to the Service, 20%% of them duplicates and 5%% with an invalid signature. Each load has its own "+
		"ledger, which `holdfast-bench verify-ledger` checked. Nothing resends a request without a 2xx. \"Up in\" is the time from the fault "+
		"until all pods were ready. Killed pods were deleted without a grace period.\n", faulttest.Rate)
	faulttest.WriteOutcomes(p, r.outcomes)
}
