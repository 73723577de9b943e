package providers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/recovery"
)

// Each sample of an event without a state leads to one GET, and the answer that the provider documents to an entity with the
// version that the provider gives it.
func TestTheCatalogueFetchesStates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provider, sample string
		item             int
		url, answer      string
		kind, id, state  string
		version          int64 // 0: the request's
	}{
		"HubSpot's contact": {
			"hubspot", "contact.creation", 0, "https://api.hubapi.com/crm/v3/objects/contacts/5sample",
			`{"id":"5","properties":{"email":"ada@example.com","lastname":null},"createdAt":"2026-11-26T11:00:00.100Z","updatedAt":"2026-11-26T12:00:00.123Z","archived":false}`,
			"contact", "62515:5sample", `{"email":"ada@example.com","lastname":null}`, 1795694400123,
		},
		"HubSpot's company in the same batch": {
			"hubspot", "contact.creation", 1, "https://api.hubapi.com/crm/v3/objects/companies/6sample",
			`{"properties":{"name":"Acme"},"updatedAt":"2026-11-26T12:00:00Z"}`, "company", "62515:6sample", `{"name":"Acme"}`, 1795694400000,
		},
		"HubSpot's object by its type": {
			"hubspot", "object.creation", 0, "https://api.hubapi.com/crm/v3/objects/0-3/7sample",
			`{"properties":{"amount":"15"},"updatedAt":"2026-11-26T12:00:00.5Z"}`, "deal", "62515:7sample", `{"amount":"15"}`, 1795694400000,
		},
		"BigCommerce's order": {
			"bigcommerce", "store/order/created", 0, "https://api.bigcommerce.com/stores/sample/v2/orders/250",
			`{"id":250,"status_id":11,"total_inc_tax":"15.0000","date_modified":"Thu, 26 Nov 2026 12:00:00 +0000"}`,
			"order", "stores/sample:250",
			`{"id":250,"status_id":11,"total_inc_tax":"15.0000","date_modified":"Thu, 26 Nov 2026 12:00:00 +0000"}`, 1795694400,
		},
		"BigCommerce's product": {
			"bigcommerce", "store/product/updated", 0, "https://api.bigcommerce.com/stores/sample/v3/catalog/products/205",
			`{"data":{"id":205,"price":9.5,"date_modified":"2026-11-26T12:00:00+00:00"},"meta":{}}`,
			"product", "stores/sample:205", `{"id":205,"price":9.5,"date_modified":"2026-11-26T12:00:00+00:00"}`, 1795694400,
		},
		"Notion's page": {
			"notion", "page.properties_updated", 0, "https://api.notion.com/v1/pages/page-sample",
			`{"object":"page","id":"page-sample","last_edited_time":"2026-11-26T12:00:00.000Z","in_trash":false,"properties":{"Done":{"checkbox":true}}}`,
			"page", "page-sample", `{"object":"page","id":"page-sample","last_edited_time":"2026-11-26T12:00:00.000Z","in_trash":false,
			"deleted":false,"last_event":"page.properties_updated","properties":{"Done":{"checkbox":true}}}`, 0,
		},
		"Notion's comment": {
			"notion", "comment.created", 0, "https://api.notion.com/v1/comments/comment-x1", `{"object":"comment","id":"comment-x1"}`,
			"comment", "comment-x1", `{"object":"comment","id":"comment-x1","last_event":"comment.created"}`, 0,
		},
		"Asana's task": {
			"asana", "task.changed", 0, "https://app.asana.com/api/1.0/tasks/77sample",
			`{"data":{"gid":"77sample","due_on":null,"modified_at":"2026-11-26T12:00:00.123Z"}}`,
			"task", "77sample", `{"gid":"77sample","due_on":null,"modified_at":"2026-11-26T12:00:00.123Z"}`, 1795694400123,
		},
		"Asana's story in the same batch": {
			"asana", "task.added", 1, "https://app.asana.com/api/1.0/stories/88sample", `{"data":{"gid":"88sample","text":"added"}}`,
			"story", "88sample", `{"gid":"88sample","text":"added"}`, fetchedFrom.UnixMilli(),
		},
		"Wise's transfer": {
			"wise", "transfers#state-change", 0, "https://api.wise.com/v1/transfers/x11",
			`{"id":1,"status":"funds_converted","rate":0.89,"details":{"reference":"R1"},"sourceCurrency":"EUR","sourceValue":0,
			"targetCurrency":"GBP","targetValue":150.5,"hasActiveIssues":false,"business":null}`,
			"transfer", "x11", `{"state":"funds_converted","rate":0.89,"reference":"R1","sourceCurrency":"EUR","sourceValue":0,
			"targetCurrency":"GBP","targetValue":150.5,"hasActiveIssues":false}`, 0,
		},
		"Xero's invoice": {
			"xero", "invoice.update", 0, "https://api.xero.com/api.xro/2.0/Invoices/ix1",
			`{"Id":"1","Status":"OK","Invoices":[{"InvoiceID":"ix1","Total":150.5,"UpdatedDateUTC":"/Date(1795694400123+0000)/"}]}`,
			"invoice", "c2cc9b6e:ix1", `{"InvoiceID":"ix1","Total":150.5,"UpdatedDateUTC":"/Date(1795694400123+0000)/"}`, 1795694400123,
		},
		"Xero's contact in the same batch": {
			"xero", "invoice.update", 1, "https://api.xero.com/api.xro/2.0/Contacts/cx1",
			`{"Contacts":[{"ContactID":"cx1","UpdatedDateUTC":"/Date(1795694400000+0000)/"}]}`,
			"contact", "c2cc9b6e:cx1", `{"ContactID":"cx1","UpdatedDateUTC":"/Date(1795694400000+0000)/"}`, 1795694400000,
		},
		"QuickBooks's invoice": {
			"quickbooks", "qbo.invoice.updated.v1", 0, "https://quickbooks.api.intuit.com/v3/company/310687/invoice/5sample",
			`{"Invoice":{"Id":"5","SyncToken":"2","TotalAmt":150.5},"time":"2026-11-26T04:00:00.000-08:00"}`,
			"invoice", "310687:5sample", `{"Id":"5","SyncToken":"2","TotalAmt":150.5}`, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providerOf(t, c.provider)
			r, body := sampleReceipt(t, p, c.sample, c.item)
			require.NotNil(t, parseSample(t, p, r, body).Fetch)
			of, values, err := p.FetchOf(r, body)
			require.NoError(t, err)
			request, err := of.Request(values, func(string) string { return "key" })
			require.NoError(t, err)
			require.Equal(t, c.url, request.URL)

			state, err := of.Read(recovery.Answer{Body: []byte(c.answer)})
			require.NoError(t, err)
			r.Fetched = &event.Fetched{At: fetchedFrom.Add(time.Minute), State: state}
			parsed := parseSample(t, p, r, body)
			require.Nil(t, parsed.Fetch)
			change := parsed.Changes[0]
			require.Equal(t, []string{c.kind, c.id}, []string{change.Kind, change.ExternalID})
			require.JSONEq(t, c.state, string(change.State))
			require.Equal(t, r.Fetched.At, change.At)
			if c.version == 0 {
				require.Nil(t, change.Version)
				return
			}
			require.NotNil(t, change.Version)
			require.Equal(t, c.version, *change.Version)
		})
	}
}

// What has its state, or is gone, isn't fetched. Its changes have the version that fetched ones of its kind have.
func TestTheCatalogueFetchesNothingForOtherEvents(t *testing.T) {
	t.Parallel()
	for sample, provider := range map[string]string{
		"contact.propertyChange": "hubspot", "contact.deletion": "hubspot", "store/product/deleted": "bigcommerce",
		"store/customer/address/created": "bigcommerce", "task.deleted": "asana", "balances#credit": "wise",
		"qbo.invoice.deleted.v1": "quickbooks",
	} {
		p := providerOf(t, provider)
		r, body := sampleReceipt(t, p, sample, 0)
		parsed := parseSample(t, p, r, body)
		require.Nil(t, parsed.Fetch, sample)
		if provider != "wise" && provider != "quickbooks" {
			require.NotNil(t, parsed.Changes[0].Version, sample)
		}
	}
}

// fetchedFrom is the time of the samples.
var fetchedFrom = time.Date(2026, 11, 26, 11, 0, 0, 0, time.UTC)

// sampleReceipt returns an event of a sample as the ingress stores it.
func sampleReceipt(t *testing.T, p *Provider, name string, n int) (event.Receipt, []byte) {
	t.Helper()
	request, err := p.Sample(name, "x1", fetchedFrom)
	require.NoError(t, err)
	items, err := p.SplitStored(request)
	require.NoError(t, err)
	require.Greater(t, len(items), n)
	one := items[n]
	return event.Receipt{
		ID: "e", Provider: p.Name(), Source: one.Source, Key: one.Key, KeyFrom: one.KeyFrom, ReceivedAt: fetchedFrom,
		Headers: one.Headers, Root: one.Root,
	}, one.Body
}

func parseSample(t *testing.T, p *Provider, r event.Receipt, body []byte) event.Parsed {
	t.Helper()
	parsed, err := p.Parse(r, body)
	require.NoError(t, err)
	return parsed
}
