package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/stacktest"
)

// A Convoy with endpoints that are down moves in while events are published: nothing is lost, nothing is doubled, and no endpoint
// changes. Every second endpoint has an advanced signature, and every fourth has replaced its secret an hour ago and still knows
// the old one only.
func TestAConvoyMovesIn(t *testing.T) {
	dir := programsOf(t, convoyVariable)
	endpoints, messages := scale(t)
	c := startConvoy(t, dir, endpoints)
	i := start(t, "EVENTS_TOKEN="+publisherToken)
	from := []string{"--from", "convoy", "--from-url", c.url, "--project", c.project}
	i.env = append(i.env, "HOLDFAST_SECRET_FROM_TOKEN="+c.key)

	began := time.Now()
	wanted := c.publish(t, messages)
	t.Logf("Convoy has %d undelivered messages for %d endpoints after %s", len(wanted), endpoints, time.Since(began).Round(time.Second))

	c.awaitTried(t, messages/2) // while it is still busy with the rest
	plan := i.follow(t, "holdfast import $from --dry-run", from)
	t.Logf("the plan:\n%s", plan)
	began = time.Now()
	output := plan + i.follow(t, "holdfast import $from --yes --reason 'moving in'", from) + i.follow(t, "holdfast compare $from", from)
	t.Logf("%d endpoints were imported in %s", endpoints, time.Since(began).Round(100*time.Millisecond))

	// Publishers move to Holdfast, and go on publishing while the rest moves.
	stop := i.publishAlways(t, func(n int) (string, int) { return c.owner(n % endpoints), n % endpoints })
	c.awaitTried(t, messages)
	c.stopAgent()
	c.customers.setDown(nil)
	began = time.Now()
	const rest = "holdfast import $from --undelivered --yes --reason 'moving in'"
	out := i.follow(t, rest, from)
	output += out
	t.Logf("%d undelivered messages were imported in %s", messages, time.Since(began).Round(100*time.Millisecond))
	require.Contains(t, out, fmt.Sprintf("deliveries queued  %d", messages))

	compared := i.follow(t, "holdfast compare $from --undelivered", from)
	t.Logf("compared:\n%s", compared)
	again := i.follow(t, rest, from)
	require.Contains(t, again, "deliveries queued  0")
	for k := range stop() {
		wanted[k] = true
	}
	c.customers.awaitAll(t, wanted)
	t.Logf("all %d were delivered, each once, %s after the import began", len(wanted), time.Since(began).Round(time.Second))
	for _, secret := range c.secrets() {
		require.NotContains(t, output+compared+again, secret)
	}
}

// follow runs a command of the page, which names the other gateway as $from.
func (i *installation) follow(t *testing.T, line string, from []string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "move-from-a-gateway.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), line)
	command := exec.CommandContext(bounded(t), "bash", "-c", strings.Replace(line, "holdfast", "exec "+binary, 1))
	command.Env = append(i.env, "from="+strings.Join(from, " "))
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("%s took %d MiB at most", line, usage.Maxrss>>10)
	}
	return string(out)
}

// convoy is a Convoy with a server and an agent, which delivers.
type convoy struct {
	customers *customers
	url, key  string
	project   string
	database  string
	endpoints int
	stopAgent func()
}

func (*convoy) owner(n int) string          { return fmt.Sprintf("owner-%d", n) }
func (*convoy) isAdvanced(n int) bool       { return n%2 == 1 }
func (*convoy) hasReplaced(n int) bool      { return n%4 == 1 }
func (*convoy) secret(n int) string         { return fmt.Sprintf("secret-of-endpoint-%d-0123456789", n) }
func (*convoy) replacement(n int) string    { return fmt.Sprintf("newer-of-endpoint-%d-0123456789", n) }
func (c *convoy) api(path string) string    { return c.url + "/api/v1" + path }
func (c *convoy) inProject(p string) string { return c.api("/projects/" + c.project + p) }

func (c *convoy) secrets() (all []string) {
	for n := range c.endpoints {
		all = append(all, c.secret(n), c.replacement(n))
	}
	return append(all, c.key)
}

// verify verifies as https://www.getconvoy.io/docs/webhooks/signatures describes.
func (c *convoy) verify(r *http.Request, endpoint int, body []byte) error {
	header := r.Header.Get("X-Convoy-Signature")
	if !c.isAdvanced(endpoint) {
		if header != hexHMAC(c.secret(endpoint), body) {
			return errors.New("the simple signature differs")
		}
		return nil
	}
	stamp := ""
	for _, pair := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == "t":
			stamp = value
		case name == "v1" && value == hexHMAC(c.secret(endpoint), []byte(stamp+","+string(body))):
			return nil
		}
	}
	return errors.New("no advanced signature is valid")
}

func startConvoy(t *testing.T, dir string, endpoints int) *convoy {
	t.Helper()
	ports, err := stacktest.FreePorts(2)
	require.NoError(t, err)
	c := &convoy{endpoints: endpoints, url: "http://127.0.0.1:" + ports[0]}
	c.customers = startCustomers(t, c.verify)
	config := c.config(t, ports)
	program, env := filepath.Join(dir, "convoy"), child.EnvironWithout("CONVOY_", "PORT=")
	run := func(args ...string) []byte {
		command := exec.CommandContext(bounded(t), program, append(args, "--config", config)...)
		command.Env, command.Dir, command.Stderr = env, filepath.Dir(config), os.Stderr
		out, err := command.Output()
		require.NoError(t, err, string(out))
		return out
	}
	run("migrate", "up")
	var made struct {
		Organization string `json:"organisation_id"`
		Key          string `json:"api_key"`
	}
	require.NoError(t, json.Unmarshal(run("bootstrap", "--email", "a@example.com", "--with-api-key", "--format", "json"), &made))
	c.key = made.Key
	runProgram(t, "convoy-server", c.url+"/healthz", "", env, program, "server", "--config", config)
	c.stopAgent = runProgram(t, "convoy-agent", "http://127.0.0.1:"+ports[1]+"/healthz", "", env, program, "agent", "--config", config)
	c.fill(t, made.Organization)
	return c
}

// config writes the configuration. Nothing limits rates, and loopback is allowed.
func (c *convoy) config(t *testing.T, ports []string) string {
	t.Helper()
	c.database = oldDatabase(t, "convoy")
	database, err := url.Parse(c.database)
	require.NoError(t, err)
	password, _ := database.User.Password()
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	const unlimited = 100_000_000
	text, err := json.Marshal(map[string]any{
		"database": map[string]any{
			"type": "postgres", "scheme": "postgres", "host": database.Hostname(), "port": number(database.Port()),
			"username": database.User.Username(), "password": password, "database": strings.TrimPrefix(database.Path, "/"),
			"options": "sslmode=disable&connect_timeout=30", "max_open_conn": 20,
		},
		"redis":  map[string]any{"scheme": "redis", "host": child.Loopback, "port": number(startRedis(t))},
		"server": map[string]any{"http": map[string]any{"port": number(ports[0]), "agent_port": number(ports[1])}},
		"auth": map[string]any{"native": map[string]any{"enabled": true}, "jwt": map[string]any{
			"enabled": true, "secret": "0123456789abcdef", "refresh_secret": "0123456789abcdef",
		}},
		"env": "oss", "logger": map[string]any{"level": "error"}, "host": "127.0.0.1:" + ports[0],
		"analytics": map[string]any{"enabled": false}, "consumer_pool_size": 100,
		"instance_ingest_rate": unlimited, "api_rate_limit": unlimited,
		"dispatcher": map[string]any{
			"allow_list": []string{"0.0.0.0/0", "::/0"}, "block_list": []string{"192.0.2.0/24"}, "skip_ping_validation": true,
		},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "convoy.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

type convoyMade struct {
	Data struct {
		ID      string `json:"uid"`
		Project struct {
			ID string `json:"uid"`
		} `json:"project"`
	} `json:"data"`
}

// fill creates an outgoing project with an endpoint for each owner.
func (c *convoy) fill(t *testing.T, organization string) {
	t.Helper()
	var project convoyMade
	ask(t, http.MethodPost, c.api("/projects?orgID="+organization), c.key, map[string]any{
		"name": "shop", "type": "outgoing", "config": map[string]any{
			"max_payload_read_size": 1 << 20, "ssl": map[string]any{"enforce_secure_endpoints": false},
			"ratelimit": map[string]any{"count": 100_000_000, "duration": 1},
			"strategy":  map[string]any{"type": "linear", "duration": 3600, "retry_count": 10},
			"signature": map[string]any{"header": "X-Convoy-Signature", "versions": []any{
				map[string]any{"hash": "SHA256", "encoding": "hex"},
			}},
		},
	}, &project)
	c.project = project.Data.Project.ID
	for n := range c.endpoints {
		var endpoint convoyMade
		ask(t, http.MethodPost, c.inProject("/endpoints"), c.key, map[string]any{
			"name": fmt.Sprintf("e%d", n), "url": c.customers.url(n), "secret": c.secret(n), "owner_id": c.owner(n),
			"http_timeout": 10, "advanced_signatures": c.isAdvanced(n), "rate_limit": 1000, "rate_limit_duration": 1,
		}, &endpoint)
		ask(t, http.MethodPost, c.inProject("/subscriptions"), c.key, map[string]any{
			"name": fmt.Sprintf("s%d", n), "endpoint_id": endpoint.Data.ID,
			"filter_config": map[string]any{"event_types": []string{"*"}},
		}, nil)
		if c.hasReplaced(n) {
			ask(t, http.MethodPut, c.inProject("/endpoints/"+endpoint.Data.ID+"/expire_secret"), c.key,
				map[string]any{"secret": c.replacement(n), "expiration": 5}, nil)
		}
	}
}

// publish publishes messages to endpoints that are down, and returns what they must get.
func (c *convoy) publish(t *testing.T, messages int) (wanted map[string]bool) {
	t.Helper()
	down := map[int]bool{}
	for n := range c.endpoints {
		down[n] = true
	}
	c.customers.setDown(down)
	wanted = map[string]bool{}
	for n := range messages {
		id := fmt.Sprintf("old-%d", n)
		ask(t, http.MethodPost, c.inProject("/events/fanout"), c.key, map[string]any{
			"owner_id": c.owner(n % c.endpoints), "event_type": "order.paid", "idempotency_key": id, "data": map[string]any{"n": id},
		}, nil)
		wanted[fmt.Sprintf("%d:%s", n%c.endpoints, id)] = true
	}
	return wanted
}

// awaitTried waits until Convoy has attempted each message once, so that it waits for its next attempt. Convoy accepts messages into
// Redis: until its agent has created one, no list has it.
func (c *convoy) awaitTried(t *testing.T, messages int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.database)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	deadline := time.Now().Add(15 * time.Minute)
	for waiting := 0; waiting < messages; time.Sleep(100 * time.Millisecond) {
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM convoy.event_deliveries WHERE status = 'Retry'").Scan(&waiting)
		require.NoError(t, err)
		require.True(t, time.Now().Before(deadline), "%d of %d messages have been attempted", waiting, messages)
	}
}
