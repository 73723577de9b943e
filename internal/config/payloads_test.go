package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"

	"holdfast/internal/config"
	"holdfast/internal/payloadcodec"
)

// The client gets the keys, from the variable or from a file with one per line; errors in them are reported at load and reveal
// nothing of the keys.
func TestPayloadKeysAreReadAtLoad(t *testing.T) {
	t.Parallel()
	entries := make([]string, 2)
	for i, id := range []string{"young", "old"} {
		key, err := payloadcodec.NewKey(id)
		require.NoError(t, err)
		entries[i] = key.Entry()
	}
	for _, environ := range []string{
		"HOLDFAST_PAYLOAD_KEYS=" + strings.Join(entries, ","),
		"HOLDFAST_PAYLOAD_KEYS_FILE=" + file(t, strings.Join(entries, "\n")+"\n"),
	} {
		cfg, err := config.LoadFrom([]string{environ})
		require.NoError(t, err)
		require.NotContains(t, cfg.String(), entries[0])
		options, err := cfg.TemporalOptions()
		require.NoError(t, err)
		payload, err := options.DataConverter.ToPayload("text")
		require.NoError(t, err)
		require.Equal(t, "young", string(payload.GetMetadata()[payloadcodec.MetadataKeyID]))
		_, err = cfg.PayloadCodec().Decode([]*commonpb.Payload{payload})
		require.NoError(t, err)
	}

	cfg, err := config.LoadFrom(nil)
	require.NoError(t, err)
	require.False(t, cfg.PayloadCodec().Encrypts())
	for _, wrong := range []string{canary, "a:" + canary, canary + ":" + entries[0], entries[0] + "," + entries[0], ","} {
		_, err := config.LoadFrom([]string{"HOLDFAST_PAYLOAD_KEYS=" + wrong})
		require.ErrorContains(t, err, "HOLDFAST_PAYLOAD_KEYS cannot be read: ")
		require.NotContains(t, err.Error(), canary)
		require.NotContains(t, err.Error(), entries[0])
	}
}

func TestOriginsAreSchemeAndHost(t *testing.T) {
	t.Parallel()
	cfg, err := config.LoadFrom([]string{"HOLDFAST_OPERATOR_TEMPORAL_WEB=https://Temporal.example.com, http://127.0.0.1:8233"})
	require.NoError(t, err)
	require.Equal(t, config.OriginList{"https://temporal.example.com", "http://127.0.0.1:8233"}, cfg.Operator.TemporalWeb)
	for _, wrong := range []string{"*", "temporal.example.com", "https://a/", "https://a/ui", "https://u:p@a", "ftp://a", "https://"} {
		_, err := config.LoadFrom([]string{"HOLDFAST_OPERATOR_TEMPORAL_WEB=" + wrong})
		require.ErrorContains(t, err, "HOLDFAST_OPERATOR_TEMPORAL_WEB", wrong)
	}
}
