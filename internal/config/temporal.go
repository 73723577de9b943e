package config

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"holdfast/internal/payloadcodec"
)

// defaultTemporalAddress is the default address of a local Temporal server.
const defaultTemporalAddress = "127.0.0.1:7233"

// TemporalOptions returns the options of the Temporal client from the TEMPORAL_* variables: address, namespace, TLS, API key,
// headers; and the converters that encrypt payloads. A profile file is read only if TEMPORAL_CONFIG_FILE or TEMPORAL_PROFILE is
// set, so that a profile in the home directory of the user who starts Holdfast can't send events to another cluster.
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

// TemporalCertificateEnd returns when the client certificate for Temporal expires, or zero without one.
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

// TemporalConfigFile returns the profile file that TEMPORAL_CONFIG_FILE names; "" is the default of Temporal's tools.
func (c Config) TemporalConfigFile() string { return c.environ()["TEMPORAL_CONFIG_FILE"] }

// PayloadCodec encrypts with the payload keys; without keys it leaves payloads in clear, but still detects encrypted ones.
func (c Config) PayloadCodec() *payloadcodec.Codec {
	keys, err := payloadcodec.ParseKeys(c.Payloads.Keys.Reveal())
	if err != nil {
		panic(err) // it was validated at load
	}
	return payloadcodec.New(keys)
}

// givenTemporalOptions excludes our defaults.
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

// readTemporal copies the values of a profile into the section, so that it shows what is used.
func (m *problems) readTemporal(c *Config) {
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
