package importer

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/stacktest"
)

// An Outpost with a destination for each tenant moves in while events are published: nothing is lost or doubled, and no endpoint
// changes. Every fourth has replaced its secret, and its endpoint still knows the old one only.
func TestAnOutpostMovesIn(t *testing.T) {
	dir := programsOf(t, outpostVariable)
	if _, err := os.Stat(rabbitProgram); err != nil {
		t.Skip("rabbitmq-server is missing")
	}
	endpoints, messages := scale(t)
	o := startOutpost(t, dir, endpoints)
	i := start(t, "EVENTS_TOKEN="+publisherToken)
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN="+outpostKey)
	from := []string{"--from", "outpost", "--from-url", o.url}
	out, err := i.run(append([]string{"import", "--dry-run"}, from...)...)
	require.Error(t, err)
	require.Contains(t, out, "name each with --tenant", "this Redis has no RediSearch")
	for n := range endpoints {
		from = append(from, "--tenant", o.tenant(n))
	}

	wanted := o.publish(t, messages)
	output := i.mustRun(t, append([]string{"import", "--yes"}, from...)...)
	t.Logf("imported:\n%s", output)
	stop := i.publishAlways(t, func(n int) (string, int) { return o.tenant(n % endpoints), n % endpoints })
	o.stop()
	o.stop = o.serve(t, "api") // its workers stay stopped, and its API can be read
	o.customers.setDown(nil)
	began := time.Now()
	out = i.mustRun(t, append([]string{"import", "--undelivered", "--yes", "--rate", "5000"}, from...)...)
	t.Logf("%d undelivered messages were imported in %s", messages, time.Since(began).Round(100*time.Millisecond))
	require.Contains(t, out, fmt.Sprintf("deliveries queued  %d", messages))
	compared := i.mustRun(t, append([]string{"compare", "--undelivered"}, from...)...)
	again := i.mustRun(t, append([]string{"import", "--undelivered", "--yes", "--rate", "5000"}, from...)...)
	require.Contains(t, again, "deliveries queued  0")
	for k := range stop() {
		wanted[k] = true
	}
	o.customers.awaitAll(t, wanted)
	for n := range endpoints {
		require.NotContains(t, output+out+compared+again, o.secret(n))
	}
	require.NotContains(t, output+out+compared+again, outpostKey)
}

const outpostKey = "the-api-key-of-outpost"

// outpost is an Outpost, with Redis and RabbitMQ.
type outpost struct {
	customers *customers
	programs  string
	url       string
	env       []string
	endpoints int
	stop      func()
}

func (*outpost) tenant(n int) string    { return fmt.Sprintf("tenant-%d", n) }
func (*outpost) secret(n int) string    { return fmt.Sprintf("whsec_of_destination_%d_0123456789", n) }
func (*outpost) hasReplaced(n int) bool { return n%4 == 1 }

// verify verifies as https://outpost.hookdeck.com/docs/destinations/webhook describes.
func (o *outpost) verify(r *http.Request, endpoint int, body []byte) error {
	list, ok := strings.CutPrefix(r.Header.Get("X-Outpost-Signature"), "v0=")
	for _, one := range strings.Split(list, ",") {
		if ok && one == hexHMAC(o.secret(endpoint), body) {
			return nil
		}
	}
	return errors.New("no signature is valid")
}

func startOutpost(t *testing.T, dir string, endpoints int) *outpost {
	t.Helper()
	ports, err := stacktest.FreePorts(1)
	require.NoError(t, err)
	o := &outpost{programs: dir, url: "http://127.0.0.1:" + ports[0], endpoints: endpoints}
	o.customers = startCustomers(t, o.verify)
	o.env = append(child.EnvironWithout("REDIS_", "RABBITMQ_", "POSTGRES_", "OTEL_"),
		"API_PORT="+ports[0], "API_KEY="+outpostKey, "API_JWT_SECRET="+outpostKey,
		"AES_ENCRYPTION_SECRET=0123456789abcdef0123456789abcdef", "TOPICS=order.paid", "GIN_MODE=release", "LOG_LEVEL=error",
		"REDIS_HOST="+child.Loopback, "REDIS_PORT="+startRedis(t), "REDIS_PASSWORD=", "REDIS_DATABASE=0",
		"RABBITMQ_SERVER_URL=amqp://guest:guest@127.0.0.1:"+startRabbit(t), "POSTGRES_URL="+oldDatabase(t, "outpost"),
		"PUBLISH_MAX_CONCURRENCY=20", "DELIVERY_MAX_CONCURRENCY=20", "LOG_MAX_CONCURRENCY=20",
		"MAX_DESTINATIONS_PER_TENANT=1000", "DISABLE_TELEMETRY=true", "RETRY_INTERVAL_SECONDS=3600")
	migrate := exec.CommandContext(bounded(t), filepath.Join(dir, "outpost"), "migrate", "apply", "--yes")
	migrate.Env = o.env
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, string(out))
	o.stop = o.serve(t, "all")
	t.Cleanup(func() { o.stop() })
	for n := range endpoints {
		o.create(t, n)
	}
	return o
}

// serve starts a service: all, or only the api.
func (o *outpost) serve(t *testing.T, service string) (stop func()) {
	t.Helper()
	env := append(o.env, "SERVICE="+service)
	if service == "all" {
		env = o.env
	}
	return runProgram(t, "outpost-"+service, o.url+"/healthz", "", env, filepath.Join(o.programs, "outpost-server"))
}

func (o *outpost) create(t *testing.T, n int) {
	t.Helper()
	base := o.url + "/api/v1/tenants/" + o.tenant(n)
	ask(t, http.MethodPut, base, outpostKey, nil, nil)
	var made struct {
		ID string `json:"id"`
	}
	ask(t, http.MethodPost, base+"/destinations", outpostKey, map[string]any{
		"type": "webhook", "topics": []string{"*"}, "config": map[string]string{"url": o.customers.url(n)},
		"credentials": map[string]string{"secret": o.secret(n)},
	}, &made)
	if o.hasReplaced(n) {
		ask(t, http.MethodPatch, base+"/destinations/"+made.ID, outpostKey, map[string]any{
			"credentials": map[string]string{"rotate_secret": "true"},
		}, nil)
	}
}

// publish publishes to destinations that are down, and waits until Outpost has tried each once: it lists an event only then.
func (o *outpost) publish(t *testing.T, messages int) (wanted map[string]bool) {
	t.Helper()
	down := map[int]bool{}
	for n := range o.endpoints {
		down[n] = true
	}
	o.customers.setDown(down)
	wanted = map[string]bool{}
	for n := range messages {
		id := fmt.Sprintf("old-%d", n)
		ask(t, http.MethodPost, o.url+"/api/v1/publish", outpostKey, map[string]any{
			"id": id, "tenant_id": o.tenant(n % o.endpoints), "topic": "order.paid", "data": map[string]any{"n": id},
			"eligible_for_retry": true,
		}, nil)
		wanted[fmt.Sprintf("%d:%s", n%o.endpoints, id)] = true
	}
	eventually(t, "Outpost has tried all", func() error {
		seen, next := 0, ""
		for {
			var page struct {
				Models     []struct{} `json:"models"`
				Pagination struct {
					Next *string `json:"next"`
				} `json:"pagination"`
			}
			ask(t, http.MethodGet, o.url+"/api/v1/events?limit=100&next="+next, outpostKey, nil, &page)
			if seen += len(page.Models); page.Pagination.Next == nil {
				break
			}
			next = *page.Pagination.Next
		}
		if seen < messages {
			return fmt.Errorf("%d of %d are listed", seen, messages)
		}
		return nil
	})
	return wanted
}

// rabbitProgram is where Debian's package has it. The one on the PATH wants to run as a service.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// startRabbit starts a RabbitMQ with its own Erlang name server, and returns its port.
func startRabbit(t *testing.T) (port string) {
	t.Helper()
	ports, err := stacktest.FreePorts(3)
	require.NoError(t, err)
	dir := t.TempDir()
	plugins := filepath.Join(dir, "plugins")
	require.NoError(t, os.WriteFile(plugins, []byte("[].\n"), 0o600))
	env := append(child.EnvironWithout("RABBITMQ_", "ERL_", "HOME="), "HOME="+dir,
		"ERL_EPMD_ADDRESS="+child.Loopback, "ERL_EPMD_PORT="+ports[2],
		"RABBITMQ_NODENAME=moving@localhost", "RABBITMQ_NODE_IP_ADDRESS="+child.Loopback,
		"RABBITMQ_NODE_PORT="+ports[0], "RABBITMQ_DIST_PORT="+ports[1],
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE="+dir, "RABBITMQ_ENABLED_PLUGINS_FILE="+plugins,
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "RABBITMQ_CONF_ENV_FILE=/dev/null", "RUNNING_UNDER_SYSTEMD=true")
	runProgram(t, "epmd", "", ports[2], env, "epmd")
	runProgram(t, "rabbitmq", "", ports[0], env, rabbitProgram)
	return ports[0]
}
