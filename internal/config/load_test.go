package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/config"
)

func variables(t *testing.T, err error) map[string]string {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.Truef(t, ok, "the error joins problems: %v", err)
	wrong := map[string]string{}
	for _, one := range joined.Unwrap() {
		var problem *config.VariableError
		require.ErrorAs(t, one, &problem)
		require.NotContains(t, wrong, problem.Variable, "one problem for each variable")
		wrong[problem.Variable] = problem.Error()
	}
	return wrong
}

func TestAnEmptyEnvironmentGivesTheDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", cfg.Ingress.Addr)
	require.Zero(t, cfg.Ingress.BodyLimit, "each definition has its limit")
	require.Equal(t, 3*time.Second, cfg.Ingress.HandlerBudget)
	require.Equal(t, "127.0.0.1:8081", cfg.Operator.Addr)
	require.Equal(t, "default", cfg.Temporal.Namespace)
	require.Equal(t, config.LogJSON, cfg.Log.Format)
	require.Equal(t, config.Port(7233), cfg.Dev.TemporalPort)
}

func TestAVariableThatIsSetButEmptyCountsAsNotSet(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"HOLDFAST_INGRESS_ADDR=", "HOLDFAST_WORKER_SLOTS_HIGH="})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8080", cfg.Ingress.Addr)
	require.Equal(t, 4, cfg.Worker.SlotsHigh)
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom([]string{
		"HOLDFAST_INGRESS_ADDR=8080",
		"HOLDFAST_INGRESS_BODY_LIMIT=lots",
		"HOLDFAST_INGRESS_BODY_TIMEOUT=10",
		"HOLDFAST_INGRESS_TRUSTED_PROXIES=10.0.0.0/8, proxy.internal",
		"HOLDFAST_WORKER_SLOTS_NORMAL=many",
		"HOLDFAST_WORKER_SLOTS_HIGH=0",
		"HOLDFAST_WORKER_POLLERS=1",
		"HOLDFAST_LOG_LEVEL=loud",
		"HOLDFAST_LOG_FORMAT=xml",
		"HOLDFAST_DEV_TEMPORAL_PORT=70000",
		"HOLDFAST_PROVIDERS_RATE=100/day",
		"HOLDFAST_WROKER_GRACE=5s",
		"HOLDFAST_DATABASE_URL=postgres://nobody@127.0.0.1/x",
		"HOLDFAST_FROBNICATE_THE_WHOLE_THING=1",
		"DATABASE_URL=mysql://root:hunter2@db/x?y=%zz",
	})
	require.Equal(t, map[string]string{
		"HOLDFAST_INGRESS_ADDR": `HOLDFAST_INGRESS_ADDR is "8080", which is not host:port ` +
			`(example: HOLDFAST_INGRESS_ADDR=127.0.0.1:8080)`,
		"HOLDFAST_INGRESS_BODY_LIMIT": `HOLDFAST_INGRESS_BODY_LIMIT is "lots", which is not a size: a whole number with ` +
			`the unit B, KiB or MiB (example: HOLDFAST_INGRESS_BODY_LIMIT=256KiB)`,
		"HOLDFAST_INGRESS_BODY_TIMEOUT": `HOLDFAST_INGRESS_BODY_TIMEOUT is "10", which is not a duration: a number with ` +
			`the unit ms, s, m or h (example: HOLDFAST_INGRESS_BODY_TIMEOUT=10s)`,
		"HOLDFAST_INGRESS_TRUSTED_PROXIES": `HOLDFAST_INGRESS_TRUSTED_PROXIES is "10.0.0.0/8, proxy.internal", which ` +
			`has "proxy.internal", which is neither an IP address nor a network in CIDR form ` +
			`(example: HOLDFAST_INGRESS_TRUSTED_PROXIES=10.0.0.0/8,192.168.1.7)`,
		"HOLDFAST_WORKER_SLOTS_NORMAL": `HOLDFAST_WORKER_SLOTS_NORMAL is "many", which is not a whole number ` +
			`(example: HOLDFAST_WORKER_SLOTS_NORMAL=8)`,
		"HOLDFAST_WORKER_SLOTS_HIGH": `HOLDFAST_WORKER_SLOTS_HIGH is 0; it must be at least 1 ` +
			`(example: HOLDFAST_WORKER_SLOTS_HIGH=4)`,
		"HOLDFAST_WORKER_POLLERS": `HOLDFAST_WORKER_POLLERS is 1; it must be at least 2 (example: HOLDFAST_WORKER_POLLERS=2)`,
		"HOLDFAST_LOG_LEVEL": `HOLDFAST_LOG_LEVEL is "loud", which is none of debug, info, warn, error ` +
			`(example: HOLDFAST_LOG_LEVEL=info)`,
		"HOLDFAST_LOG_FORMAT": `HOLDFAST_LOG_FORMAT is "xml", which is neither json nor text ` +
			`(example: HOLDFAST_LOG_FORMAT=json)`,
		"HOLDFAST_DEV_TEMPORAL_PORT": `HOLDFAST_DEV_TEMPORAL_PORT is "70000", which is not a port: a whole number from 0 ` +
			`to 65535 (example: HOLDFAST_DEV_TEMPORAL_PORT=7233)`,
		"HOLDFAST_PROVIDERS_RATE": `HOLDFAST_PROVIDERS_RATE is "100/day", which is not a rate: a whole number, a slash and a span ` +
			`from 1s to 1h (example: HOLDFAST_PROVIDERS_RATE=100/1m)`,
		"HOLDFAST_DATABASE_URL": `HOLDFAST_DATABASE_URL is not a variable of Holdfast; did you mean DATABASE_URL?`,
		"HOLDFAST_WROKER_GRACE": `HOLDFAST_WROKER_GRACE is not a variable of Holdfast; did you mean HOLDFAST_WORKER_GRACE?`,
		"HOLDFAST_FROBNICATE_THE_WHOLE_THING": `HOLDFAST_FROBNICATE_THE_WHOLE_THING is not a variable of Holdfast; ` +
			`docs/configuration.md lists all of them`,
		"DATABASE_URL": `DATABASE_URL is not the address of a PostgreSQL database ` +
			`(example: DATABASE_URL=postgres://holdfast@127.0.0.1:5432/holdfast)`,
	}, variables(t, err))
}

func TestValuesThatContradictEachOtherAreMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"a handler budget that the start call may exceed": {
			[]string{"HOLDFAST_INGRESS_START_TIMEOUT=3s"}, "HOLDFAST_INGRESS_HANDLER_BUDGET",
		},
		"a grace that cuts accepted requests": {
			[]string{"HOLDFAST_INGRESS_SHUTDOWN_GRACE=1s"}, "HOLDFAST_INGRESS_SHUTDOWN_GRACE",
		},
		"a body limit without effect":        {[]string{"HOLDFAST_INGRESS_BODY_LIMIT=5MiB"}, "HOLDFAST_INGRESS_BODY_LIMIT"},
		"profiles for everybody":             {[]string{"HOLDFAST_DEBUG_ADDR=0.0.0.0:6060"}, "HOLDFAST_DEBUG_ADDR"},
		"one address for public and private": {[]string{"HOLDFAST_OPERATOR_ADDR=127.0.0.1:8080"}, "HOLDFAST_OPERATOR_ADDR"},
		"a lock wait longer than a statement": {
			[]string{"HOLDFAST_DATABASE_LOCK_TIMEOUT=1m"}, "HOLDFAST_DATABASE_STATEMENT_TIMEOUT",
		},
		"one port for Temporal and its UI": {
			[]string{"HOLDFAST_DEV_TEMPORAL_UI_PORT=7233"}, "HOLDFAST_DEV_TEMPORAL_UI_PORT",
		},
		"a proxy without a name":     {[]string{"HOLDFAST_PROXIES=http://u:hunter2@10.0.0.5:3128"}, "HOLDFAST_PROXIES"},
		"a default that is no proxy": {[]string{"HOLDFAST_PROXIES=a=http://10.0.0.5:3128", "HOLDFAST_PROXY=b"}, "HOLDFAST_PROXY"},
		"a default without a list":   {[]string{"HOLDFAST_PROXY=b"}, "HOLDFAST_PROXY"},
		"a negative delay":           {[]string{"HOLDFAST_INGRESS_DRAIN_DELAY=-1s"}, "HOLDFAST_INGRESS_DRAIN_DELAY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.LoadFrom(c.environ)
			wrong := variables(t, err)
			require.Contains(t, wrong, c.want)
			require.Len(t, wrong, 1)
		})
	}
}

// A URL of a proxy in place of its name, with its password, is in no log.
func TestTheNameOfAProxyIsShownOnlyIfItIsOne(t *testing.T) {
	t.Parallel()
	_, err := config.LoadFrom([]string{"HOLDFAST_PROXY=http://u:hunter2@10.0.0.5:3128"})
	require.ErrorContains(t, err, "HOLDFAST_PROXY isn't the name of a proxy in HOLDFAST_PROXIES")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = config.LoadFrom([]string{"HOLDFAST_PROXY=ofice"})
	require.ErrorContains(t, err, `HOLDFAST_PROXY is "ofice", which isn't the name of a proxy in HOLDFAST_PROXIES`)
}

func TestTelemetryIsExportedOnlyIfConfigured(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ         []string
		traces, metrics bool
	}{
		"nothing said":             {nil, false, false},
		"an endpoint":              {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, true, true},
		"an endpoint for traces":   {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:4318"}, true, false},
		"only Prometheus":          {[]string{"OTEL_METRICS_EXPORTER=prometheus"}, false, false},
		"to the console":           {[]string{"OTEL_TRACES_EXPORTER=console"}, true, false},
		"an endpoint, but not now": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_SDK_DISABLED=true"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.LoadFrom(c.environ)
			require.NoError(t, err)
			require.Equal(t, c.traces, cfg.Telemetry.ExportTraces())
			require.Equal(t, c.metrics, cfg.Telemetry.ExportMetrics())
		})
	}
}

func TestThePoolFollowsTheSlotsOfTheWorker(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"HOLDFAST_WORKER_SLOTS_NORMAL=100"})
	require.NoError(t, err)
	require.GreaterOrEqual(t, cfg.PoolSize(), 100+8+8+4)

	cfg, err = config.LoadFrom([]string{"HOLDFAST_DATABASE_MAX_CONNS=7"})
	require.NoError(t, err)
	require.Equal(t, 7, cfg.PoolSize())
}

// PostgreSQL allows 100 connections by default, three of them for superusers: one process with all roles leaves room for an
// ingress, an operator's tools and other clients.
func TestTheDefaultPoolsLeaveRoom(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	const inbox = 6
	require.LessOrEqual(t, cfg.PoolSize()+inbox+cfg.Operator.MaxConns, 65)
}

func TestARoleThatNeedsADatabaseSaysSo(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	var problem *config.VariableError
	require.ErrorAs(t, cfg.RequireDatabase(), &problem)
	require.Equal(t, "DATABASE_URL", problem.Variable)

	cfg, err = config.LoadFrom([]string{"DATABASE_URL=postgres://127.0.0.1/x"})
	require.NoError(t, err)
	require.NoError(t, cfg.RequireDatabase())
}

// A variable keeps working under its name in the release before, and the program can say so. Both names at once are an error.
func TestARenamedVariableKeepsWorking(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"HOLDFAST_NOTIFY_EVERY=7s", "HOLDFAST_RETENTION_INTERVAL=2h"})
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, cfg.Notify.Interval)
	require.Equal(t, 2*time.Hour, cfg.Retention.Interval)
	require.Equal(t, []config.Renamed{{Former: "HOLDFAST_NOTIFY_EVERY", Name: "HOLDFAST_NOTIFY_INTERVAL"}}, cfg.Renamed())

	_, err = config.LoadFrom([]string{"HOLDFAST_NOTIFY_EVERY=7s", "HOLDFAST_NOTIFY_INTERVAL=7s"})
	require.ErrorContains(t, err, "HOLDFAST_NOTIFY_EVERY is the former name of HOLDFAST_NOTIFY_INTERVAL, which is set as well")
	_, err = config.LoadFrom([]string{"HOLDFAST_RETENTION_EVERY=often"})
	require.ErrorContains(t, err, `HOLDFAST_RETENTION_INTERVAL is "often"`)
}
