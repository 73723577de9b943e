package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/internal/stores"
	"holdfast/persistence"
)

// The names of the samples, each of a destination and its subscription to all events.
const (
	sampleHTTP     = "sample-http"
	sampleWorkflow = "sample-workflow"
	sampleQueue    = "sample"
	sampleType     = "SampleFollowUp"
)

// samples are a destination of each kind, an endpoint and a worker, so that developers who try Holdfast see deliveries arrive.
type samples struct {
	url    string
	server *http.Server
	worker worker.Worker
	close  func()
}

// startSamples starts the samples and subscribes them the first time only: deleted ones stay deleted.
func startSamples(ctx context.Context, dir string, cfg config.Config) (*samples, error) {
	secret, err := devSecret(filepath.Join(dir, "sample-secret"))
	if err != nil {
		return nil, err
	}
	s := &samples{}
	if err := s.serve(secret); err != nil {
		return nil, err
	}
	if err := s.work(cfg); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if err := s.subscribe(ctx, dir, secret, cfg); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *samples) serve(secret string) error {
	sink, err := newSink(secret)
	if err != nil {
		return fmt.Errorf("read secret of the sample endpoint: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the sample endpoint: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: sink, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // ends with stop
	return nil
}

// SampleFollowUp is the workflow that the samples start for each event.
func SampleFollowUp(_ workflow.Context, envelope map[string]any) (string, error) {
	return fmt.Sprintf("followed up on %v %v", envelope["provider"], envelope["type"]), nil
}

func (s *samples) work(cfg config.Config) error {
	client, err := stores.NewTemporalClient(cfg, nil, nil)
	if err != nil {
		return err
	}
	s.worker = worker.New(client, sampleQueue, worker.Options{})
	s.worker.RegisterWorkflowWithOptions(SampleFollowUp, workflow.RegisterOptions{Name: sampleType})
	s.close = func() { s.worker.Stop(); client.Close() }
	if err := s.worker.Start(); err != nil {
		client.Close()
		s.close = nil
		return fmt.Errorf("start the sample worker: %w", err)
	}
	return nil
}

// subscribe creates the destinations and subscriptions. The endpoint has a new address at each start.
func (s *samples) subscribe(ctx context.Context, dir, secret string, cfg config.Config) error {
	store, err := stores.OpenStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	made := filepath.Join(dir, "samples-made")
	_, err = os.Stat(made)
	first := errors.Is(err, fs.ErrNotExist)
	if err != nil && !first {
		return err
	}
	for _, sample := range s.all() {
		if err := sample.apply(ctx, store, secret, first); err != nil {
			return fmt.Errorf("subscribe %s: %w", sample.destination.Name, err)
		}
	}
	if !first {
		return nil
	}
	return os.WriteFile(made, []byte("The samples were made; what of them is deleted stays so.\n"), 0o600)
}

// all returns the samples. An event's workflow is never started twice.
func (s *samples) all() []sample {
	return []sample{{
		delivery.Destination{Name: sampleHTTP, HTTP: &delivery.HTTP{URL: s.url}},
		delivery.Subscription{Name: sampleHTTP, To: sampleHTTP, Active: true},
	}, {
		delivery.Destination{Name: sampleWorkflow, Temporal: &delivery.Temporal{TaskQueue: sampleQueue}},
		delivery.Subscription{Name: sampleWorkflow, To: sampleWorkflow, Active: true, Start: &delivery.Start{
			WorkflowID: `"sample:" + .event.id`, Type: sampleType, Input: []delivery.JQ{"envelope"},
		}},
	}}
}

type sample struct {
	destination  delivery.Destination
	subscription delivery.Subscription
}

func (s sample) apply(ctx context.Context, store *persistence.Store, secret string, first bool) error {
	actor := oversight.Actor{Name: "holdfast dev"}
	var secrets []delivery.Secret
	if s.destination.HTTP != nil {
		secrets = []delivery.Secret{{Value: secret}}
	}
	if !first {
		if _, err := store.Subscriptions.Destination(ctx, s.destination.Name); err != nil {
			if errors.Is(err, event.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	if _, err := store.Subscriptions.ApplyDestination(ctx, s.destination, secrets, actor); err != nil || !first {
		return err
	}
	_, err := store.Subscriptions.ApplySubscription(ctx, s.subscription, actor)
	return err
}

func (s *samples) stop() error {
	if s.close != nil {
		s.close()
	}
	return s.server.Close()
}
