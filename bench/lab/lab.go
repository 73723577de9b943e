package lab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/internal/devstack"
	"holdfast/internal/devstack/temporalserver"
	"holdfast/workflows"
)

// The databases whose CPU time is reported separately.
const (
	ProductDatabase    = "holdfast"
	visibilityDatabase = "temporal_visibility"
	temporalDatabase   = "temporal"
)

// stopLimit bounds the stop of a server; after it, the server is killed.
const stopLimit = 30 * time.Second

// Options configure a lab.
type Options struct {
	// Dir is the lab's own directory; Close removes it.
	Dir string
	// Bin is the directory with holdfast, temporal-server and temporal-sql-tool.
	Bin     string
	Profile Profile
	// Definitions is the directory with the product's provider definitions.
	Definitions string
	// Secrets are the variables with the product's webhook secrets.
	Secrets []string
	// Debug makes the product serve profiles on loopback.
	Debug bool
	Log   *slog.Logger
}

// Lab is a running set of servers.
type Lab struct {
	Options

	Postgres *devstack.Postgres
	Temporal *temporalserver.Server
	Meter    *Meter
	sink     *sink
}

// Start starts the servers. If it fails, it stops those that it has started.
func Start(ctx context.Context, o Options) (l *Lab, err error) {
	l = &Lab{Options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.sink, err = startSink(); err != nil {
		return l, err
	}
	l.Postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(o.Dir, devstack.PostgresDir), Settings: o.Profile.settings(), Log: o.Log,
	})
	if err != nil {
		return l, err
	}
	if err := l.StartTemporal(ctx); err != nil {
		return l, err
	}
	if err := l.setUpVisibility(ctx); err != nil {
		return l, fmt.Errorf("set up the visibility database: %w", err)
	}
	l.Meter = newMeter(l.Postgres.PID())
	l.Meter.Track(LabelTemporal, l.Temporal.PID())
	l.Meter.Track(LabelLoad, os.Getpid())
	return l, nil
}

// setUpVisibility runs the profile's statements, which need the names of the columns with search attributes.
func (l *Lab) setUpVisibility(ctx context.Context) error {
	columns, err := l.Temporal.SearchColumns(ctx)
	if err != nil {
		return err
	}
	return l.Exec(ctx, visibilityDatabase, "SET holdfast.keep = '"+strings.Join(columns, ",")+"';\n"+l.Profile.Visibility)
}

// StartTemporal starts the Temporal server, on the same port as before if it ran before.
func (l *Lab) StartTemporal(ctx context.Context) error {
	options := temporalserver.Options{
		Bin: l.Bin, Dir: filepath.Join(l.Dir, devstack.TemporalDir), Store: l.Postgres.URL("postgres"),
		DynamicConfig: l.Profile.DynamicConfig, Environ: l.Profile.Environ, Shards: l.Profile.Shards,
		SearchAttributes: map[string]string{
			workflows.SearchProvider.GetName(): "Keyword", workflows.SearchEventType.GetName(): "Keyword",
		},
		Log: l.Log,
	}
	if l.Temporal != nil {
		options.Port = l.Temporal.Port()
	}
	server, err := temporalserver.Start(ctx, options)
	if err != nil {
		return err
	}
	l.Temporal = server
	if l.Meter != nil {
		l.Meter.Track(LabelTemporal, server.PID())
	}
	return nil
}

// StopTemporal stops the Temporal server.
func (l *Lab) StopTemporal() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return l.Temporal.Stop(ctx)
}

// Exec runs statements without parameters on a database.
func (l *Lab) Exec(ctx context.Context, database, statements string) error {
	conn, err := pgx.Connect(ctx, l.Postgres.URL(database))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return errors.Join(err, conn.Close(ctx))
}

// Close stops everything and removes the directory.
func (l *Lab) Close() error {
	var failures []error
	if l.Meter != nil {
		l.Meter.stop()
	}
	if l.Temporal != nil {
		failures = append(failures, l.StopTemporal())
	}
	if l.Postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		failures = append(failures, l.Postgres.Stop(ctx))
	}
	if l.sink != nil {
		failures = append(failures, l.sink.close())
	}
	return errors.Join(append(failures, os.RemoveAll(l.Dir))...)
}
