package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/payloadcodec"
	"holdfast/internal/proxy"
)

// maxBody is the limit that the setting lowers: a larger value would have no effect.
const maxBody = 4 * MiB

// The bounds of the memory for bodies.
const (
	minBodyMemory = 16 * MiB
	maxBodyMemory = 65536 * MiB
)

// minPollers is the SDK's minimum of fixed pollers of a queue.
const minPollers = 2

func (m *problems) validate(c Config) {
	m.checkBounds(c)
	m.validateIngress(c.Ingress)
	m.address("HOLDFAST_OPERATOR_ADDR", c.Operator.Addr, "127.0.0.1:8081")
	if c.Operator.Addr == c.Ingress.Addr {
		m.add("HOLDFAST_OPERATOR_ADDR", "is the address of the ingress: the private side needs one of its own",
			"127.0.0.1:8081")
	}
	m.validateDatabase(c.Database)
	m.validateTemporal(c.Temporal)
	m.validatePayloads(c.Payloads)
	if n := c.Worker.Pollers; n != 0 && n < minPollers { // one for tasks of cached workflows, one for others
		m.add("HOLDFAST_WORKER_POLLERS", fmt.Sprintf("is %d; it must be at least %d", n, minPollers), strconv.Itoa(minPollers))
	}
	if folder := c.Deliveries.Certificates; folder != "" && !filepath.IsAbs(folder) {
		m.add("HOLDFAST_DELIVERIES_CERTIFICATES", "isn't an absolute path", "/etc/holdfast/certificates")
	}
	m.validateProxy(c.Proxy)
	if r := c.Replay.Rate; !(r >= 0.01 && r <= 1000) {
		m.add("HOLDFAST_REPLAY_RATE", fmt.Sprintf("is %g; it must be from 0.01 to 1000", r), "10")
	}
	m.exporter("OTEL_TRACES_EXPORTER", c.Telemetry.TracesExporter)
	m.exporter("OTEL_METRICS_EXPORTER", c.Telemetry.MetricsExporter)
	m.validateRetention(c.Retention)
	m.validateDebug(c.Debug)
	m.validateDev(c.Dev)
}

func (m *problems) validateProxy(p Proxy) {
	list, err := proxy.Parse(p.List.Reveal())
	if err != nil {
		m.add("HOLDFAST_PROXIES", err.Error(), "office=http://10.0.0.5:3128")
		return
	}
	if _, ok := list.Find(p.Default); p.Default != "" && !ok {
		problem := "isn't the name of a proxy in HOLDFAST_PROXIES"
		if proxy.IsName(p.Default) { // otherwise it may be a URL with a password
			problem = fmt.Sprintf("is %q, which %s", p.Default, problem)
		}
		m.add("HOLDFAST_PROXY", problem, append(list.Names(), "office")[0])
	}
}

func (m *problems) validateTemporal(t Temporal) {
	if t.Address != "" {
		m.address("TEMPORAL_ADDRESS", t.Address, defaultTemporalAddress)
	}
	switch {
	case t.DeploymentName != "" && t.WorkerBuildID == "":
		m.add("TEMPORAL_WORKER_BUILD_ID", "is missing: a worker of a deployment names its build", "2026-11-22.1")
	case t.DeploymentName == "" && t.WorkerBuildID != "":
		m.add("TEMPORAL_DEPLOYMENT_NAME", "is missing: a build is one of a deployment", "holdfast")
	}
}

func (m *problems) validateDebug(d Debug) {
	if d.Addr == "" {
		return
	}
	const variable, example = "HOLDFAST_DEBUG_ADDR", "127.0.0.1:6060"
	m.address(variable, d.Addr, example)
	host, _, err := net.SplitHostPort(d.Addr)
	if ip := net.ParseIP(host); err == nil && (ip == nil || !ip.IsLoopback()) {
		m.add(variable, "is not on loopback: profiles hold what the process holds", example)
	}
}

// maxChanges is bounded because the change feed has 32 daily partitions in a ring.
const maxChanges = 30 * 24 * time.Hour

func (m *problems) validateRetention(r Retention) {
	if r.Changes > maxChanges {
		m.add("HOLDFAST_RETENTION_CHANGES", "is more than 30 days, after which its partitions are written to again", "168h")
	}
	if r.Archive != "" && !strings.HasPrefix(r.Archive, "file:///") && !strings.HasPrefix(r.Archive, "s3://") {
		m.add("HOLDFAST_ARCHIVE", "is neither file:///folder nor s3://bucket/prefix", "file:///var/lib/holdfast/archive")
	}
}

func (m *problems) validateIngress(i Ingress) {
	m.address("HOLDFAST_INGRESS_ADDR", i.Addr, "127.0.0.1:8080")
	if i.BodyLimit > maxBody {
		m.add("HOLDFAST_INGRESS_BODY_LIMIT", fmt.Sprintf("is %s, and has no effect above %s: set body_limit in the definitions "+
			"that need more", i.BodyLimit, maxBody), "1MiB")
	}
	if i.BodyMemory < minBodyMemory || i.BodyMemory > maxBodyMemory {
		m.add("HOLDFAST_INGRESS_BODY_MEMORY",
			fmt.Sprintf("is %s; it must be from %s to %s", i.BodyMemory, minBodyMemory, maxBodyMemory), "256MiB")
	}
	m.longer("HOLDFAST_INGRESS_START_TIMEOUT", i.StartTimeout, "HOLDFAST_INGRESS_ACK_BUDGET", i.AckBudget)
	if u, err := url.Parse(i.PublicURL); i.PublicURL != "" && (err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "") {
		m.add("HOLDFAST_INGRESS_PUBLIC_URL", fmt.Sprintf("is %q, which is not scheme and host alone", i.PublicURL),
			"https://hooks.example.com")
	}
	m.longer("HOLDFAST_INGRESS_HANDLER_BUDGET", i.HandlerBudget, "HOLDFAST_INGRESS_START_TIMEOUT", i.StartTimeout)
	if i.ShutdownGrace < i.HandlerBudget && !m.has("HOLDFAST_INGRESS_HANDLER_BUDGET") {
		m.add("HOLDFAST_INGRESS_SHUTDOWN_GRACE", fmt.Sprintf("is %s, less than HOLDFAST_INGRESS_HANDLER_BUDGET (%s): "+
			"requests that were accepted would be cut", i.ShutdownGrace, i.HandlerBudget), "10s")
	}
}

func (m *problems) validateDatabase(d Database) {
	if d.URL.IsSet() && !isDatabaseURL(d.URL.Reveal()) {
		m.add("DATABASE_URL", "is not the address of a PostgreSQL database", exampleDatabaseURL)
	}
	m.longer("HOLDFAST_DATABASE_STATEMENT_TIMEOUT", d.StatementTimeout, "HOLDFAST_DATABASE_LOCK_TIMEOUT", d.LockTimeout)
}

// validatePayloads also refuses a value without a key, so that a set variable guarantees encryption.
func (m *problems) validatePayloads(p Payloads) {
	keys, err := payloadcodec.ParseKeys(p.Keys.Reveal())
	if err == nil && p.Keys.IsSet() && len(keys) == 0 {
		err = errors.New("holds no key")
	}
	if err != nil {
		m.add("HOLDFAST_PAYLOAD_KEYS", "cannot be read: "+err.Error()+"; `holdfast payload-key new` makes an entry", "")
	}
}

func (m *problems) validateDev(d Dev) {
	m.notZero("HOLDFAST_DEV_TEMPORAL_PORT", d.TemporalPort, "7233")
	m.notZero("HOLDFAST_DEV_TEMPORAL_UI_PORT", d.TemporalUIPort, "8233")
	if d.TemporalPort != 0 && d.TemporalPort == d.TemporalUIPort {
		m.add("HOLDFAST_DEV_TEMPORAL_UI_PORT", "is the same as HOLDFAST_DEV_TEMPORAL_PORT", "8233")
	}
}

// exporter accepts OpenTelemetry's exporters. It accepts prometheus without starting a second one, because the operator port
// always serves it.
func (m *problems) exporter(variable, name string) {
	if !slices.Contains([]string{"", "otlp", "console", "none", "prometheus"}, name) {
		m.add(variable, fmt.Sprintf("is %q, which is none of otlp, console, none", name), "otlp")
	}
}

func (m *problems) address(variable, value, example string) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		m.add(variable, fmt.Sprintf("is %q, which is not host:port", value), example)
	}
}

// longer compares two variables, unless the other one is invalid.
func (m *problems) longer(variable string, d time.Duration, than string, other time.Duration) {
	if d <= other && !m.has(than) {
		m.add(variable, fmt.Sprintf("is %s; it must be more than %s (%s)", d, than, other), (other + time.Second).String())
	}
}

func (m *problems) notZero(variable string, p Port, example string) {
	if p == 0 {
		m.add(variable, "is 0; links to it are printed and kept, so it must be a fixed port", example)
	}
}
