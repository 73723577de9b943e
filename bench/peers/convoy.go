package peers

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

	"holdfast/bench/lab"
	"holdfast/internal/devstack/child"
)

// convoy is Convoy's server and agent, with Redis and PostgreSQL.
type convoy struct {
	*host
	built    programs
	lab      *lab.Lab
	arrivals *arrivals

	api, agent, redisPort int
	servers               []*server
	// key is the API key, and project the path of the project.
	key, project string
	// one and many are the URLs of the sources.
	one, many string
}

func newConvoy(h *host, p programs, l *lab.Lab, a *arrivals) (*convoy, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	return &convoy{host: h, built: p, lab: l, arrivals: a, api: ports[0], agent: ports[1], redisPort: ports[2]}, nil
}

func (*convoy) name() string { return "Convoy" }

func (c *convoy) sides() []side {
	return []side{{
		name: "Convoy", one: target{providerConvoy, c.one}, many: target{providerConvoy, c.many},
		events: 2500, fanned: 20,
		ack: "a task in Redis (`everysec`: up to a second can be lost with the machine)",
	}}
}

// settings are the settings in convoy.json. Nothing limits rates, and endpoints on loopback are allowed.
func (c *convoy) settings() (map[string]any, error) {
	database, err := url.Parse(c.lab.Postgres.URL("convoy"))
	if err != nil {
		return nil, err
	}
	password, _ := database.User.Password()
	port, err := strconv.Atoi(database.Port())
	return map[string]any{
		"database": map[string]any{
			"type": "postgres", "scheme": "postgres", "host": database.Hostname(), "port": port,
			"username": database.User.Username(), "password": password, "database": "convoy",
			"options": "sslmode=disable&connect_timeout=30", "max_open_conn": 50,
		},
		"redis":  map[string]any{"scheme": "redis", "host": child.Loopback, "port": c.redisPort},
		"server": map[string]any{"http": map[string]any{"port": c.api, "agent_port": c.agent}},
		"auth": map[string]any{
			"native": map[string]any{"enabled": true},
			"jwt":    map[string]any{"enabled": true, "secret": lab.Secret, "refresh_secret": lab.Secret},
		},
		"env": "oss", "logger": map[string]any{"level": "error"}, "host": address(c.api),
		"analytics": map[string]any{"enabled": false}, "consumer_pool_size": 100,
		"instance_ingest_rate": unlimited, "api_rate_limit": unlimited,
		"dispatcher": map[string]any{
			"allow_list": []string{"0.0.0.0/0", "::/0"}, "block_list": []string{"192.0.2.0/24"}, "skip_ping_validation": true,
		},
	}, err
}

// unlimited is a rate that no load reaches.
const unlimited = 100_000_000

func (c *convoy) config() string { return filepath.Join(c.dir, "convoy.json") }

func (c *convoy) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.built.convoy, append(args, "--config", c.config())...)
	cmd.Env = child.EnvironWithout("CONVOY_", "PORT=")
	cmd.Dir = c.dir
	return cmd
}

func (c *convoy) prepare(ctx context.Context) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	raw, err := json.Marshal(settings)
	if err == nil {
		err = os.WriteFile(c.config(), raw, 0o600)
	}
	if err := errors.Join(err, c.lab.Postgres.CreateDatabase(ctx, "convoy")); err != nil {
		return err
	}
	if err := c.startRedis(ctx); err != nil {
		return err
	}
	if out, err := c.command(ctx, "migrate", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("convoy migrate: %w\n%s", err, out)
	}
	organisation, err := c.bootstrap(ctx)
	if err != nil {
		return err
	}
	if err := c.startServers(ctx); err != nil {
		return err
	}
	return c.subscribeAll(ctx, organisation)
}

// bootstrap creates a user with an API key, and returns the organization.
func (c *convoy) bootstrap(ctx context.Context) (organisation string, err error) {
	out, err := c.command(ctx, "bootstrap", "--email", "peers@example.com", "--with-api-key", "--format", "json").Output()
	if err != nil {
		return "", fmt.Errorf("convoy bootstrap: %w\n%s", err, out)
	}
	var made struct {
		Organisation string `json:"organisation_id"`
		Key          string `json:"api_key"`
	}
	err = json.Unmarshal(out, &made)
	c.key = made.Key
	return made.Organisation, err
}

// post creates something, and returns the data of the answer.
func (c *convoy) post(ctx context.Context, path string, body any) (data map[string]any, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	answer, err := request(ctx, http.MethodPost, "http://"+address(c.api)+"/api/v1"+path, c.key, raw)
	if err != nil {
		return nil, err
	}
	var got struct {
		Data map[string]any `json:"data"`
	}
	err = json.Unmarshal(answer, &got)
	return got.Data, err
}

// subscribeAll creates an incoming project with two sources: one for an endpoint, one for many.
func (c *convoy) subscribeAll(ctx context.Context, organisation string) error {
	project, err := c.post(ctx, "/projects?orgID="+organisation, map[string]any{
		"name": "peers", "type": "incoming", "config": map[string]any{
			"max_payload_read_size": 1 << 20,
			"ssl":                   map[string]any{"enforce_secure_endpoints": false},
			"ratelimit":             map[string]any{"count": unlimited, "duration": 1},
			"strategy":              map[string]any{"type": "linear", "duration": 5, "retry_count": 10},
			"signature": map[string]any{"header": "X-Convoy-Signature", "versions": []any{
				map[string]any{"hash": "SHA256", "encoding": "hex"},
			}},
		},
	})
	if err != nil {
		return err
	}
	made, _ := project["project"].(map[string]any)
	c.project = fmt.Sprintf("/projects/%v", made["uid"])
	if c.one, err = c.subscribe(ctx, "one", 1); err != nil {
		return err
	}
	c.many, err = c.subscribe(ctx, "many", manyEndpoints)
	return err
}

// subscribe creates a source with n endpoints, and returns its URL.
func (c *convoy) subscribe(ctx context.Context, name string, n int) (string, error) {
	source, err := c.post(ctx, c.project+"/sources", map[string]any{
		"name": name, "type": "http", "verifier": map[string]any{"type": "hmac", "hmac": map[string]any{
			"header": "X-Signature", "hash": "SHA256", "encoding": "hex", "secret": lab.Secret,
		}},
	})
	if err != nil {
		return "", err
	}
	for i := range n {
		label := fmt.Sprintf("%s-%d", name, i)
		endpoint, err := c.post(ctx, c.project+"/endpoints", map[string]any{
			"name": label, "url": c.arrivals.endpointURL(label), "secret": lab.Secret, "http_timeout": 10,
		})
		if err != nil {
			return "", err
		}
		_, err = c.post(ctx, c.project+"/subscriptions", map[string]any{
			"name": label, "source_id": source["uid"], "endpoint_id": endpoint["uid"],
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("http://%s/ingest/%v", address(c.api), source["mask_id"]), nil
}

func (c *convoy) startRedis(ctx context.Context) error {
	redis, err := c.redis(ctx, "redis-convoy", c.redisPort)
	if err == nil {
		c.servers = []*server{redis}
	}
	return err
}

func (c *convoy) startServers(ctx context.Context) error {
	for _, p := range []program{{name: "convoy-server", port: c.api}, {name: "convoy-agent", port: c.agent}} {
		role := map[string]string{"convoy-server": "server", "convoy-agent": "agent"}[p.name]
		p.label, p.ready = "Convoy", page("http://"+address(p.port)+"/healthz")
		p.command = func() *exec.Cmd { return c.command(context.Background(), role) }
		s, err := c.host.start(ctx, p)
		if err != nil {
			return err
		}
		c.servers = append(c.servers, s)
	}
	return nil
}

func (c *convoy) start(ctx context.Context) error {
	if err := c.startRedis(ctx); err != nil {
		return err
	}
	return c.startServers(ctx)
}

func (c *convoy) stop() error {
	err := stopAll(c.servers)
	c.servers = nil
	return err
}

func (c *convoy) processes() []int { return pidsOf(c.servers) }

func (c *convoy) recover(ctx context.Context) error { return awaitAll(ctx, c.servers) }
