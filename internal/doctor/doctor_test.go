package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event/oversight"
	"holdfast/internal/config"
	"holdfast/internal/devstack/proxytest"
	"holdfast/persistence"
	"holdfast/providers"
)

// A credential for a provider's API is optional, but a half of one is a mistake.
func TestAPIsWithoutACredential(t *testing.T) {
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	examine := func() []oversight.Finding {
		cfg, err := config.Load()
		require.NoError(t, err)
		d := &doctor{cfg: cfg}
		d.examineAPIs(catalogue, []string{"okta"})
		return d.findings
	}
	require.Equal(t, resultOK, examine()[0].Result)
	t.Setenv("OKTA_DOMAIN", "acme.okta.com")
	half := examine()[0]
	require.Equal(t, resultWarn, half.Result)
	require.Contains(t, half.Detail, "recover is off: set OKTA_API_TOKEN for the workers")
	t.Setenv("OKTA_API_TOKEN", "token_of_tests_1")
	require.Empty(t, examine())
}

// A name in HOLDFAST_RECOVERY_REDELIVER that can't send events again is a mistake.
func TestNamesOfRedeliveryWithoutEffect(t *testing.T) {
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	t.Setenv("HOLDFAST_RECOVERY_REDELIVER", "github,stripe,githup")
	cfg, err := config.Load()
	require.NoError(t, err)
	d := &doctor{cfg: cfg}
	d.examineRedelivery(catalogue)
	require.Len(t, d.findings, 2)
	require.Equal(t, "redelivery by stripe", d.findings[0].Check)
	require.Equal(t, "redelivery by githup", d.findings[1].Check)
	require.Equal(t, resultWarn, d.findings[1].Result)
}

// A clock was read between two readings of ours: only a time outside of them is skew.
func TestSkewOfAClock(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_760_000_000, 0)
	end := begin.Add(4 * time.Second)
	for theirs, want := range map[time.Duration]oversight.CheckResult{
		0: resultOK, 4 * time.Second: resultOK, 5 * time.Second: resultOK, 6 * time.Second: resultWarn,
		-2 * time.Second: resultWarn, -time.Minute: resultFail, time.Minute: resultFail,
	} {
		d := &doctor{}
		d.examineClock("clock", begin.Add(theirs), begin, end)
		require.Equal(t, want, d.findings[0].Result, theirs)
		require.Equal(t, want != resultFail, newReport(d.findings).OK, theirs)
	}
}

// Unsent notifications are a failure of the channels only after these were tried: if the first channel has just been configured,
// older failures wait for the next round.
func TestUntoldFailures(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_760_000_000, 0)
	yesterday, justNow := now.Add(-24*time.Hour), now.Add(-time.Second)
	for name, c := range map[string]struct {
		untold int64
		since  *time.Time
		last   notifyResult
		want   oversight.CheckResult
	}{
		"nothing waits":                       {0, nil, notifyResult{Failures: 3, Error: "refused"}, resultOK},
		"the round comes":                     {3, &justNow, notifyResult{}, resultOK},
		"a channel was configured":            {3, &yesterday, notifyResult{}, resultWarn},
		"the last round told, more has come":  {3, &justNow, notifyResult{Failures: 9, Channels: 1}, resultOK},
		"no channel took it":                  {3, &justNow, notifyResult{Failures: 3, Error: "refused"}, resultFail},
		"no channel has taken it for a while": {3, &yesterday, notifyResult{Failures: 3, Error: "refused"}, resultFail},
	} {
		d := &doctor{}
		d.reportNotifications(persistence.Facts{Now: now, Untold: c.untold, UntoldSince: c.since}, c.last)
		require.Equal(t, c.want, d.findings[0].Result, name)
	}
}

// What a 2xx relies on: commits that are on disk, on the standby if one is named, and intact.
func TestDurability(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_760_000_000, 0)
	longAgo := now.AddDate(0, -1, 0)
	streaming := []persistence.Standby{{Name: "a", Behind: 5 << 20}, {Name: "b", Behind: 1}}
	synchronous := []persistence.Standby{{Name: "a"}, {Name: "b", IsSynchronous: true}}
	for name, c := range map[string]struct {
		facts  persistence.Durability
		commit string
		check  string
		want   oversight.CheckResult
	}{
		"on one machine":                  {persistence.Durability{}, "on", "synchronous_commit", resultOK},
		"not on disk":                     {persistence.Durability{}, "off", "synchronous_commit", resultFail},
		"on disk, no standby is named":    {persistence.Durability{}, "local", "synchronous_commit", resultOK},
		"not on the standby":              {persistence.Durability{StandbyNames: "a"}, "local", "synchronous_commit", resultFail},
		"no damage":                       {persistence.Durability{}, "on", "data checksums", resultOK},
		"damage now":                      {persistence.Durability{DamagedPages: 1, DamagedAt: &now}, "on", "data checksums", resultFail},
		"damage long ago":                 {persistence.Durability{DamagedPages: 1, DamagedAt: &longAgo}, "on", "data checksums", resultWarn},
		"no standby":                      {persistence.Durability{SeesStandbys: true}, "on", "standbys", ""},
		"a synchronous standby":           {persistence.Durability{StandbyNames: "b", Standbys: synchronous, SeesStandbys: true}, "on", "standbys", resultOK},
		"asynchronous standbys":           {persistence.Durability{Standbys: streaming, SeesStandbys: true}, "on", "standbys", resultWarn},
		"the synchronous standby is away": {persistence.Durability{StandbyNames: "c", Standbys: streaming, SeesStandbys: true}, "on", "standbys", resultFail},
		"the role can't see the standbys": {persistence.Durability{StandbyNames: "b"}, "on", "standbys", resultWarn},
	} {
		d := &doctor{}
		c.facts.Settings = map[string]string{
			"fsync": "on", "full_page_writes": "on", "data_checksums": "on", "synchronous_commit": c.commit,
		}
		d.examineDurability(persistence.Facts{Now: now, Durability: c.facts})
		var result oversight.CheckResult
		for _, f := range d.findings {
			if f.Check == c.check {
				result = f.Result
				require.Equal(t, f.Result == resultOK, f.Advice == "", name)
			}
		}
		require.Equal(t, c.want, result, name)
	}
}

// Each proxy is checked by connecting to it. Nothing of its URL is shown.
func TestProxiesAreReachable(t *testing.T) {
	up := proxytest.Tinyproxy(t, proxytest.Options{})
	t.Setenv("HOLDFAST_PROXIES", "up=http://u:hunter2@"+up.Address+",down=socks5://u:hunter2@127.0.0.1:1")
	t.Setenv("HOLDFAST_PROXY", "up")
	cfg, err := config.Load()
	require.NoError(t, err)
	d := &doctor{cfg: cfg}
	d.examineProxies(t.Context())
	require.Equal(t, []oversight.Finding{
		{Check: "proxy up", Result: resultOK, Detail: "accepts connections from this host; used by default"},
		{
			Check: "proxy down", Result: resultFail, Detail: "proxy down: connection refused: nothing listens at its address and port",
			Advice: "deliveries through it wait, and continue automatically once it works: start it, or correct its URL in HOLDFAST_PROXIES",
		},
	}, d.findings)
}

// A client certificate that expires within three weeks is a warning, and an expired one a failure. Files that this machine hasn't got
// aren't counted.
func TestClientCertificatesExpire(t *testing.T) {
	t.Parallel()
	now := time.Now()
	of := func(name string, left time.Duration) delivery.Destination {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(left)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		require.NoError(t, err)
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		return delivery.Destination{Name: name, HTTP: &delivery.HTTP{Certificate: string(text), Key: delivery.MaskedHeader}}
	}
	file := delivery.Destination{Name: "file", HTTP: &delivery.HTTP{Certificate: "a.pem", Key: "a.key"}}
	fine, soon, gone := of("fine", 1000*time.Hour), of("soon", 100*time.Hour), of("gone", -time.Minute)
	for name, c := range map[string]struct {
		all  []delivery.Destination
		want oversight.CheckResult
		says string
	}{
		"none":    {[]delivery.Destination{file, {Name: "queue"}}, "", ""},
		"fine":    {[]delivery.Destination{fine, file}, resultOK, "1, none expires within 21 days"},
		"soon":    {[]delivery.Destination{fine, soon}, resultWarn, "that of soon expires in 4 days"},
		"expired": {[]delivery.Destination{gone, soon}, resultFail, "that of gone expired on"},
	} {
		d := &doctor{}
		d.reportClientCertificates(c.all, now)
		if c.want == "" {
			require.Empty(t, d.findings, name)
			continue
		}
		require.Len(t, d.findings, 1, name)
		require.Equal(t, c.want, d.findings[0].Result, name)
		require.Contains(t, d.findings[0].Detail, c.says, name)
	}
}
