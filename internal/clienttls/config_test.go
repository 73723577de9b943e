package clienttls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/clienttls"
	"holdfast/internal/devstack/brokertest"
)

// What can't be used is named, and nothing of it is shown. Endpoints and queues have more such tests, of real connections.
func TestWhatCanNotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	certificate, key := brokertest.Certificate(t)
	_, other := brokertest.Certificate(t)
	part := func(name, text string) clienttls.Part { return clienttls.Part{Name: name, Text: []byte(text)} }
	none := clienttls.Part{}
	for want, parts := range map[string][3]clienttls.Part{
		"CA contains no certificate in PEM":                 {part("CA", ""), none, none},
		"CERTIFICATE contains no usable certificate":        {none, part("CERTIFICATE", "hidden"), part("KEY", key)},
		"KEY contains no usable private key":                {none, part("CERTIFICATE", certificate), part("KEY", "hidden")},
		"CERTIFICATE and KEY don't belong together":         {none, part("CERTIFICATE", certificate), part("KEY", other)},
		"certificate contains no usable certificate":        {none, clienttls.Part{Name: "certificate"}, part("KEY", key)},
		"CERTIFICATE contains no usable certificate in PEM": {none, part("CERTIFICATE", key), none},
	} {
		_, err := clienttls.Config(parts[0], parts[1], parts[2])
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hidden")
	}
	config, err := clienttls.Config(part("CA", certificate), part("CERTIFICATE", certificate), part("KEY", key))
	require.NoError(t, err)
	require.NotNil(t, config.RootCAs)
	require.Len(t, config.Certificates, 1)
	config, err = clienttls.Config(none, part("CERTIFICATE", certificate), none)
	require.NoError(t, err)
	require.Empty(t, config.Certificates, "a certificate without a key is only checked")
}
