// Package temporalserver runs a Temporal server on PostgreSQL, as in production, for tests and benchmarks.
package temporalserver

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/internal/devstack"
	"holdfast/internal/devstack/child"
)

// The databases of a Temporal server on PostgreSQL.
const (
	temporalDatabase   = "temporal"
	visibilityDatabase = "temporal_visibility"
)

// Options configure a Temporal server on PostgreSQL.
type Options struct {
	// Bin is the directory with temporal-server and temporal-sql-tool (`make server`).
	Bin string
	// Dir holds the server's log and its configuration. It is created if missing.
	Dir string
	// Store is the URL of any database on a PostgreSQL whose user may create databases.
	Store string
	// Shards of the history; 0 means 128. They can't be changed later.
	Shards int
	// DynamicConfig is a file such as deploy/temporal/dynamicconfig.yaml; "" keeps the server's defaults.
	DynamicConfig string
	// Port of the frontend on 127.0.0.1; 0 picks a free one.
	Port int
	// Namespace and SearchAttributes are as in [devstack.TemporalOptions].
	Namespace        string
	SearchAttributes map[string]string
	// Environ adds variables to the server's environment, such as GOGC=200.
	Environ []string
	// Log receives restarts; nil means slog.Default(). The server's own log is Dir/temporal.log.
	Log *slog.Logger
}

// Server is a running Temporal server on PostgreSQL.
type Server struct {
	options Options
	child   *child.Supervisor
}

//go:embed config.yaml
var configTemplate string

// Start migrates the databases, starts the server and returns when its namespace can be used. The context bounds the start only.
func Start(ctx context.Context, opts Options) (*Server, error) {
	t, err := prepare(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("prepare the Temporal server: %w", err)
	}
	t.child = &child.Supervisor{
		Name:       "Temporal server",
		Command:    t.command,
		Ready:      t.ready,
		StopSignal: syscall.SIGTERM,
		Log:        t.options.Log,
		Port:       t.options.Port,
	}
	if err := t.child.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, child.LogTail(t.file("log")))
	}
	return t, nil
}

func prepare(ctx context.Context, opts Options) (*Server, error) {
	var err error
	if opts.Dir, err = child.MakeDir(opts.Dir, child.PrivateDir); err != nil {
		return nil, err
	}
	if opts.DynamicConfig != "" {
		if opts.DynamicConfig, err = filepath.Abs(opts.DynamicConfig); err != nil {
			return nil, err
		}
	}
	opts.Namespace = cmp.Or(opts.Namespace, "default")
	opts.Log = cmp.Or(opts.Log, slog.Default())
	opts.Shards = cmp.Or(opts.Shards, 128)
	if opts.Port == 0 {
		if opts.Port, err = child.FreePort(); err != nil {
			return nil, err
		}
	}
	t := &Server{options: opts}
	if err := t.ensureSchemas(ctx); err != nil {
		return nil, err
	}
	if err := t.writeConfig(); err != nil {
		return nil, err
	}
	return t, nil
}

// ensureSchemas creates missing databases and migrates them to the version of the tools.
func (t *Server) ensureSchemas(ctx context.Context) error {
	for database, schema := range map[string]string{temporalDatabase: "temporal", visibilityDatabase: "visibility"} {
		steps := [][]string{
			{"create"}, {"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", "postgresql/v12/" + schema},
		}
		for _, step := range steps {
			if err := t.runSQLTool(ctx, database, step...); err != nil {
				return err
			}
		}
	}
	return nil
}

// runSQLTool passes the password in the environment, since every user of the machine can read arguments.
func (t *Server) runSQLTool(ctx context.Context, database string, args ...string) error {
	store, err := t.store()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(store.Host)
	if err != nil {
		return err
	}
	all := append([]string{"--plugin", "postgres12_pgx", "--ep", host, "-p", port, "-u", store.User, "--db", database}, args...)
	tool := exec.CommandContext(ctx, filepath.Join(t.options.Bin, "temporal-sql-tool"), all...)
	tool.Env = append(child.EnvironWithout("TEMPORAL_", "SQL_"), "SQL_PASSWORD="+store.Password)
	if out, err := tool.CombinedOutput(); err != nil {
		return fmt.Errorf("temporal-sql-tool %s of %s: %w\n%s", args[0], database, err, out)
	}
	return nil
}

// temporalStore is the server's connection to its PostgreSQL.
type temporalStore struct{ Host, User, Password string }

func (t *Server) store() (temporalStore, error) {
	u, err := url.Parse(t.options.Store)
	if err != nil {
		return temporalStore{}, errors.New("the URL of the store cannot be read") // its text contains the password
	}
	password, _ := u.User.Password()
	return temporalStore{Host: u.Host, User: u.User.Username(), Password: password}, nil
}

// service is one of the four services in the process.
type service struct {
	Name                 string
	Port, MembershipPort int
}

func (t *Server) writeConfig() error {
	store, err := t.store()
	if err != nil {
		return err
	}
	services, err := t.services()
	if err != nil {
		return err
	}
	var config bytes.Buffer
	functions := template.FuncMap{"env": t.env}
	err = template.Must(template.New("").Funcs(functions).Parse(configTemplate)).Execute(&config, struct {
		Options
		Address, Database, Visibility string
		Store                         temporalStore
		Services                      []service
	}{t.options, t.Address(), temporalDatabase, visibilityDatabase, store, services})
	if err != nil {
		return err
	}
	return os.WriteFile(t.file("yaml"), config.Bytes(), 0o600)
}

// env returns the value of a variable in Environ, or the given default, as the template of the server's image does.
func (t *Server) env(name, value string) string {
	for _, variable := range t.options.Environ {
		if set, ok := strings.CutPrefix(variable, name+"="); ok {
			value = set
		}
	}
	return value
}

func (t *Server) services() ([]service, error) {
	all := []service{{Name: "frontend", Port: t.options.Port}, {Name: "history"}, {Name: "matching"}, {Name: "worker"}}
	for i := range all {
		for _, port := range []*int{&all[i].Port, &all[i].MembershipPort} {
			if *port != 0 {
				continue
			}
			free, err := child.FreePort()
			if err != nil {
				return nil, err
			}
			*port = free
		}
	}
	return all, nil
}

// command uses flags that 1.32 calls deprecated, since 1.29 has no --config-file.
func (t *Server) command() *exec.Cmd {
	cmd := exec.Command(filepath.Join(t.options.Bin, "temporal-server"),
		"--root", t.options.Dir, "--config", ".", "--env", "temporal", "--allow-no-auth", "start")
	cmd.Env = append(child.EnvironWithout("TEMPORAL_"), t.options.Environ...)
	child.LogTo(cmd, t.file("log"))
	child.Prepare(cmd, syscall.SIGTERM, nil)
	return cmd
}

// Address returns the frontend's host:port.
func (t *Server) Address() string {
	return net.JoinHostPort(child.Loopback, strconv.Itoa(t.options.Port))
}

// Dir returns the directory of the server's log and its configuration.
func (t *Server) Dir() string { return t.options.Dir }

// Port returns the frontend's port on 127.0.0.1; it stays the same over restarts.
func (t *Server) Port() int { return t.options.Port }

// Namespace returns the namespace that the server was started with.
func (t *Server) Namespace() string { return t.options.Namespace }

// PID returns the process ID of the running server.
func (t *Server) PID() int { return t.child.PID() }

// Ping returns nil if the server is healthy and its namespace answers.
func (t *Server) Ping(ctx context.Context) error { return t.namespace().Ping(ctx) }

// Stop stops the server. If the context ends first, it kills the server and returns an error.
func (t *Server) Stop(ctx context.Context) error { return t.child.Stop(ctx) }

// Kill permanently ends the server with SIGKILL.
func (t *Server) Kill() {
	t.child.Kill()
	<-t.child.Done()
}

// SearchColumns returns the columns of the visibility table that hold the namespace's search attributes: Temporal picks any.
func (t *Server) SearchColumns(ctx context.Context) ([]string, error) {
	c, err := client.NewNamespaceClient(client.Options{HostPort: t.Address()})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	described, err := c.Describe(ctx, t.options.Namespace)
	if err != nil {
		return nil, fmt.Errorf("describe namespace %s: %w", t.options.Namespace, err)
	}
	return slices.Sorted(maps.Keys(described.GetConfig().GetCustomSearchAttributeAliases())), nil
}

func (t *Server) namespace() devstack.Namespace {
	return devstack.Namespace{Address: t.Address(), Name: t.options.Namespace, SearchAttributes: t.options.SearchAttributes}
}

// ready registers a missing namespace, which a dev server does itself.
func (t *Server) ready(ctx context.Context) error {
	err := t.namespace().Ready(ctx)
	var missing *serviceerror.NamespaceNotFound
	if !errors.As(err, &missing) {
		return err
	}
	c, dialErr := client.NewNamespaceClient(client.Options{HostPort: t.Address()})
	if dialErr != nil {
		return dialErr
	}
	defer c.Close()
	return errors.Join(err, c.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: t.options.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(devstack.Retention),
	}))
}

func (t *Server) file(extension string) string {
	return filepath.Join(t.options.Dir, "temporal."+extension)
}
