package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"

	"holdfast/bench/lab"
	"holdfast/internal/devstack/child"
)

// The tenants of Outpost: one with one endpoint, one with many.
const (
	outpostOne  = "one"
	outpostMany = "many"
)

// outpost is Outpost with Redis, RabbitMQ and a log in PostgreSQL.
type outpost struct {
	*host
	built    programs
	lab      *lab.Lab
	arrivals *arrivals

	api, redisPort int
	rabbit         rabbit
	servers        []*server
}

func newOutpost(h *host, p programs, l *lab.Lab, a *arrivals) (*outpost, error) {
	ports, err := freePorts(5)
	if err != nil {
		return nil, err
	}
	return &outpost{
		host: h, built: p, lab: l, arrivals: a,
		api: ports[0], redisPort: ports[1], rabbit: rabbit{ports[2], ports[3], ports[4]},
	}, nil
}

func (*outpost) name() string { return "Outpost" }

func (o *outpost) sides() []side {
	url := o.url("/publish")
	return []side{{
		name: "Outpost", one: target{providerOutpost + "-" + outpostOne, url}, many: target{providerOutpost + "-" + outpostMany, url},
		events: 6000, fanned: 80,
		ack: "confirmed by a RabbitMQ quorum queue of one node; the key for duplicates in Redis (`everysec`)",
	}}
}

func (o *outpost) url(path string) string { return "http://" + address(o.api) + "/api/v1" + path }

// environ has the settings. The limits of concurrency are far above the defaults of 1.
func (o *outpost) environ() []string {
	return append(child.EnvironWithout("REDIS_", "RABBITMQ_", "POSTGRES_", "OTEL_"),
		"API_PORT="+strconv.Itoa(o.api), "API_KEY="+lab.Secret, "API_JWT_SECRET="+lab.Secret,
		"AES_ENCRYPTION_SECRET=0123456789abcdef0123456789abcdef", "TOPICS="+eventType, "GIN_MODE=release", "LOG_LEVEL=error",
		"REDIS_HOST="+child.Loopback, "REDIS_PORT="+strconv.Itoa(o.redisPort), "REDIS_PASSWORD=", "REDIS_DATABASE=0",
		"RABBITMQ_SERVER_URL=amqp://guest:guest@"+address(o.rabbit.clients), "POSTGRES_URL="+o.lab.Postgres.URL("outpost"),
		"PUBLISH_MAX_CONCURRENCY=100", "DELIVERY_MAX_CONCURRENCY=100", "LOG_MAX_CONCURRENCY=100",
		"MAX_DESTINATIONS_PER_TENANT=1000", "DISABLE_TELEMETRY=true",
	)
}

func (o *outpost) prepare(ctx context.Context) error {
	if err := o.lab.Postgres.CreateDatabase(ctx, "outpost"); err != nil {
		return err
	}
	if err := o.startStores(ctx); err != nil {
		return err
	}
	migrate := exec.CommandContext(ctx, o.built.outpost, "migrate", "apply", "--yes")
	migrate.Env = o.environ()
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("outpost migrate: %w\n%s", err, out)
	}
	if err := o.startServer(ctx); err != nil {
		return err
	}
	return errors.Join(o.subscribe(ctx, outpostOne, 1), o.subscribe(ctx, outpostMany, manyEndpoints))
}

// subscribe creates a tenant with n endpoints.
func (o *outpost) subscribe(ctx context.Context, tenant string, n int) error {
	if _, err := request(ctx, http.MethodPut, o.url("/tenants/"+tenant), lab.Secret, nil); err != nil {
		return err
	}
	for i := range n {
		body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // it has no value that can't be encoded
			"type": "webhook", "topics": []string{eventType},
			"config": map[string]string{"url": o.arrivals.endpointURL(fmt.Sprintf("%s-%d", tenant, i))},
		})
		if _, err := request(ctx, http.MethodPost, o.url("/tenants/"+tenant+"/destinations"), lab.Secret, body); err != nil {
			return err
		}
	}
	return nil
}

func (o *outpost) startStores(ctx context.Context) error {
	redis, err := o.redis(ctx, "redis-outpost", o.redisPort)
	if err != nil {
		return err
	}
	o.servers = []*server{redis}
	brokers, err := o.rabbitMQ(ctx, o.rabbit)
	o.servers = append(o.servers, brokers...)
	return err
}

func (o *outpost) startServer(ctx context.Context) error {
	s, err := o.host.start(ctx, program{
		name: "outpost", label: "Outpost", port: o.api,
		command: func() *exec.Cmd {
			cmd := exec.CommandContext(context.Background(), o.built.outpostServer)
			cmd.Env = o.environ()
			return cmd
		},
		ready: page("http://" + address(o.api) + "/healthz"),
	})
	if err == nil {
		o.servers = append(o.servers, s)
	}
	return err
}

func (o *outpost) start(ctx context.Context) error {
	if err := o.startStores(ctx); err != nil {
		return err
	}
	return o.startServer(ctx)
}

func (o *outpost) stop() error {
	err := stopAll(o.servers)
	o.servers = nil
	return err
}

func (o *outpost) processes() []int { return pidsOf(o.servers) }

func (o *outpost) recover(ctx context.Context) error { return awaitAll(ctx, o.servers) }
