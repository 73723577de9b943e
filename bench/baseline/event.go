package baseline

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/event"
)

// bodySize and entities match the product's own load.
const (
	bodySize = 600
	entities = 1000
)

// stripeEvent is a Stripe event like those that the load generator sends.
func stripeEvent(run string, i int64) (event.Receipt, converter.RawValue) {
	key := fmt.Sprintf("evt_%s%09d", run, i)
	body := fmt.Sprintf(`{"id":%q,"object":"event","api_version":"2024-06-20","created":%d,"type":"customer.updated","data":{`+
		`"object":{"id":"cus_sample%d","object":"customer","name":"Ada Lovelace","email":"ada@example.com","balance":0,`+
		`"metadata":{"order":%q}},"previous_attributes":{"name":"Ada Byron"}}}`, key, time.Now().Unix(), i%entities, key)
	body = `{"padding":"` + strings.Repeat("x", max(0, bodySize-len(body)-len(`"padding":"",`))) + `",` + body[1:]
	receipt := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: "stripe", Key: key, KeyFrom: event.KeyFromEvent,
		Type: "customer.updated", ReceivedAt: time.Now().UTC(), RequestID: key,
	}
	payload := &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(body),
	}
	return receipt, converter.NewRawValue(payload)
}
