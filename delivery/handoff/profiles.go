package handoff

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
)

// link is a connection to a namespace.
type link struct {
	profile   string
	namespace string
	service   workflowservice.WorkflowServiceClient
	operator  operatorservice.OperatorServiceClient
	// codec is nil if the profile has none.
	codec *envconfig.ClientConfigCodec
	close func()
	// compared is the last comparison with Holdfast's own namespace.
	compared atomic.Pointer[comparison]
}

// profiles caches the link of each profile. Links are created on first use.
type profiles struct {
	options Options
	mu      sync.Mutex
	made    map[string]*link
}

func newProfiles(o Options) *profiles {
	all := &profiles{options: o, made: map[string]*link{}}
	if o.Logger == nil {
		all.options.Logger = discard
	}
	if o.Client != nil {
		all.made[""] = &link{
			namespace: o.Namespace, service: o.Client.WorkflowService(), operator: o.Client.OperatorService(), close: func() {},
		}
	}
	return all
}

// of returns the link of a profile in the TEMPORAL_CONFIG_FILE. TEMPORAL_* variables don't override it: they configure Holdfast's
// own Temporal.
func (all *profiles) of(name string) (*link, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if made, ok := all.made[name]; ok {
		return made, nil
	}
	if name == "" {
		return nil, errors.New("this process isn't connected to Holdfast's own Temporal")
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: all.options.ConfigFile, ConfigFileProfile: name, DisableEnv: true,
	})
	if err != nil {
		return nil, fmt.Errorf("can't read profile %q from the TEMPORAL_CONFIG_FILE", name)
	}
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return nil, fmt.Errorf("can't use profile %q: a certificate or its key is missing or invalid", name)
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.Logger = all.options.Logger
	options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, PlainHeaders())
	c, err := client.NewLazyClient(options)
	if err != nil {
		return nil, fmt.Errorf("can't use profile %q", name)
	}
	made := &link{
		profile: name, namespace: options.Namespace, service: c.WorkflowService(), operator: c.OperatorService(),
		codec: profile.Codec, close: c.Close,
	}
	all.made[name] = made
	return made, nil
}

func (all *profiles) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, made := range all.made {
		made.close()
	}
	all.made = map[string]*link{}
}

// encode runs the payloads through the profile's codec, all in one request.
func (t *link) encode(ctx context.Context, o *request) error {
	if t.codec == nil || t.codec.Endpoint == "" {
		return nil
	}
	plain := o.payloads()
	encoded, err := t.remote(ctx).Encode(plain)
	if err != nil {
		return err
	}
	for i, p := range plain {
		p.Metadata, p.Data = encoded[i].GetMetadata(), encoded[i].GetData()
	}
	return nil
}

// remote calls the codec's endpoint the way the temporal CLI does.
func (t *link) remote(ctx context.Context) converter.PayloadCodec {
	endpoint := strings.ReplaceAll(strings.TrimSuffix(t.codec.Endpoint, "/"), "{namespace}", t.namespace)
	return converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: endpoint,
		ModifyRequest: func(r *http.Request) error {
			*r = *r.WithContext(ctx)
			r.Header.Set("X-Namespace", t.namespace)
			if t.codec.Auth != "" {
				r.Header.Set("Authorization", t.codec.Auth)
			}
			return nil
		},
	})
}

var discard = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
