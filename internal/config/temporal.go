package config

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"holdfast/internal/payloadcodec"
)

// defaultTemporalAddress is where a Temporal server of its own listens.
const defaultTemporalAddress = "127.0.0.1:7233"

// TemporalOptions are the options of the Temporal client as the TEMPORAL_* variables say: address, namespace, TLS, API
// key, headers; and the converters that encrypt what it sends. A file of profiles is read only where TEMPORAL_CONFIG_FILE or
// TEMPORAL_PROFILE asks for it, so that a profile in the home directory of whoever starts Holdfast cannot send events to
// another cluster.
func (c Config) TemporalOptions() (client.Options, error) {
	options, err := c.givenTemporalOptions()
	if err != nil {
		return client.Options{}, err
	}
	if options.HostPort == "" {
		options.HostPort = defaultTemporalAddress
	}
	if options.Namespace == "" {
		options.Namespace = c.Temporal.Namespace
	}
	codec := c.PayloadCodec()
	options.DataConverter, options.FailureConverter = codec.DataConverter(), codec.FailureConverter()
	return options, nil
}

// TemporalCertificateEnd is until when the client certificate is valid that is shown to Temporal; the zero time where
// there is none.
func (c Config) TemporalCertificateEnd() (time.Time, error) {
	options, err := c.givenTemporalOptions()
	if err != nil || options.ConnectionOptions.TLS == nil {
		return time.Time{}, err
	}
	var end time.Time
	for _, certificate := range options.ConnectionOptions.TLS.Certificates {
		if leaf := certificate.Leaf; leaf != nil && (end.IsZero() || leaf.NotAfter.Before(end)) {
			end = leaf.NotAfter
		}
	}
	return end, nil
}

// TemporalConfigFile is the file of profiles that TEMPORAL_CONFIG_FILE names, wherever that is set; "" is where Temporal's own
// tools look.
func (c Config) TemporalConfigFile() string { return c.environ()["TEMPORAL_CONFIG_FILE"] }

// PayloadCodec encrypts with the payload keys; without any it leaves payloads in clear, and still knows what is encrypted.
func (c Config) PayloadCodec() *payloadcodec.Codec {
	keys, err := payloadcodec.ParseKeys(c.Payloads.Keys.Reveal())
	if err != nil {
		panic(err) // it was read when the configuration was loaded
	}
	return payloadcodec.New(keys)
}

// givenTemporalOptions has no defaults of ours in it.
func (c Config) givenTemporalOptions() (client.Options, error) {
	vars := c.environ()
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{
		DisableFile: vars["TEMPORAL_CONFIG_FILE"] == "" && vars["TEMPORAL_PROFILE"] == "",
		EnvLookup:   vars,
	})
	if err != nil {
		return client.Options{}, fmt.Errorf("read the TEMPORAL_* variables: %w", err)
	}
	return options, nil
}

// readTemporal takes over what a profile says, so that the section shows what is used.
func (m *mistakes) readTemporal(c *Config) {
	options, err := c.givenTemporalOptions()
	if err != nil {
		*m = append(*m, err)
		return
	}
	c.Temporal.Address = options.HostPort
	if options.Namespace != "" {
		c.Temporal.Namespace = options.Namespace
	}
}
