package console

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/event"
)

// pages are all that a GET shows, without the streams of changes and the downloads. An event whose name is {failed} has an open
// dead letter, {waiting} waits behind a paused destination, and {large} has a body of 64 KiB.
var pages = []struct{ name, path string }{
	{"Now", "/console"},
	{"Now, 6 hours", "/console?window=6h"},
	{"events", "/console/events"},
	{"events, 200 on a page", "/console/events?limit=200"},
	{"events of a provider", "/console/events?provider=stripe"},
	{"events of a rare provider", "/console/events?provider=github"},
	{"events of a type", "/console/events?provider=stripe&type=customer.updated"},
	{"events of a rare type, any provider", "/console/events?type=push"},
	{"events, processed", "/console/events?status=processed"},
	{"events, dead", "/console/events?status=dead"},
	{"events, accepted", "/console/events?status=accepted"},
	{"events of a key", "/console/events?provider=stripe&key={key}"},
	{"events of an entity", "/console/events?provider=stripe&entity_kind=customer&entity_id={entity}"},
	{"events with a failed delivery", "/console/events?delivery_status=failed"},
	{"events with a pending delivery", "/console/events?delivery_status=pending"},
	{"events with a canceled delivery", "/console/events?delivery_status=canceled"},
	{"events with a text that many have", "/console/events?text=Lovelace"},
	{"events with a text that none has", "/console/events?text=nowhere"},
	{"events of an hour of last week", "/console/events?since=144h&until=143h"},
	{"events, possible duplicates", "/console/events?possible_duplicate=true"},
	{"an event", "/console/events/{event}"},
	{"an event, raw", "/console/events/{event}?body=raw"},
	{"an event with a dead letter", "/console/events/{failed}"},
	{"an event with a pending delivery", "/console/events/{waiting}"},
	{"an event with a body of 64 KiB", "/console/events/{large}"},
	{"an event with a body of 64 KiB, raw", "/console/events/{large}?body=raw"},
	{"edit and replay", "/console/events/{failed}/edit"},
	{"edit and replay 64 KiB", "/console/events/{large}/edit"},
	{"resend a delivery", "/console/events/{event}/resend?subscription=1"},
	{"resend all deliveries", "/console/events/{event}/resend-all"},
	{"cancel a delivery", "/console/events/{waiting}/cancel?subscription=2"},
	{"deliveries", "/console/deliveries"},
	{"deliveries, delivered", "/console/deliveries?status=delivered"},
	{"deliveries, failed", "/console/deliveries?status=failed"},
	{"deliveries, pending", "/console/deliveries?status=pending"},
	{"deliveries, canceled", "/console/deliveries?status=canceled"},
	{"deliveries of a destination", "/console/deliveries?destination=endpoint-0"},
	{"deliveries of a destination without any", "/console/deliveries?destination=endpoint-77"},
	{"deliveries of a subscription, failed", "/console/deliveries?subscription=endpoint-0&status=failed"},
	{"deliveries of an event", "/console/deliveries?event_id={event}"},
	{"cancel the deliveries of a destination", "/console/deliveries/cancel?destination=paused"},
	{"dead letters by cause", "/console/dead-letters"},
	{"dead letters by cause, of a provider", "/console/dead-letters?provider=stripe"},
	{"dead letters", "/console/dead-letters/list"},
	{"dead letters, open", "/console/dead-letters/list?state=open"},
	{"dead letters, resolved", "/console/dead-letters/list?state=resolved"},
	{"dead letters of a cause", "/console/dead-letters/list?provider=stripe&step=persist&class=failed&code=c7&state=open"},
	{"a dead letter", "/console/dead-letters/{dead}"},
	{"a dead letter, tried", "/console/dead-letters/{dead}?try=1"},
	{"discard a dead letter", "/console/dead-letters/{dead}/discard"},
	{"delete a dead letter", "/console/dead-letters/{resolved}/delete"},
	{"clean up dead letters", "/console/dead-letters/cleanup?older_than=720h"},
	{"replay selected dead letters", "/console/dead-letters/selected?do=replay&id={dead}"},
	{"replay a cause", "/console/dead-letters/replay?provider=stripe&step=persist&class=failed&code=c7"},
	{"replay all dead letters", "/console/dead-letters/replay?provider=stripe"},
	{"entities", "/console/entities"},
	{"entities of a provider and kind", "/console/entities?provider=stripe&kind=customer"},
	{"entities changed in the last hour", "/console/entities?since=1h"},
	{"an entity", "/console/entities/stripe/customer/{entity}"},
	{"an entity as of yesterday", "/console/entities/stripe/customer/{entity}?as_of=24h"},
	{"an entity with 10,000 changes", "/console/entities/github/repository/busy"},
	{"an entity with 10,000 changes, as of 3 days ago", "/console/entities/github/repository/busy?as_of=72h"},
	{"destinations", "/console/destinations"},
	{"destinations, second page", "/console/destinations?cursor=endpoint-53"},
	{"destinations, failing", "/console/destinations?only=failing"},
	{"destinations, waiting", "/console/destinations?only=waiting"},
	{"a destination", "/console/destinations/endpoint-0"},
	{"a destination with pending deliveries", "/console/destinations/paused"},
	{"check a subscription", "/console/destinations/endpoint-0/check?subscription=endpoint-0"},
	{"new destination", "/console/new-destination"},
	{"edit a destination", "/console/destinations/endpoint-0/edit"},
	{"rotate a secret", "/console/destinations/endpoint-0/rotate"},
	{"delete a destination", "/console/destinations/alone/delete"},
	{"subscribe", "/console/destinations/endpoint-0/subscribe"},
	{"unsubscribe", "/console/destinations/endpoint-0/unsubscribe?subscription=endpoint-0"},
	{"pause a destination", "/console/destinations/endpoint-0/pause"},
	{"providers", "/console/providers"},
	{"providers, searched", "/console/providers?name=s"},
	{"a provider", "/console/providers/stripe"},
	{"a provider, the largest definition", "/console/providers/github"},
	{"connect", "/console/connect"},
	{"connect a provider", "/console/providers/stripe/connect"},
	{"try a request", "/console/providers/stripe/try"},
	{"operations", "/console/operations"},
	{"a replay", "/console/operations/replays/{replay}"},
	{"a rebuild", "/console/operations/rebuilds/{rebuild}"},
	{"cancel a replay", "/console/operations/replays/{replay}/cancel"},
	{"a rebuild's differences", "/console/operations/rebuilds/{rebuild}/diff"},
	{"new rebuild", "/console/operations/rebuild"},
	{"new resend", "/console/operations/resend"},
	{"plan of a resend of a week", "/console/operations/resend?subscription=endpoint-0&since=168h"},
	{"audit log", "/console/audit"},
	{"audit log of an action", "/console/audit?action=dead_letter.discard"},
	{"audit log of an actor without entries", "/console/audit?actor=nobody"},
	{"search: an event", "/console/find?q={event}"},
	{"search: the end of an event's ID", "/console/find?q={tail}"},
	{"search: a key", "/console/find?q={key}"},
	{"search: a workflow", "/console/find?q=stripe:{key}"},
	{"search: a request", "/console/find?q={request}"},
	{"search: a replay", "/console/find?q={replay}"},
	{"search: a destination", "/console/find?q=endpoint-50"},
	{"search: a provider", "/console/find?q=stripe"},
	{"search: an entity", "/console/find?q=stripe/customer/{entity}"},
	{"search: nothing", "/console/find?q=nowhere"},
	{"documentation", "/console/docs"},
	{"documentation: search", "/console/docs?q=dead+letter"},
}

const selectNames = `
SELECT e.id::text, e.key, e.request_id, l.external_id, right(replace(e.id::text, '-', ''), 12),
       (SELECT id FROM dead_letters WHERE state = 'open' AND step = 'persist' ORDER BY id DESC LIMIT 1)::text,
       (SELECT id FROM dead_letters WHERE state = 'resolved' ORDER BY id DESC LIMIT 1)::text,
       (SELECT event_id FROM dead_letters WHERE state = 'open' AND step = 'persist' ORDER BY id DESC LIMIT 1)::text,
       (SELECT event_id FROM delivery_queue ORDER BY event_id DESC LIMIT 1)::text
  FROM events AS e JOIN event_entities AS l ON l.event_id = e.id
 WHERE e.id >= $1::uuid AND NOT EXISTS (SELECT FROM dead_letters WHERE event_id = e.id) AND e.provider = 'stripe'
 ORDER BY e.id LIMIT 1`

// namesIn returns what replaces the placeholders of paths.
func namesIn(ctx context.Context, s *suite.Suite, past lab.Past) (*strings.Replacer, error) {
	conn, err := pgx.Connect(ctx, s.Lab.Postgres.URL(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var id, key, request, entity, tail, dead, resolved, failed, waiting string
	err = conn.QueryRow(ctx, selectNames, event.FirstIDAt(past.At(past.Events*9/10))).
		Scan(&id, &key, &request, &entity, &tail, &dead, &resolved, &failed, &waiting)
	return strings.NewReplacer("{event}", id, "{key}", key, "{request}", request, "{entity}", entity, "{tail}", tail, "{dead}", dead,
		"{resolved}", resolved, "{failed}", failed, "{waiting}", waiting, "{large}", largeID, "{replay}", operationID,
		"{rebuild}", operationID), err
}
