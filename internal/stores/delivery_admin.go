package stores

import (
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/handoff"
	"holdfast/delivery/queue"
	"holdfast/delivery/webhook"
	"holdfast/internal/buildinfo"
	"holdfast/internal/config"
	"holdfast/internal/telemetry"
	"holdfast/persistence"
	"holdfast/workflows"
)

// DeliveryAdmin serves operators' actions on deliveries.
type DeliveryAdmin struct {
	*admin.Service

	Trials *admin.Trials

	temporal *handoff.Sender
	queues   *queue.Sender
}

// NewDeliveryAdmin returns a DeliveryAdmin. The process that calls it makes trials, not a worker.
func NewDeliveryAdmin(cfg config.Config, store *persistence.Store, temporal client.Client, samples admin.Samples) *DeliveryAdmin {
	reserved := Reserved(samples.Names)
	taskQueues := handoff.NewSender(handoff.Options{
		Client: temporal, Namespace: cfg.Temporal.Namespace, ConfigFile: cfg.TemporalConfigFile(),
		Reserved: reserved, Logger: telemetry.TemporalLogger(slog.Default()),
	})
	routes := Routes(cfg)
	options := webhook.SenderOptions{
		AllowedNetworks: cfg.Deliveries.AllowedNetworks, Certificates: cfg.Deliveries.Certificates, Routes: routes,
		Version: buildinfo.Read().Version,
	}
	endpoints, queues := webhook.NewSender(options), queue.NewSender(webhook.NewNetwork(options))
	return &DeliveryAdmin{
		Service: &admin.Service{
			Store: store.Subscriptions, NewSecret: webhook.NewSecret, CheckSignature: webhook.CheckSignature,
			CheckAddress:   webhook.CheckAddress(cfg.Deliveries.AllowedNetworks),
			CheckFiles:     webhook.CheckFiles(cfg.Deliveries.Certificates),
			CertificateEnd: CertificateEnd(cfg),
			Proxies:        routes.Proxies.Names(),
			Providers:      samples.Names, Reserved: reserved.Conflicts,
		},
		Trials: &admin.Trials{
			Store: store.TrialView(), HTTP: endpoints, Temporal: taskQueues, Queues: queues, Samples: samples, Look: taskQueues.Check,
			LookAtQueue: queues.Check,
		},
		temporal: taskQueues, queues: queues,
	}
}

// CertificateEnd is webhook.CertificateEnd for the configured folder.
func CertificateEnd(cfg config.Config) func(delivery.HTTP) (time.Time, bool) {
	return webhook.CertificateEnd(cfg.Deliveries.Certificates)
}

// Routes returns the ways out of a process.
func Routes(cfg config.Config) webhook.Routes {
	list, standard := cfg.Proxies()
	return webhook.Routes{Proxies: list, Default: standard}
}

// Reserved returns the names that belong to Holdfast in its own namespace.
func Reserved(providers func() []string) handoff.Reserved {
	return handoff.Reserved{
		TaskQueues: workflows.AllQueues(), WorkflowTypes: workflows.Types(), IDPrefixes: workflows.IDPrefixes(), Providers: providers,
	}
}

// Close closes the connections to profiles' Temporals and to brokers.
func (d *DeliveryAdmin) Close() {
	d.temporal.Close()
	d.queues.Close()
}
